"""seqloom tag: entities in colour, spans in JSON, files filled in; evaluate --by-label."""

import io
import json

import pytest

import seqloom
from seqloom.cli.commands.predict import PALETTE, labelled_line
from seqloom.cli.main import main
from seqloom.cli.terminal import printable
from seqloom.recipe import Recipe
from seqloom.task import Highlighted

PEOPLE, PLACES = ["Ada", "Alan", "Grace"], ["Rome", "Oslo", "New York"]


def rows() -> list[str]:
    made = []
    for n in range(36):
        first, second = PEOPLE[n % 3], PLACES[n // 3 % 3].split()
        tags = ["B-place", "I-place"][: len(second)]
        words = [(first, "B-person"), ("sees" if n % 2 else "left", "O")]
        words += [*zip(second, tags, strict=True), (".", "O")]
        made.append("\n".join(f"{word}\t{tag}" for word, tag in words))
    return made


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A run that knows three people and three places by heart."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "names.conll").write_text("\n\n".join(rows()) + "\n")
    recipe = Recipe(
        data={"train": str(folder / "names.conll"), "allow_overlap": True, "valid_fraction": 0.2},
        task={"name": "tag", "scheme": "bioes"},
        model={"name": "recurrent", "embedding_size": 16, "hidden_size": 16, "bidirectional": True},
        training={"epochs": 12, "batch_size": 8, "learning_rate": 0.03},
    )
    seqloom.train(recipe, name="names", runs=folder / "runs")
    return folder


@pytest.fixture
def tag(named, capsys):
    def typed(*arguments: str) -> tuple[str, str]:
        command, *rest = arguments
        assert main([command, "names", *rest, "--runs-dir", str(named / "runs")]) == 0
        done = capsys.readouterr()
        return done.out, done.err

    return typed


def test_entities_stand_in_the_users_own_text(tag):
    out, err = tag("tag", "Ada  left New York.", "Alan sees Rome .")
    assert out == "[Ada person]  left [New York place].\n[Alan person] sees [Rome place] .\n"
    assert err == ""


def test_spans_have_offsets_and_confidence(tag):
    text = "Ada  left New York."
    found = json.loads(tag("tag", text, "--json")[0])
    assert found["words"] == ["Ada", "left", "New", "York", "."]
    assert found["tags"] == ["B-person", "O", "B-place", "I-place", "O"], "as the file had them"
    assert [span["label"] for span in found["spans"]] == ["person", "place"]
    for span in found["spans"]:
        assert text[span["start"] : span["end"]] == span["text"]
        assert 0.5 < span["p"] <= 1
    assert all(0 < p <= 1 for p in found["p"]) and len(found["p"]) == 5


def test_a_file_is_answered_in_its_own_shape_and_order(tag, tmp_path):
    file = tmp_path / "asked.conll"
    file.write_text("# x = y\nAlan\nsees\nOslo\n\nAda\nleft\nRome\n")
    out, _ = tag("tag", str(file))
    assert out == (
        "# x = y\nAlan B-person\nsees O\nOslo B-place\n\nAda B-person\nleft O\nRome B-place\n"
    )
    first, second = (json.loads(line) for line in tag("tag", str(file), "--json")[0].splitlines())
    assert (first["input"], second["input"]) == ("Alan sees Oslo", "Ada left Rome")
    assert second["spans"][1] | {"p": 0} == {
        "text": "Rome", "label": "place", "start": 9, "end": 13, "p": 0
    }  # fmt: skip
    out, _ = tag("tag", str(file), "--format", "text")
    assert len(out.split("\n")) == 9, "each line is a text of its own"


def test_json_lines_are_answered_as_json_lines(tag, tmp_path):
    file = tmp_path / "asked.jsonl"
    file.write_text('{"id": 1, "text": "Ada sees Oslo."}\n{"words": ["Alan", "left"], "id": 2}\n')
    first, second = (json.loads(line) for line in tag("predict", str(file))[0].splitlines())
    assert first["id"] == 1 and first["text"] == "Ada sees Oslo."
    assert all(0.5 < span.pop("probability") <= 1 for span in first["spans"])
    assert first["spans"] == [
        {"start": 0, "end": 3, "label": "person"}, {"start": 9, "end": 13, "label": "place"}
    ]  # fmt: skip
    assert all(0.5 < p <= 1 for p in second.pop("probability"))
    assert second == {"words": ["Alan", "left"], "id": 2, "tags": ["B-person", "O"]}


def test_evaluate_by_label(tag, named, tmp_path):
    out, _ = tag("evaluate", str(named / "names.conll"), "--by-label")
    assert out.startswith("entity F1") and "counted as conlleval does" in out
    assert "person" in out and "all (micro)" in out and "mean (macro)" in out
    wrong = tmp_path / "wrong.conll"
    wrong.write_text(
        "Ada\tB-place\nleft\tO\nRome\tB-place\n\nAlan\tB-person\nsees\tO\nOslo\tI-place\n"
    )
    out, err = tag("evaluate", str(wrong), "--by-label", "--json")
    found = json.loads(out)["by_label"]
    person, place = found["labels"]
    assert (person["label"], person["right"], person["guessed"]) == ("person", 1, 2)
    assert (place["right"], place["recall"]) == (3, pytest.approx(2 / 3))
    assert place["precision"] == 1 and found["micro"]["f1"] == pytest.approx(3 / 4)
    labels, counts = found["confusion"]["labels"], found["confusion"]["counts"]
    assert labels == ["O", "person", "place"] and counts[2] == [0, 1, 2]
    assert 'broken in 1 place: line 7, "Oslo": I-place after O: read as the beginning' in err
    out, _ = tag("evaluate", str(wrong), "--by-label")
    assert "true → predicted:\nplace  →  person  1\n" in out


def test_labels_are_asked_of_labels_only(cli):
    done = cli("evaluate", "counts", "--by-label")
    assert done.code == 2 and "U096" in done.err
    done = cli("predict", "counts", "--format", "columns", "-f", "-")
    assert done.code == 2 and "cannot hold text" in done.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_by_kind_and_only_where_they_are_welcome(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    kinds = [f"kind{n}" for n in range(16)]
    marked = Highlighted(
        [("Ada\033[2J", "kind0"), (" ", ""), ("x", "kind7"), ("y", "kind14")], kinds, ""
    )
    shown = printable(labelled_line(marked, Terminal()), Terminal())
    paper, ink = PALETTE[0]
    assert f"\033[48;5;{paper};38;5;{ink}m[Ada·[2J kind0]\033[0m " in shown, "words steer nothing"
    assert f"\033[48;5;{paper};38;5;{ink};4m[x kind7]" in shown, (
        "the colour comes again, underlined"
    )
    assert f"\033[48;5;{paper};38;5;{ink};3m[y kind14]" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = labelled_line(Highlighted([("the", "D"), ("cat", "N")], ["D", "N"], " "), Terminal())
    assert plain == "the/D cat/N"


@pytest.mark.parametrize("name, text, told", [
    ("a.conll", "Ada\t_\nleft\t_\n", ["D120", "this sentence has no tags", "a.conll:1"]),
    ("a.conll", "B-per Ada\nO left\n", ["D124", "words and tags look swapped", "--columns"]),
    ("a.conllu", "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n2\tb\tb\tX\n", ["D011", "4 fields, expected 10"]),
    ("a.jsonl", '{"text": "Ada", "spans": [[0, 9, "per"]]}\n', ["D122", "lies outside the text"]),
    ("a.jsonl", '{"text": "Ada", "spans": [[0, 2, "a"], [1, 3, "b"]]}\n', ["D123", "overlap"]),
    ("a.jsonl", '{"words": ["Ada"], "tags": []}\n', ["D014", '"tags" is empty']),
    ("a.jsonl", '{"words": ["Ada"], "tags": ["X", "Y"]}\n', ["D121", '1 words, but 2 in "tags"']),
    ("a.conll", "a X\nb Y\n\nc X\nd Y\n\ne X\nf Y\n", ["D127", "no scheme", "found: X, Y"]),
])  # fmt: skip
def test_bad_files_get_a_sentence(tmp_path, monkeypatch, capsys, name, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert main(["train", "tag", name, "--set", "task.scheme=bio", "-q"]) == 3
    err = capsys.readouterr().err
    assert all(words in err for words in told), err
    assert "Traceback" not in err and not list(tmp_path.glob("runs/*/recipe.toml"))


def test_a_broken_scheme_is_told_when_training_begins(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conll").write_text("\n\n".join([*rows(), "in\tO\nRome\tI-place"]) + "\n")
    small = [
        "--set",
        "model.embedding_size=4",
        "--set",
        "model.hidden_size=4",
        "--set",
        "training.max_steps=1",
    ]
    small += ["--set", "data.allow_overlap=true", "--set", "data.split_seed=2"]
    assert main(["train", "tag", "a.conll", "-m", "recurrent", *small]) == 0
    err = capsys.readouterr().err
    assert "the tags mark entities by BIO (IOB2)" in err
    assert '"Rome": I-place after O: read as the beginning of a new place' in err
