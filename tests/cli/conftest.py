"""A few tiny trained runs that all tests of the command line share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.recipe import Recipe

from ..conftest import write_data

SMALL = {"width": 8, "hidden": 8}
RUNS = {
    "attentive": ("translate", "pairs.tsv", "encoder-decoder", {**SMALL, "attention_width": 8}),
    "plain": ("translate", "pairs.tsv", "encoder-decoder", {**SMALL, "attention": "none"}),
    "tagger": ("tag", "tags.conll", "recurrent", SMALL),
    "judge": ("classify", "labels.csv", "recurrent", SMALL),
    "counts": ("language", "text.txt", "ngram", {}),
    "player": ("music", "pieces.json", "recurrent", SMALL),
    "writer": ("language", "text.txt", "recurrent", SMALL),
}


@dataclass(frozen=True)
class Said:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """The folder of the runs; tests must not change what is in it."""
    folder = tmp_path_factory.mktemp("trained") / "runs"
    for name, (task, file, model, settings) in RUNS.items():
        recipe = Recipe(
            data={"train": str(files / file), "test_fraction": 0.2},
            task={"name": task},
            model={"name": model, **settings},
            training={"epochs": 3, "batch_size": 8, "warmup": 2, "learning_rate": 0.02},
        )
        seqloom.train(recipe, name=name, runs=folder)
    return folder


@pytest.fixture
def say(runs: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command in this process."""

    def command(*arguments: str) -> Said:
        code = main([*arguments, "--runs-dir", str(runs)])
        printed = capsys.readouterr()
        return Said(code, printed.out, printed.err)

    return command
