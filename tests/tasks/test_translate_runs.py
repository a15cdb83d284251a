"""Translation from files to answers and back from disk: writing, JSON lines, copies, notes."""

import json

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.recipe import Recipe

TINY = {"name": "encoder-decoder", "embedding_size": 8, "hidden_size": 8}
QUICK = {"epochs": 1, "batch_size": 16, "warmup_steps": 2}
WRITTEN = [("“Où” – ﬁn…", "»Ja« — no…"), ("Hello, you!", "Allo, toi !"), ("It’s 3.5", "C’est 3.5")]


def trained(folder, file, *, name="t", model=TINY, training=QUICK, **task):
    recipe = Recipe(
        data={"train": str(file), "allow_overlap": True},
        task={"name": "translate", **task},
        model=model,
        training=training,
    )
    return seqloom.train(recipe, name=name, runs=folder / "runs")


@pytest.fixture
def odd(tmp_path):
    """Pairs whose writing says the same in several ways."""
    file = tmp_path / "odd.tsv"
    file.write_text("".join(f"{a} {n}\t{b} {n}\n" for n in range(12) for a, b in WRITTEN))
    return file


@pytest.mark.parametrize(
    ("options", "typed", "same"),
    [
        ({"unicode": "nfkc"}, "ﬁn ①", "fin 1"),
        ({"unicode": "nfc"}, "Ou\u0300 3", "Où 3"),
        ({"plain_punctuation": True}, "“Où” – fin…", '"Où" - fin...'),
        ({"split_punctuation": True}, "Hello, you!", "Hello, you!"),
        ({"source_lowercase": True}, "HELLO, You!", "hello, you!"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_loaded_run_reads_as_it_was_taught_to(odd, tmp_path, options, typed, same):
    """The writing of both questions is one; the numbers a model gets are the same."""
    kind = "words" if "split_punctuation" in options else "characters"
    run = trained(tmp_path, odd, source_tokens=kind, **options)
    again = seqloom.load(run.folder)
    for task in (run.task, again.task):
        read = [task.encode(task.question(text)).source.tolist() for text in (typed, same)]
        assert read[0] == read[1]
    assert run.task.encode(run.task.question(typed)).source.tolist() == read[0]
    assert again.predict([typed]) == again.predict([same]) == run.predict([typed])
    plain = trained(tmp_path, odd, name="plain", source_tokens="characters")
    if typed != same:
        read = [
            plain.task.encode(plain.task.question(text)).source.tolist() for text in (typed, same)
        ]
        assert read[0] != read[1], "without the option they differ"


def test_answers_are_put_together_again(odd, tmp_path):
    """Marks that were cut off stand where they stood: after loading as before."""
    run = seqloom.load(trained(tmp_path, odd, split_punctuation=True).folder)
    pair = run.task.with_target(run.task.question("Hello, you! 3"), "Allo, toi ! 3.5")
    row = run.task.encode(pair).target.tolist()
    assert len(row) == len(["Allo", ",", "toi", "!", "3.5", "</s>"])
    assert run.task.decode_for(pair, row) == "Allo, toi ! 3.5"
    lower = seqloom.load(trained(tmp_path, odd, name="lower", target_lowercase=True).folder)
    pair = lower.task.with_target(lower.task.question("Hello, you! 3"), "Allo, toi !")
    assert lower.task.decode_for(pair, lower.task.encode(pair).target.tolist()) == "allo, toi !"


def test_pairs_as_json_lines(tmp_path, capsys):
    """By their names, in any order; the same run as from a table."""
    pairs = [(f"a{n} b c", f"x y{n % 4}") for n in range(30)]
    lines, table = tmp_path / "pairs.jsonl", tmp_path / "pairs.tsv"
    lines.write_text(
        "".join(json.dumps({"target": b, "id": 1, "source": a}) + "\n" for a, b in pairs)
    )
    table.write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    runs = [trained(tmp_path, file, name=file.suffix[1:]) for file in (lines, table)]
    assert runs[0].predict(["a3 b c"]) == runs[1].predict(["a3 b c"])
    assert runs[0].evaluate(lines).values() == runs[1].evaluate(table).values()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"source": "a b", "target": ""}, "empty"),
        ({"source": "", "target": "a b"}, "empty"),
        ({"source": "a b"}, "target"),
    ],
)
def test_json_lines_without_a_side_are_told_with_their_line(tmp_path, capsys, line, told):
    file = tmp_path / "pairs.jsonl"
    good = [{"source": f"a{n}", "target": f"b{n}"} for n in range(9)]
    file.write_text("".join(json.dumps(one) + "\n" for one in [*good[:4], line, *good[4:]]))
    command = ["train", "translate", str(file), "--runs-dir", str(tmp_path / "runs")]
    assert main(command) == 3
    said = capsys.readouterr().err
    assert "pairs.jsonl:5" in said and told in said and not (tmp_path / "runs").exists()


def test_names_that_training_never_showed_pass_through(tmp_path):
    """From a file to an answer: the name after the word is said, whoever it is."""
    names = [f"name{n}" for n in range(150)]
    file = tmp_path / "names.tsv"
    rows = [(f"we met {a} today", f"hello {a}") for a in names]
    rows += [(f"today we met {a}", f"hello {a}") for a in names]
    file.write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    run = trained(
        tmp_path,
        file,
        source_tokens="words",
        target_tokens="words",
        joint_vocab=True,
        copies=3,
        min_frequency=5,
        model={
            "name": "encoder-decoder",
            "embedding_size": 16,
            "hidden_size": 32,
            "copy": True,
            "dropout": 0.0,
        },
        training={"epochs": 12, "batch_size": 16, "learning_rate": 0.01, "warmup_steps": 5},
    )
    assert "name3" not in run.task.target.tokens
    again = seqloom.load(run.folder)
    asked = ["we met Zoe today", "today we met Ana", "we met Bartholomew today"]
    assert again.predict(asked) == ["hello Zoe", "hello Ana", "hello Bartholomew"]
    tree = tmp_path / "tree.jsonl"
    command = ["translate", "t", asked[0], "--beam", "2", "--tree", str(tree)]
    assert main([*command, "--runs-dir", str(tmp_path / "runs")]) == 0
    found = json.loads(tree.read_text())
    words = [found["nodes"][node]["symbol"] for node in found["answers"][0]]
    assert words == ["hello", "Zoe", "</s>"], "the tree calls what is copied by its name"


def test_characters_that_the_symbols_lack_are_a_note(tmp_path, capsys):
    file = tmp_path / "words.tsv"
    file.write_text("".join(f"{a}{b}\t{b} {a}\n" for a in "abcd" for b in "efgh"))
    trained(tmp_path, file, source_tokens="characters")
    capsys.readouterr()
    runs = ["--runs-dir", str(tmp_path / "runs")]
    assert main(["translate", "t", "abzé", *runs]) == 0
    assert "2 of 4 tokens are unknown" in capsys.readouterr().err
    assert main(["translate", "t", "жщ", *runs]) == 0
    assert "has no known token" in capsys.readouterr().err


def test_pieces_of_characters_have_a_name_in_the_tree(tmp_path):
    """Subwords may be bytes of a character: each is shown as its symbol, not as a hole."""
    file, tree = tmp_path / "pairs.tsv", tmp_path / "tree.jsonl"
    file.write_text("".join(f"b{n}\tщ{chr(0x4E00 + n)} ж\n" for n in range(40)))
    trained(tmp_path, file, source_tokens="subwords", target_tokens="subwords", vocab_size=300)
    command = ["translate", "t", "b7", "--beam", "3", "--tree", str(tree)]
    assert main([*command, "--runs-dir", str(tmp_path / "runs")]) == 0
    names = [node["symbol"] for node in json.loads(tree.read_text())["nodes"]]
    assert names and not any("\N{REPLACEMENT CHARACTER}" in name for name in names)
