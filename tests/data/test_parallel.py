"""Parallel files: brace names such as train.{de,en}, and an error where files differ."""

import json
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.data.formats.parallel_names import files_of, name_of
from seqloom.data.options import Data
from seqloom.errors import DataError, UsageError
from seqloom.recipe import Recipe
from seqloom.runs.check import check
from seqloom.tasks import TASKS

DE = ["die Katze schläft", "der Hund bellt", "ein Vogel singt", "der Fisch schwimmt"]
EN = ["the cat sleeps", "the dog barks", "a bird sings", "the fish swims"]
SMALL = [
    "--set",
    "model.embedding_size=8",
    "--set",
    "model.hidden_size=8",
    "--set",
    "training.epochs=1",
]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for part, times in (("train", 10), ("valid", 1), ("test", 1)):
        for language, lines in (("de", DE), ("en", EN)):
            numbered = [f"{line} {n}" for n in range(times) for line in lines]
            lines_to(f"{part}.{language}", numbered)
    return tmp_path


def lines_to(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(
    "files, name",
    [
        (["train.de", "train.en"], "train.{de,en}"),
        (["/data/a/train.tok.de", "/data/a/train.tok.en"], "/data/a/train.tok.{de,en}"),
        (["de.txt", "en.txt"], "{de,en}.txt"),
        (["x/de/train.txt", "x/en/train.txt"], "x/{de,en}/train.txt"),
        (["../a/b", "c/d"], "{../a/b,c/d}"),
        (["test.de", "test.deu"], "test.{de,deu}"),
        (["a", "a"], "{a,a}"),
        (["one.tsv"], "one.tsv"),
        ([], ""),
    ],
)
def test_names_of_files_and_back(files, name):
    assert name_of(files) == name
    assert [str(file) for file in files_of(name)] == (files or ["."])


def test_a_file_with_braces_in_its_name_is_one_file(here):
    Path("odd.{a,b}").write_text("x\ty\n")
    assert files_of("odd.{a,b}") == [Path("odd.{a,b}")]
    assert files_of("odd.{a}") == [Path("odd.{a}")]


def test_names_that_cannot_stand_together():
    with pytest.raises(UsageError, match="U081"):
        name_of(["a,b.de", "c.en"])


def test_rows_are_the_lines_together(here):
    lines_to("p.de", ["eins", "", "drei"])
    lines_to("p.en", ["one", " ", "three"])
    found = TASKS["translate"]().open(Path("p.{de,en}"), Data())
    assert [(row.line, row.fields) for row in found.rows] == [
        (1, ("eins", "one")),
        (3, ("drei", "three")),
    ]
    assert found.blank == [2] and found.format == "parallel"


def test_any_task_with_two_roles_reads_them(here):
    lines_to("s.text", ["good", "bad"])
    lines_to("s.label", ["+", "-"])
    found = TASKS["classify"]().open(Path("s.{text,label}"), Data())
    assert [row.fields for row in found.rows] == [("good", "+"), ("bad", "-")]


# lines of each side, what is said
UNEVEN = {
    "one is missing": (["a", "b", "", "d"], ["A", "B", "D"], ["4 lines", "3 lines", "p.de:3", "Line 3 is the first that is blank in one of them only: p.de"]),
    "an end is missing": (["a", "b"], ["A", "B", "C"], ["2 lines", "3 lines", "blank at the same lines, up to line 2"]),
    "a blank end": (["a", "", "c", ""], ["A", "", "C"], ["4 lines", "3 lines", "up to line 3"]),
}  # fmt: skip


@pytest.mark.parametrize("case", UNEVEN)
def test_files_of_different_length(here, capsys, case):
    source, target, words = UNEVEN[case]
    lines_to("p.de", source)
    lines_to("p.en", target)
    assert main(["train", "translate", "p.de", "p.en", *SMALL]) == 3
    said = capsys.readouterr().err
    assert said.startswith("error[D090]") and all(word in said for word in words), said
    assert main(["check", "p.{de,en}"]) == 3
    assert "D090" in capsys.readouterr().out


def test_a_side_that_is_empty(here, capsys):
    lines_to("p.de", ["eins", "zwei", "drei"])
    lines_to("p.en", ["one", "", "three"])
    assert main(["train", "translate", "p.{de,en}"]) == 3
    said = capsys.readouterr().err
    assert said.startswith("error[D014]") and "p.en:2" in said and "'zwei'" in said
    task = TASKS["translate"]()
    assert len(task.open(Path("p.{de,en}"), Data(skip_bad=True)).rows) == 2


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["translate", "train.de", "train.en", "test.en"], ["U080", "names 3 files"]),
        (["language", "train.{de,en}"], ["U080", "reads one alone"]),
        (["tag", "train.{de,en}"], ["U080"]),
        (["translate", "train.{de,en}", "--format", "tsv"], ["U080", "plain lines"]),
        (["translate", "train.{de,en}", "--columns", "1,2"], ["U080", "--columns"]),
        (["translate", "train.{de,fr}"], ["D001", "train.fr"]),
    ],
)
def test_names_that_do_not_fit(here, capsys, arguments, words):
    assert main(["train", *arguments]) in (2, 3)
    said = capsys.readouterr().err
    assert all(word in said for word in words), said


def test_a_recipe_finds_both_files_beside_it(here):
    Path("deep").mkdir()
    Path("deep/r.toml").write_text('[data]\ntrain = "{../train.de,../train.en}"\n')
    assert files_of(Recipe.read(Path("deep/r.toml")).data["train"]) == [
        Path("deep/../train.de"),
        Path("deep/../train.en"),
    ]


def test_check_looks_at_both(here, capsys):
    lines_to("p.de", [*DE, "Punkt "])
    lines_to("p.en", [*EN, "point\x07"])
    report = check(Path("p.{de,en}"), None, Data(), {})
    assert report.task == "translate" and report.counts["rows"] == 5
    codes = {finding.code: finding for finding in report.findings}
    assert (
        codes["D076"].lines == [5] and codes["D077"].lines == [5] and "U+0007" in codes["D077"].text
    )
    assert report.next.startswith("seqloom train translate 'p.{de,en}'")


def test_from_files_to_a_score(here, capsys):
    """As a shell gives the names and as it leaves them; the run finds its files from anywhere."""
    parts = ["--valid=valid.de", "--valid=valid.en", "--test", "test.{de,en}"]
    assert main(["train", "translate", "train.de", "train.en", *parts, "-n", "a", *SMALL]) == 0
    data = Recipe.read(Path("runs/a/recipe.toml")).data
    assert data["train"] == str(here / "train.{de,en}")
    assert data["valid"] == str(here / "valid.{de,en}")
    capsys.readouterr()
    assert main(["evaluate", "a", "test.de", "test.en", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 4
    assert main(["evaluate", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 4
    assert main(["compare", "a", "a", "--file", "valid.{de,en}", "--json"]) == 0
    Path("train.en").write_text("changed\n")
    assert main(["train", "--resume", "a"]) == 5
    assert "T120" in capsys.readouterr().err


def test_from_python(here):
    settings = {"model.embedding_size": 8, "model.hidden_size": 8, "training.epochs": 1}
    run = seqloom.train("translate", "train.{de,en}", settings=settings)
    assert run.evaluate("test.{de,en}").examples[0].line == 1


def test_numbers_of_lines_are_told_before_training(here):
    lines_to("valid.en", EN[:3])
    with pytest.raises(DataError, match="D090"):
        seqloom.train("translate", "train.{de,en}", settings={"data.valid": "valid.{de,en}"})
    assert not Path("runs").exists()
