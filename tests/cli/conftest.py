"""Fixtures: a few small trained runs that all tests of the command line share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.recipe import Recipe

from ..conftest import write_data

SMALL = {"embedding_size": 8, "hidden_size": 8}
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
class Completed:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """The folder of the runs, which tests must not change."""
    folder = tmp_path_factory.mktemp("trained") / "runs"
    for name, (task, file, model, settings) in RUNS.items():
        recipe = Recipe(
            data={"train": str(files / file), "test_fraction": 0.2},
            task={"name": task},
            model={"name": model, **settings},
            training={"epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 0.02},
        )
        seqloom.train(recipe, name=name, runs=folder)
    return folder


@pytest.fixture
def cli(runs: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Completed]:
    """Run a command in this process."""

    def command(*arguments: str) -> Completed:
        code = main([*arguments, "--runs-dir", str(runs)])
        printed = capsys.readouterr()
        return Completed(code, printed.out, printed.err)

    return command
