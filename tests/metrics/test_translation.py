"""BLEU and chrF from sums of tallies are sacrebleu's corpus scores, to the last digit."""

import random

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from seqloom.metrics import METRICS, translation, value_of

WORDS = [
    "the",
    "cat",
    "sees",
    "a",
    "dog",
    ",",
    "and",
    "the",
    "dog",
    "doesn't",
    "see",
    "it",
    ".",
    "«",
    "Œuvre",
    "»",
    "3.5",
    "%",
    "well-known",
    "U.S.",
    "The",
]
OWN = {
    "bleu": lambda lowercase: BLEU(lowercase=lowercase),
    "chrf": lambda lowercase: CHRF(lowercase=lowercase),
    "tokenised_bleu": lambda lowercase: BLEU(
        lowercase=lowercase, tokenize="none", smooth_method="none"
    ),
}
every_metric = pytest.mark.parametrize("name", OWN)


def corpus(seed: int, most: int = 1, size: int = 40) -> tuple[list[str], list[list[str]]]:
    """Random answers, each near one of its references; some are empty, some short."""
    chance = random.Random(seed)
    references = [
        [" ".join(chance.choices(WORDS, k=chance.randint(1, 12))) for _ in range(most)]
        for _ in range(size)
    ]
    guesses = []
    for found in references:
        words = chance.choice(found).split()
        words = [word if chance.random() < 0.8 else chance.choice(WORDS) for word in words]
        guesses.append(" ".join(words[: chance.randint(0, len(words))] if seed % 2 else words))
    return guesses, references


def tallies(name, guesses, references, lowercase=False):
    pairs = zip(guesses, references, strict=True)
    return [translation.tally(name, guess, found, lowercase) for guess, found in pairs]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("seed", range(6))
@every_metric
def test_sums_give_the_corpus_score(name, seed, most, lowercase):
    guesses, references = corpus(seed, most)
    theirs = OWN[name](lowercase).corpus_score(guesses, [*zip(*references, strict=True)])
    found = value_of(name, tallies(name, guesses, references, lowercase))
    assert found == theirs.score
    assert name != "bleu" or seed % 2 or 20 < found < 99, "the case must be able to fail"


def test_by_the_function_that_people_call():
    guesses, references = corpus(2)
    streams = [[found[0] for found in references]]
    assert value_of("bleu", tallies("bleu", guesses, references)) == pytest.approx(
        sacrebleu.corpus_bleu(guesses, streams).score
    )


@every_metric
def test_what_is_all_right_or_all_wrong(name):
    text = "the cat sees a dog today"
    assert value_of(name, tallies(name, [text], [[text]])) == pytest.approx(100)
    assert value_of(name, tallies(name, [""], [[text]])) == 0
    assert not METRICS[name].lower_is_better


def test_tokens_are_taken_as_given():
    """13a splits the full stop off; tokenised BLEU does not, so one word of five is wrong."""
    guess, reference = "the cat sees a dog.", "the cat sees a dog ."
    assert value_of("bleu", tallies("bleu", [guess], [[reference]])) == pytest.approx(100)
    split = tallies("tokenised_bleu", [guess], [[reference]])[0]
    assert split[:3] == (5, 6, 4)  # lengths of answer and reference, words found


@every_metric
def test_the_interval_agrees_with_sacrebleus_bootstrap(name):
    """About as wide as the middle 95 % of sacrebleu's corpus scores of examples drawn again."""
    guesses, references = corpus(4, size=60)
    found = METRICS[name].measure(tallies(name, guesses, references))
    chance, scores = np.random.default_rng(3), []
    for _ in range(150):
        which = chance.integers(60, size=60)
        streams = [[references[i][0] for i in which]]
        scores.append(OWN[name](False).corpus_score([guesses[i] for i in which], streams).score)
    low, high = np.quantile(scores, [0.025, 0.975])
    assert 0 <= found.low < found.value < found.high <= 100
    assert found.high - found.low == pytest.approx(high - low, rel=0.35)


def test_two_systems_are_compared_pair_by_pair():
    """A system that spoils the other's answers is certainly worse; beside itself it is equal."""
    guesses, references = corpus(2, size=60)
    spoiled = [" ".join(guess.split()[::-1]) for guess in guesses]
    good, bad = (tallies("bleu", found, references) for found in (guesses, spoiled))
    found = METRICS["bleu"].difference(good, bad)
    assert found.value == value_of("bleu", bad) - value_of("bleu", good) and found.high < 0
    assert found.p <= 0.001
    same = METRICS["bleu"].difference(good, good)
    assert (same.value, same.p) == (0, 1) and not same.is_significant


def test_signatures_are_sacrebleus():
    bleu = BLEU(lowercase=True)
    bleu.corpus_score(["a"], [["a"]])
    assert translation.signature("bleu", {1}, lowercase=True) == str(bleu.get_signature())
    assert "nrefs:var" in translation.signature("bleu", {1, 2})
    assert "tok:none" in translation.signature("tokenised_bleu", {1})


def test_how_it_is_written():
    assert METRICS["bleu"].show(5.1) == "5.10"
