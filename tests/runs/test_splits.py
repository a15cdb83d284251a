"""The three parts of a run's data have no example in common, however their files overlap."""

import random
from itertools import combinations

import pytest

from seqloom.data.options import Data
from seqloom.runs.splits import FILES, read_parts
from seqloom.tasks.classify import Classify


def write(path, numbers):
    rows = [f"text number {number},{'odd' if number % 2 else 'even'}" for number in numbers]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return str(path)


def numbers_of(part):
    return [int(example.symbols[-1]) for example in part]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("given", [{"test"}, {"valid"}, {"valid", "test"}, {"valid", "folds"}])
def test_no_two_parts_share_an_example(tmp_path, given, seed):
    chance = random.Random(seed)
    files = {name: chance.sample(range(60), 40 if name == "train" else 25) for name in FILES}
    paths = {
        name: write(tmp_path / f"{name}.csv", numbers)
        for name, numbers in files.items()
        if name in given | {"train"}
    }
    settings = {"folds": 3, "fold": 1 + seed % 3} if "folds" in given else {}
    data = Data(**paths, **settings, valid_fraction=0.3, test_fraction=0.3)
    parts = read_parts(Classify(), data)
    found = {name: numbers_of(getattr(parts, name)) for name in FILES}
    for one, other in combinations(FILES, 2):
        assert not set(found[one]) & set(found[other]), (one, other)
    if "test" in given:
        assert found["test"] == files["test"]  # the examples to be judged on are all there
    if "valid" in given:
        assert found["valid"] == [n for n in files["valid"] if n not in found["test"]]
        left = len(files["valid"]) - len(found["valid"])
        note = f"{left} validation examples left out: they are in test too"
        assert any(said.startswith(note) for said in parts.notes) is (left > 0)
    allowed = read_parts(Classify(), Data(**vars(data) | {"allow_overlap": True}))
    if given == {"valid", "test"}:
        assert [numbers_of(getattr(allowed, name)) for name in FILES] == [*files.values()]


@pytest.mark.parametrize(
    ("rows", "valid", "test"),
    [(40, 4, 8), (1000, 100, 200), (8000, 500, 1000), (30_000, 1500, 1500)],
)
def test_parts_go_by_the_size_of_a_file(rows, valid, test):
    """A twentieth of 40 rows were 2, of which no verdict can come."""
    by_size = Data(valid_fraction=-1, test_fraction=-1)
    found = by_size.with_fractions(rows)
    assert round(found.valid_fraction * rows) == valid
    assert round(found.test_fraction * rows) == test
    given = Data(valid_fraction=0.05, test_fraction=0.0)
    assert given.with_fractions(rows) == given, "as old runs have it, and whoever says so"
    whole = by_size.with_fractions(3_000_000)
    assert round(whole.test_fraction * 3_000_000) == 10_000


def test_files_without_parts_can_be_cut_by_size(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("text,label\n" + "".join(f"word{n} here,{n % 2}\n" for n in range(200)))
    by_size = {"valid_fraction": -1, "test_fraction": -1}
    parts = read_parts(Classify(), Data(train=str(file), **by_size))
    assert [len(getattr(parts, name)) for name in FILES] == [140, 20, 40]
    parts = read_parts(Classify(), Data(train=str(file), valid_fraction=0.05, test_fraction=0.05))
    assert [len(getattr(parts, name)) for name in FILES] == [180, 10, 10]
    parts = read_parts(
        Classify(), Data(train=str(file), valid=str(file), folds=5, allow_overlap=True)
    )
    assert [len(getattr(parts, name)) for name in FILES] == [160, 200, 40]
