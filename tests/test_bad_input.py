"""Errors of users through the real command: message and exit code."""

import errno
import pickle
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import SeqloomError
from seqloom.recipe import Recipe
from tests.contracts.test_tasks import recipe

SMALL = [
    "--set",
    "model.embedding_size=8",
    "--set",
    "model.hidden_size=8",
    "--set",
    "training.epochs=1",
]


@pytest.fixture
def here(data, monkeypatch) -> Path:
    monkeypatch.chdir(data)
    return data


@pytest.fixture
def say(here, capsys):
    """Type a command: its exit code and what it said on stderr."""

    def typed(*arguments: str) -> tuple[int, str]:
        code = main([*arguments])
        return code, capsys.readouterr().err

    return typed


def write(name: str, content: str | bytes) -> None:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


GOOD = "".join(f"word{n}\tW {n}\n" for n in range(30))
# name, content, arguments, what the message says, exit code
FILES = {
    "one label": (
        "o.csv",
        "text,label\n" + "".join(f"text {n},good\n" for n in range(30)),
        ["train", "classify", "o.csv"],
        ["D074", "all texts to learn from are 'good'", "nothing to learn"],
        3,
    ),
    "text and label swapped": (
        "s.csv",
        "text,label\n" + "".join(f"{'yes' if n % 2 else 'no'},a text of {n}\n" for n in range(30)),
        ["train", "classify", "s.csv"],
        ["D141", "labels are longer than texts", "--columns text=LABEL,label=TEXT"],
        3,
    ),
    "several labels": (
        "l.txt",
        "__label__a __label__b text\n__label__a other text\n",
        ["train", "classify", "l.txt"],
        ["D142", "a text has 2 labels", "task.several=true"],
        3,
    ),
    "a label and no text": (
        "t.txt",
        "".join(f"{n % 2} text {n}\n" for n in range(30)) + "1\n",
        ["train", "classify", "t.txt"],
        ["D145", "no text", "t.txt:31", "--skip-bad"],
        3,
    ),
    "missing": (
        None,
        None,
        ["train", "translate", "pair.tsv"],
        ["D001", "pair.tsv", "pairs.tsv"],
        3,
    ),
    "empty": ("e.tsv", "", ["train", "translate", "e.tsv"], ["D021", '"e.tsv" is empty'], 3),
    "blank": (
        "b.tsv",
        "\n\n  \n",
        ["train", "translate", "b.tsv"],
        ["D022", "only blank lines"],
        3,
    ),
    "columns": (
        "c.tsv",
        "the cat\tle chat\nthe dog\tle chien\tder Hund\n" + GOOD,
        ["train", "translate", "c.tsv"],
        ["D011", "3 fields, expected 2", "c.tsv:2", "the dog⇥le chien⇥der Hund", "--skip-bad"],
        3,
    ),
    "column": (
        "n.csv",
        "text,sentiment,date\ngood,a,1\nbad,b,2\n",
        ["train", "classify", "n.csv"],
        ["D010", "no column", "found: text, sentiment, date", "--columns"],
        3,
    ),
    "encoding": (
        "l.tsv",
        (GOOD + "café\tK AE\n").encode("latin-1"),
        ["train", "translate", "l.tsv"],
        ["D030", "l.tsv:31", "0xE9", "café", "--encoding cp1252"],
        3,
    ),
    "one side": (
        "o.tsv",
        GOOD + "word\t\n",
        ["train", "translate", "o.tsv"],
        ["D014", "o.tsv:31"],
        3,
    ),
    "too long": (
        "t.txt",
        "short\n" * 30 + "x" * 1200 + "\n",
        ["train", "language", "t.txt", "-m", "recurrent"],
        ["D041", "1,200 symbols; at most 1,000", "t.txt:31", "data.max_length=1200"],
        3,
    ),
    "json": (
        "j.jsonl",
        '{"text": "a", "label": "b"}\n{oops\n',
        ["train", "classify", "j.jsonl"],
        ["D012", "j.jsonl:2"],
        3,
    ),
    "too few": ("f.tsv", "a\tb\n", ["train", "translate", "f.tsv"], ["D042", "too few"], 3),
}


@pytest.mark.parametrize("case", FILES)
def test_files(say, case):
    name, content, arguments, words, code = FILES[case]
    if name:
        write(name, content)
    found, text = say(*arguments, *SMALL)
    assert found == code, text
    first = next(line for line in text.splitlines() if not line.startswith("note: "))
    assert first.startswith(f"error[{words[0]}]")
    for word in words[1:]:
        assert word in text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) <= 8, "at most eight lines"
    assert not Path("runs").exists(), "a run that never began leaves no folder"


def test_blank_lines_are_skipped_and_said(say, capsys):
    write("b.tsv", GOOD + "\n\nlast\tL A\n")
    assert main(["check", "b.tsv"]) == 0
    assert "2 blank lines" in capsys.readouterr().out


RECIPES = {
    "misspelt option": (
        "[model]\nname='encoder-decoder'\nhiden=3\n",
        "'hiden' is not an option: did you mean 'hidden_size'?",
    ),
    "wrong type": (
        "[model]\nname='encoder-decoder'\nencoder_layers='two'\nhidden_size='big'\n",
        "hidden_size = 'big': expected a whole number",
    ),
    "wrong choice": (
        "[model]\nname='encoder-decoder'\ncell='lsmt'\n",
        "'minlstm'; did you mean 'lstm'?",
    ),
    "misspelt table": ("[modle]\nname='x'\n", "there is no table in a recipe called 'modle'"),
    "misspelt model": ("[model]\nname='encoder-decodr'\n", "did you mean 'encoder-decoder'?"),
    "no model": ("", "[model] has no name"),
    "not TOML": ("[model\n", "is not a TOML file"),
    "time": (
        "[model]\nname='encoder-decoder'\n[training]\nmax_time='soon'\n",
        "expected a time like 90s, 10m or 2h",
    ),
    "negative": (
        "[model]\nname='encoder-decoder'\n[training]\nepochs=-1\n",
        "epochs must not be negative",
    ),
}


@pytest.mark.parametrize("case", RECIPES)
def test_recipes(say, case):
    text, words = RECIPES[case]
    write("r.toml", "[data]\ntrain='pairs.tsv'\n[task]\nname='translate'\n" + text)
    code, told = say("train", "r.toml")
    assert code == 2 and words in told, told
    assert not Path("runs").exists()


def test_every_problem_of_a_recipe_is_told_at_once(say):
    write(
        "r.toml",
        "[data]\ntrain='pairs.tsv'\nencodng='x'\n[task]\nname='translate'\n"
        "[model]\nname='encoder-decoder'\nhiden=3\n[training]\nepochs='many'\n",
    )
    code, told = say("train", "r.toml")
    assert code == 2
    assert "[data] 'encodng' is not an option: did you mean 'encoding'?" in told
    assert "[model] 'hiden' is not an option: did you mean 'hidden_size'?" in told
    assert "[training] epochs = 'many': expected a whole number" in told


def test_a_model_that_cannot_do_the_task(say):
    code, told = say("train", "tag", "tags.conll", "-m", "ngram")
    assert code == 4 and "error[M120]: 'ngram' cannot predict one output for each position" in told
    assert "models that can: convolutional, feedforward, hmm-tagger, recurrent, transformer" in told


CELLS = {
    "carousel with zoneout": (
        ["tag", "tags.conll", "--set", "model.cell=carousel", "--set", "model.zoneout=0.1"],
        "'carousel' cannot have zoneout = 0.1: it only accumulates its inputs",
    ),
    "scan with a shortcut": (
        ["tag", "tags.conll", "--set", "model.cell=minlstm", "--set", "model.skip=4"],
        "'minlstm' cannot have skip = 4: it is trained by a parallel scan",
    ),
    "an option of another cell": (
        ["tag", "tags.conll", "--set", "model.cell=gru", "--set", "model.peepholes=diagonal"],
        "'gru' cannot have peepholes = diagonal: it has no peepholes",
    ),
    "skip longer than any sequence": (
        ["tag", "tags.conll", "--set", "model.skip=500"],
        "skip = 500: the longest sequence has only",
    ),
    "both directions for what comes next": (
        ["language", "text.txt", "--set", "model.bidirectional=true"],
        "would see the token it must predict",
    ),
}


@pytest.mark.parametrize("case", CELLS)
def test_cells_that_cannot_be(say, case):
    arguments, words = CELLS[case]
    code, told = say("train", *arguments, "-m", "recurrent")
    assert code == 4 and words in told, told
    assert not Path("runs").exists()


def test_a_label_unseen_in_training(say, here):
    seqloom.train(recipe(here, "classify", "recurrent"), name="judge")
    write("new.csv", "text,label\nthe cat sees,short\nthe dog sees,urgent\n")
    code, told = say("evaluate", "judge", "new.csv")
    left = "1 of 2 examples left out: labels that are not in the training data ('urgent')"
    assert code == 0 and left in told
    code, told = say("evaluate", "judge", "new.csv", "--unknown-labels", "error")
    assert code == 4 and "error[M101]: label 'urgent' was not in the training data" in told
    assert "new.csv:3" in told and "--unknown-labels skip" in told
    write("new.csv", "text,label\nthe dog sees,urgent\n")
    code, told = say("evaluate", "judge", "new.csv")
    assert code == 4 and "error[M101]" in told and "--unknown-labels" not in told, "none is left"


def test_wherever_a_run_is_judged_unseen_labels_are_left_out(say, here):
    write("new.csv", "text,label\nthe cat sees,short\nthe dog sees,urgent\na bird hears,short\n")
    told = recipe(here, "classify", "recurrent").with_settings({"data.test": "new.csv"})
    told = told.with_settings({"data.valid": "new.csv", "data.allow_overlap": True})
    for name in ("judge", "other"):
        run = seqloom.train(told, name=name)
        assert any("validation examples left out" in note for note in run.events()[0]["notes"])
    assert (len(run.evaluate().examples), run.evaluate().left_out) == (2, 1)
    assert run.mistakes().all.count == 2
    with pytest.raises(SeqloomError, match="M101"):
        run.evaluate(skip_unknown_labels=False)
    for command in (["evaluate", "judge"], ["errors", "judge"], ["compare", "judge", "other"]):
        code, told = say(*command)
        assert code == 0 and "1 of 3 examples left out" in told, told


def test_a_symbol_unseen_in_training_is_a_note(say, here):
    seqloom.train(recipe(here, "translate", "encoder-decoder"), name="reverse")
    code, told = say("translate", "reverse", "the zebra sees")
    assert code == 0 and "1 of 3 tokens" in told


def test_a_run_of_another_task(say, here):
    seqloom.train(recipe(here, "language", "ngram"), name="counts")
    code, told = say("translate", "counts", "hello")
    assert code == 4 and "error[M110]" in told and "is a language run" in told
    code, told = say("evaluate", "coutns", "text.txt")
    assert code == 2 and "did you mean 'counts'?" in told


def test_damaged_weights_and_pickles(say, here):
    run = seqloom.train(recipe(here, "language", "ngram"), name="counts")
    weights = run.folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-20])
    code, told = say("generate", "counts")
    assert code == 4 and "error[M113]" in told and "damaged or cut short" in told
    weights.write_bytes(pickle.dumps([1, 2, 3] * 10))
    code, told = say("generate", "counts")
    assert code == 4 and "error[M112]" in told and "pickle" in told
    write("model.bin", pickle.dumps({"weights": list(range(20))}))
    code, told = say("predict", "model.bin", "hello")
    assert code == 4 and "error[M112]: model.bin is a Python pickle" in told


@pytest.mark.parametrize("length", [300, 6000])
@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["evaluate"],
        ["predict"],
        ["export"],
        ["import"],
        ["check"],
        ["train"],
        ["train", "language"],
        ["train", "--resume"],
        ["train", "language", "text.txt", "--name"],
        ["ladder", "language"],
        ["convert"],
        ["forecast"],
        ["runs", "--runs-dir"],
    ],
)
def test_a_name_that_is_too_long_is_no_bug(say, words, length):
    code, text = say(*words, "a" * length)
    if words != ["runs", "--runs-dir"]:
        assert code in (2, 3, 6), text
    assert "bug" not in text and len(text) < 2 * length + 1000


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800"])
def test_a_name_with_a_character_that_no_name_has(here, name):
    for attempt in (
        lambda: seqloom.train("language", name),
        lambda: seqloom.train(name),
        lambda: seqloom.load(name),
        lambda: seqloom.train("language", "text.txt", settings={"data.group": name}),
        lambda: seqloom.train("language", "text.txt", settings={"data.test": name}),
        lambda: seqloom.train("language", "text.txt", model=name),
        lambda: seqloom.train("language", "text.txt", model=f"{name}.py:Model"),
    ):
        with pytest.raises(SeqloomError):
            attempt()


@pytest.mark.parametrize("table", ["task", "model"])
@pytest.mark.parametrize(
    "name", [[], {}, ["ngram"], 1, None, True, 1.5, "", ".py:", f"{'a' * 300}.py:x"]
)
def test_a_name_of_the_wrong_kind_in_a_recipe(table, name):
    tables = {"task": {"name": "language"}, "model": {"name": "ngram"}} | {table: {"name": name}}
    with pytest.raises(SeqloomError) as caught:
        Recipe(**tables).checked()
    assert caught.value.code in ("U002", "U003")


def test_what_the_system_refuses_is_no_bug(say, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device", "runs/x")

    monkeypatch.setattr("seqloom.cli.commands.runs.run_folders", full)
    code, text = say("runs")
    assert (code, text.splitlines()[0]) == (
        6,
        "error[E301]: disk full while saving runs/x",
    )


def test_a_folder_of_runs_that_is_a_file_is_named(say):
    for words in (["runs"], ["show", "x"], ["studio", "--port", "0"]):
        code, text = say(*words, "--runs-dir", "text.txt")
        assert code == 2 and "text.txt is a file, not a folder of runs" in text


@pytest.mark.parametrize(
    ("token", "host", "is_right"),
    [
        ("x", "0.0.0.0", False),
        ("x" * 15, "0.0.0.0", False),
        ("x" * 16, "0.0.0.0", True),
        ("x", "127.0.0.1", True),
        ("a;b", "127.0.0.1", False),
        ("a b" * 9, "0.0.0.0", False),
        ("auto", "0.0.0.0", True),
    ],
)
def test_a_token_that_can_be_guessed_is_refused(say, monkeypatch, token, host, is_right):
    monkeypatch.setattr("seqloom.server.app.listen", lambda *_: (_ for _ in ()).throw(Listened))
    code, text = say("studio", "--host", host, "--token", token)
    assert ("error[S263]" in text) == is_right and ("error[S216]" in text) != is_right, text


Listened = SeqloomError("S263", "this test goes no further")
