"""Commands that messages suggest: run as they are printed, where they are printed.

That each is accepted by the command line is asked of every message of the whole suite, by
tests/suggestions.py. Here they are run, in folders whose names need quotes.
"""

import io
import shlex
import sys

import pytest

from seqloom.cli.main import COMMANDS, EXAMPLES, main
from seqloom.runs.code import run_recipe
from seqloom.tasks import TASKS

from .. import suggestions
from ..conftest import write_data

QUICK = ["--set", "training.max_steps=4", "--set", "data.test_fraction=0.2"]
SMALL = ["--set", "model.embedding_size=8", "--set", "model.hidden_size=8"]
OF_TASKS = {
    "translate": ["my pairs.tsv", "-m", "encoder-decoder", *SMALL],
    "classify": ["labels.csv", "-m", "bag-of-words"],
    "tag": ["tags.conll", "-m", "hmm-tagger"],
    "language": ["text.txt", "-m", "ngram"],
    "music": ["pieces.json", "-m", "recurrent", *SMALL],
    "forecast": ["series.csv", "-m", "naive"],
    "series-classify": ["waves.jsonl", "-m", "recurrent", "--set", "model.hidden_size=8"],
    "algorithms": [
        "-m",
        "recurrent",
        *SMALL,
        "--set",
        "task.problem=parity",
        "--set",
        "task.length=9",
        "--set",
        "task.examples=40",
    ],
}
FOLDERS = ["runs", "our runs/it's"]


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """A folder with data, to work in."""
    folder = tmp_path / "my data"
    folder.mkdir()
    write_data(folder).joinpath("pairs.tsv").rename(folder / "my pairs.tsv")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SEQLOOM_RUNS", raising=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    return folder


def suggested(*arguments: str, code: int = 0) -> list[str]:
    """What a command suggests, with nothing left to be filled in."""
    suggestions.heard.clear()
    assert main(list(arguments)) == code
    return list(suggestions.heard)


def run_all(commands: list[str]) -> None:
    """Run commands as they are printed."""
    assert commands
    for command in commands:
        assert "…" not in command
        assert not {word for word in shlex.split(command) if word.isupper()}, command
        assert main(shlex.split(command)[1:]) == 0, command


def test_every_task_is_tried():
    assert sorted(OF_TASKS) == sorted(TASKS)


@pytest.mark.parametrize("runs", FOLDERS)
@pytest.mark.parametrize("task", OF_TASKS)
def test_after_train_and_show(here, task, runs):
    found = suggested("train", task, *OF_TASKS[task], *QUICK, "--name", "jv", "--runs-dir", runs)
    assert any(command.startswith(f"seqloom {TASKS[task].verb} ") for command in found)
    run_all([one for one in found if not one.startswith(("seqloom ladder", "seqloom models"))])
    run_all(suggested("show", "jv", "--runs-dir", runs))


@pytest.mark.parametrize("runs", FOLDERS)
@pytest.mark.parametrize("task", ["forecast", "language", "classify"])
def test_after_folds(here, in_process, task, runs):
    most = ["--folds", "2", *QUICK[:2], "--name", "twice", "--runs-dir", runs]
    run_all(suggested("train", task, *OF_TASKS[task], *most))


@pytest.mark.parametrize("runs", FOLDERS)
@pytest.mark.parametrize(
    ("task", "models"), [("forecast", "naive,drift"), ("classify", "bag-of-words")]
)
def test_after_a_ladder(here, in_process, task, models, runs):
    file = OF_TASKS[task][0]
    run_all(suggested("ladder", task, file, "--models", models, "--runs-dir", runs))


@pytest.mark.parametrize("runs", FOLDERS)
def test_after_what_makes_runs_of_others(here, runs):
    train = ["train", "language", "text.txt", *QUICK, "--runs-dir", runs]
    main([*train, "-m", "ngram", "--name", "a"])
    main([*train, "-m", "recurrent", *SMALL, "--name", "b"])
    run_all(suggested("mix", "a", "b", "--name", "c", "--runs-dir", runs))
    main(["convert", "a", "-o", "my a.arpa", "--runs-dir", runs])
    found = suggested("convert", "my a.arpa", "--name", "d", "--runs-dir", runs)
    run_all([command.replace("FILE", "text.txt") for command in found])
    main(["convert", "b", "-o", "b.safetensors", "--runs-dir", runs])
    run_all(suggested("convert", "b.safetensors", "--into", "b", "--name", "e", "--runs-dir", runs))
    found = suggested("export", "a", "-o", "-my a.zip".lstrip("-"), "--runs-dir", runs)
    run_all([f"{command} --name f --runs-dir 'yet others'" for command in found])
    run_all(suggested("import", "my a.zip", "--name", "g", "--runs-dir", runs))


def test_after_check_and_segment(here):
    for file in ("my pairs.tsv", "labels.csv", "tags.conll", "text.txt", "series.csv"):
        run_all([f"{command} --dry-run" for command in suggested("check", file)])
    run_all(suggested("segment", "series.csv", "--states", "2", "--name", "states"))


def test_the_examples_of_the_help_one_after_the_other(here):
    """Spellings, as a newcomer has them: `seqloom --help` is typed from top to bottom."""
    spelt = ["loom", "room", "boom", "loop", "pool", "tool", "look", "book", "moon", "root"]
    pairs = [f"{end}{word}\t{' '.join(end + word).upper()}\n" for word in spelt for end in "abcdef"]
    (here / "words.tsv").write_text("".join(pairs))
    for command, _ in EXAMPLES[1:]:
        settings = [*QUICK, *SMALL] if " train " in command else []
        assert main([*shlex.split(command)[1:], *settings]) == 0, command
    assert run_recipe(here / "runs" / "my-run").task["source_tokens"] == "characters"


def test_after_mistakes(here):
    main(["train", "forecast", "series.csv", "-m", "naive", "--name", "jv"])
    run_all(suggested("predict", "jv", "series.csv", code=2))
    (here / "-dash.csv").write_text("text,label\nhello,a\nbye,b\n")
    run_all([f"{one} --dry-run" for one in suggested("check", "./-dash.csv")])


def test_examples_of_the_help():
    examples = [example for example, _ in EXAMPLES]
    examples += [f"seqloom {command.example}" for command in COMMANDS.values()]
    assert [found for one in examples if (found := suggestions.complaint(one))] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Next: seqloom show a   shows all about it", ["seqloom show a"]),
        ("      seqloom compare 'a  b' c", ["seqloom compare 'a  b' c"]),
        ("try other models:  seqloom models", ["seqloom models"]),
        (
            "help: train it first:  seqloom runs    or  seqloom demo",
            ["seqloom runs", "seqloom demo"],
        ),
        ("choose a run of it: seqloom models lists them", []),
    ],
)
def test_suggestions_are_heard(line, found):
    assert list(suggestions.commands_in(line)) == found


@pytest.mark.parametrize(
    "wrong",
    [
        "seqloom shwo a",
        "seqloom show --all",
        "seqloom errors a --limit ten",
        "seqloom runs lists them",
        "seqloom evaluate my run's",
    ],
)
def test_what_is_not_accepted_is_complained_of(wrong):
    assert suggestions.complaint(wrong)
    assert not suggestions.complaint("seqloom train TASK FILE --set training.epochs=5")
