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
