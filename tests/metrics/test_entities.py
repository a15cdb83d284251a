"""Precision, recall and F1 of entities, against seqeval in its default mode, which is conlleval's."""

import random
import warnings

import pytest

from seqloom.data.text.tag_schemes import entities
from seqloom.metrics import METRICS, value_of
from seqloom.metrics.entities import EntityCounts, entity_counts

TAGS = ["O", "O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("X", "Y"))]


def corpus(seed: int, letters: str) -> tuple[list[list[str]], list[list[str]]]:
    chance = random.Random(seed)
    tags = [tag for tag in TAGS if tag[0] in letters]
    right = [[chance.choice(tags) for _ in range(chance.randint(1, 12))] for _ in range(20)]
    guessed = [[t if chance.random() < 0.7 else chance.choice(tags) for t in one] for one in right]
    return right, guessed


@pytest.mark.parametrize("letters", ["OBI", "OBIES", "OI", "OBES"])
@pytest.mark.parametrize("seed", range(5))
def test_as_seqeval_counts(letters, seed):
    oracle = pytest.importorskip("seqeval.metrics")
    right, guessed = corpus(seed, letters)
    tallies = [entity_counts(entities(g), entities(r)) for r, g in zip(right, guessed, strict=True)]
    names = {"entity_precision": "precision_score", "entity_recall": "recall_score"}
    for name, theirs in {**names, "entity_f1": "f1_score"}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(oracle, theirs)(right, guessed)
        assert value_of(name, tallies) == pytest.approx(expected, abs=1e-12), name


def test_no_entities_at_all_are_no_error():
    for name in ("entity_f1", "entity_precision", "entity_recall"):
        assert value_of(name, [EntityCounts(0, 0, 0)]) == 0.0
        assert METRICS[name].measure([EntityCounts(0, 0, 0), EntityCounts(1, 1, 1)]).value == 1.0


def test_f1_is_of_sums_not_a_mean_of_examples():
    tallies = [EntityCounts(1, 1, 1), EntityCounts(0, 1, 3)]
    assert value_of("entity_f1", tallies) == pytest.approx(2 * 1 / (2 + 4))
