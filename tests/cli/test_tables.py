"""Files of inputs in every format a task learns from: read by column, predictions joined to rows.

The oracle is always the same text given as an argument.
"""

import csv
import io
import json

import pytest

from seqloom.runs.run import load

TEXTS = ["the cat sees", "a dog likes the fish", "the bird, it hears"]


@pytest.fixture
def alone(cli):
    """Predictions of texts given as arguments, as JSON."""

    def ask(run: str, *texts: str) -> list[dict]:
        return [json.loads(line) for line in cli("predict", run, *texts, "--json").out.splitlines()]

    return ask


def rows(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def test_a_csv_is_read_by_its_columns_and_comes_back_with_predictions(cli, alone, tmp_path):
    file = tmp_path / "new.csv"
    file.write_text(
        'id,text,label\n1,the cat sees,?\n2,a dog likes the fish,\n3,"the bird, it hears",x\n'
    )
    right = alone("judge", *TEXTS)
    for way in ([str(file)], ["--file", str(file)], [str(file), "--columns", "text=text"]):
        done = cli("classify", "judge", *way)
        assert done.code == 0 and done.err == "note: 2 of 12 tokens are unknown and read as <unk>\n"
        found = rows(done.out)
        assert [row["id"] for row in found] == ["1", "2", "3"]
        assert [row["text"] for row in found] == TEXTS and found[2]["label"] == "x"
        assert [row["prediction"] for row in found] == [one["output"] for one in right]
        for row, one in zip(found, right, strict=True):
            assert float(row["probability"]) == pytest.approx(one["probability"], rel=1e-4)
    found = rows(cli("classify", "judge", str(file), "--probabilities").out)
    for row, one in zip(found, right, strict=True):
        for label, chance in one["probabilities"].items():
            assert float(row[f"p({label})"]) == pytest.approx(chance, rel=1e-4)


def test_columns_by_other_names_numbers_and_together(cli, alone, tmp_path):
    right = [one["output"] for one in alone("judge", *TEXTS)]
    file = tmp_path / "other.csv"
    file.write_text("review;prediction\nthe cat sees;mine\na dog likes the fish;\n")
    found = rows(cli("classify", "judge", str(file), "--columns", "text=review").out, ";")
    assert [row["prediction"] for row in found] == ["mine", ""], "no column is written over"
    assert [row["prediction_2"] for row in found] == right[:2]
    file.write_text("1,the cat sees\n2,a dog likes the fish\n")
    done = cli("classify", "judge", str(file), "--columns", "2")
    assert [line.split(",")[2] for line in done.out.splitlines()] == right[:2]
    file.write_text("title,body\nthe cat,sees\n")
    (row,) = rows(cli("classify", "judge", str(file), "--columns", "text=title+body").out)
    assert row["prediction"] == alone("judge", "the cat <next> sees")[0]["output"]
    done = cli("classify", "judge", str(file))
    assert done.code == 3 and 'no column "text"' in done.err


def test_blank_inputs_keep_their_rows(cli, tmp_path):
    file = tmp_path / "gaps.csv"
    file.write_text("id,text\n1,the cat\n2,\n3,a dog\n")
    found = rows(cli("classify", "judge", str(file)).out)
    assert [row["id"] for row in found] == ["1", "2", "3"]
    assert [bool(row["prediction"]) for row in found] == [True, False, True]
    every = [
        json.loads(line)
        for line in cli("classify", "judge", str(file), "--json").out.split("\n")[:-1]
    ]
    assert every[1] == {"input": "", "output": None} and every[2]["input"] == "a dog"


def test_json_lines_get_keys(cli, alone, tmp_path):
    file = tmp_path / "new.jsonl"
    file.write_text(
        "".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(TEXTS))
    )
    right = alone("judge", *TEXTS)
    found = [json.loads(line) for line in cli("classify", "judge", str(file)).out.splitlines()]
    for number, (one, text, asked) in enumerate(zip(found, TEXTS, right, strict=True)):
        assert one == {
            "id": number, "text": text, "prediction": asked["output"],
            "probability": pytest.approx(asked["probability"], rel=1e-4),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "format", "why"),
    [
        ("a.txt", "id,text\n1,the cat sees\n2,a dog\n", "csv", "its first line names the column"),
        ("b.txt", '{"text": "the cat sees"}\n{"text": "a dog"}\n', "jsonl", "a JSON object"),
        ("c.txt", "the cat sees\tlong\na dog\tshort\n", "tsv", "every line has as many tabs"),
        ("d.txt", "long the cat sees\nshort a dog\n", "label-first", "begin with labels"),
        ("e.txt", "__label__x the cat sees\n__label__y a dog\n", "label-first", "with labels"),
        ("f.txt", "(long (D the) (X (N cat) (V sees)))\n(short (D a) (N dog))\n", "trees", "tree"),
    ],
)
def test_what_looks_like_a_table_is_one_and_is_told(cli, alone, tmp_path, name, text, format, why):
    (tmp_path / name).write_text(text)
    right = [one["output"] for one in alone("judge", "the cat sees", "a dog")]
    done = cli("classify", "judge", str(tmp_path / name))
    assert f"note: {name} is read as {format}" in done.err and why in done.err
    assert "--format text reads each line as an input" in done.err
    asked = [
        json.loads(line)
        for line in cli("classify", "judge", str(tmp_path / name), "--json").out.splitlines()
    ]
    assert [one["output"] for one in asked] == right
    lines = cli("classify", "judge", str(tmp_path / name), "--format", "text").out.splitlines()
    assert len(lines) == text.count("\n")


def test_texts_that_look_like_rows_are_told(cli, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("".join(f"the cat, sees {n}\n" for n in range(3)))
    for command in (["classify", "judge"], ["score", "counts", "-f"], ["attribute", "judge", "-f"]):
        done = cli(*command, str(file))
        assert "texts.txt looks like a table: every line has 1 times the character ','" in done.err
    file.write_text("the cat sees\na dog\n")
    assert "table" not in cli("classify", "judge", str(file)).err


def test_translations_come_back_beside_their_sources(cli, alone, tmp_path):
    right = [one["output"] for one in alone("attentive", "the cat sees", "a dog")]
    file = tmp_path / "new.tsv"
    file.write_text("the cat sees\told\na dog\told\n")
    lines = [line.split("\t") for line in cli("translate", "attentive", str(file)).out.splitlines()]
    assert [line[:3] for line in lines] == [
        ["the cat sees", "old", right[0]],
        ["a dog", "old", right[1]],
    ]
    file.write_text("the cat sees\na dog\n")
    lines = [line.split("\t") for line in cli("translate", "attentive", str(file)).out.splitlines()]
    assert [line[1] for line in lines] == right
    asked = ("translate", "attentive", str(file), "--beam", "3", "--nbest", "2")
    best = [line.split("\t") for line in cli(*asked).out.splitlines()]
    assert [line[1] for line in best] == ["1", "2", "1", "2"] and len(
        {line[0] for line in best}
    ) == 2
    for number, side in enumerate(("de", "en")):
        (tmp_path / f"new.{side}").write_text(("the cat sees\na dog\n", "x\ny\n")[number])
    for way in (
        [str(tmp_path / "new.de"), str(tmp_path / "new.en")],
        [str(tmp_path / "new.{de,en}")],
    ):
        assert cli("translate", "attentive", *way).out.splitlines() == right


def test_folders_are_answered_by_file(cli, alone, tmp_path):
    for label, texts in (("long", TEXTS[:2]), ("short", TEXTS[2:])):
        (tmp_path / "in" / label).mkdir(parents=True)
        for number, text in enumerate(texts):
            (tmp_path / "in" / label / f"{number}.txt").write_text(text)
    found = rows(cli("classify", "judge", str(tmp_path / "in")).out, "\t")
    assert [row["file"] for row in found] == ["long/0.txt", "long/1.txt", "short/0.txt"]
    assert [row["prediction"] for row in found] == [one["output"] for one in alone("judge", *TEXTS)]


def test_a_language_model_goes_on_with_a_column(cli, tmp_path):
    file = tmp_path / "begun.csv"
    file.write_text("text,n\nthe c,1\n")
    (row,) = rows(cli("predict", "counts", str(file)).out)
    assert ("the c" + row["prediction"]).startswith("the cat") and row["n"] == "1"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["classify", "judge", "lines.txt", "--columns", "text=text"], 2, "U091"),
        (["classify", "judge", "a text", "--columns", "text=text"], 2, "U091"),
        (["classify", "judge", "lines.txt", "more.txt"], 2, "U092"),
        (["classify", "judge", "more.csv", "--columns", "words=text"], 2, "expected a column"),
        (["classify", "judge", "more.conll"], 2, "cannot hold text and label"),
        (["tag", "tagger", "more.csv", "--format", "csv"], 2, "cannot hold words and tags"),
        (["predict", "player", "piece.json"], 2, "U335"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_inputs(cli, tmp_path, monkeypatch, arguments, code, text):
    monkeypatch.chdir(tmp_path)
    for name in ("lines.txt", "more.txt"):
        (tmp_path / name).write_text("the cat sees\na dog\n")
    (tmp_path / "more.csv").write_text("text\nthe cat\n")
    (tmp_path / "more.conll").write_text("the D\ncat N\n")
    (tmp_path / "piece.json").write_text("[[60], [62]]\n")
    done = cli(*arguments)
    assert done.code == code and text in done.err and not done.out


def test_files_in_python(runs, tmp_path):
    run = load(runs / "judge")
    file = tmp_path / "new.csv"
    file.write_text("id,text\n1,the cat sees\n2,\n")
    found = run.predict_file(file)
    (value,) = run.predict(["the cat sees"])
    assert [one and one.value for one in found.predictions] == [value, None]
    saved = found.save(tmp_path / "out.csv")
    assert [row["prediction"] for row in rows(saved.read_text())] == [value, ""]
    (tmp_path / "lines.txt").write_text("the cat sees\n\n")
    assert list(run.predict_file(tmp_path / "lines.txt").lines()) == [value, ""]
