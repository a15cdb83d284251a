"""The HMM tagger: the equations of TnT, and inference against every path of small models."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences, collate
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models import hmm_tagger
from seqloom.models.hmm_tagger import HMMTagger
from seqloom.signature import Columns, Form, Labels, Letters, Signature, Tokens
from seqloom.statistical.hmm.trigram import TrigramTransitions
from seqloom.statistical.ngram.smoothing import UNSEEN_COUNT, deleted_interpolation
from seqloom.statistical.ngram.suffixes import SuffixModel
from seqloom.tasks.tag import Tag, Tagged

LETTERS = Letters(9, 5, frozenset({7, 8}))  # 7 and 8 are capitals
WORDS = Columns((Tokens(12), LETTERS))


def sentences(seed, count=30):
    """Random words with letters of their own, and labels that lean on the word and the last one."""
    chance = np.random.default_rng(seed)
    spelled = np.zeros((12, 5), dtype=np.int64)
    for row in spelled:
        row[: chance.integers(1, 6)] = chance.integers(4, 9)
    sources, targets = [], []
    for _ in range(count):
        words = chance.integers(3, 12, chance.integers(1, 6))
        sources.append(np.column_stack([words, spelled[words]]))
        targets.append((words + chance.integers(0, 2, len(words))) % 3)
    return Batch(Sequences.pad(sources), Sequences.pad(targets))


def counted(target=None, seed=0, source=WORDS, **options):
    model = HMMTagger(Signature(Form.EACH, source, target or Labels(3)), **options)
    batch = sentences(seed)
    if source is not WORDS:
        batch = Batch(batch.source.words(), batch.target)
    half = [Batch(_some(batch.source, part), _some(batch.target, part)) for part in (0, 1)]
    model.update(model.statistics(half[0]) + model.statistics(half[1]))
    return model


def _some(sequences, part):
    return Sequences(sequences.values[part::2], sequences.lengths[part::2])


@pytest.mark.parametrize(
    "options",
    [{"order": 1}, {"order": 2}, {"order": 2, "case": False}, {"order": 2, "prune": 1e-30}],
)
@pytest.mark.parametrize("barred", [frozenset(), frozenset({(0, 0), (3, 1), (1, 2), (2, 3)})])
@pytest.mark.parametrize("seed", range(2))
def test_what_it_finds_is_the_best_of_all(options, barred, seed, monkeypatch):
    """Viterbi, k best and posteriors, against every sequence of labels there is."""
    if "prune" in options:
        monkeypatch.setattr(hmm_tagger, "EXACT_TRANSITIONS", 0)
    model = counted(Labels(3, barred), seed, **options)
    source = Sequences(sentences(seed + 5).source.values[:1, :4], np.array([4]))
    every = np.array(list(product(range(3), repeat=4)))
    many = Sequences(np.repeat(source.values, len(every), 0), np.full(len(every), 4))
    log_probs = model.log_prob(Batch(many, Sequences(every, many.lengths)))
    assert np.exp(log_probs).sum() == pytest.approx(1)
    for row, total in zip(every, log_probs, strict=True):
        if barred & {*zip([3, *row], [*row, 3], strict=True)}:
            assert total == -np.inf
    order = np.argsort(-log_probs)
    found = model.predict(source, Search(probabilities=True))
    assert found.target.values[0].tolist() == every[order[0]].tolist()
    assert found.log_prob[0] == pytest.approx(log_probs.max())
    for place, label in product(range(4), range(3)):
        right = np.exp(log_probs)[every[:, place] == label].sum()
        assert found.probabilities[0, place, label] == pytest.approx(right, abs=1e-9)
    (ranked,) = model.best_labels(source, 5)
    assert [h.tokens.tolist() for h in ranked] == every[order[: len(ranked)]].tolist()
    assert [h.log_prob for h in ranked] == pytest.approx(log_probs[order[: len(ranked)]].tolist())
    several = model.predict(source, Search(beam=3, nbest=3))
    assert [len(found) for found in several.ranked] == [3]
    places = counted(Labels(3, barred), seed, decoding="posterior", **options)
    likeliest = places.predict(source, Search())
    assert likeliest.target.values[0].tolist() == found.probabilities[0].argmax(-1).tolist()


def test_the_weights_of_contexts_are_deleted_interpolation_by_hand():
    """Brants (2000), figure 1: each run of labels votes for the depth it would be likeliest at."""
    chance = np.random.default_rng(3)
    counts = chance.integers(0, 4, (3, 3, 3)).astype(float)
    votes, total = np.ones(3), counts.sum()
    for a, b, c in product(range(3), repeat=3):
        often = counts[a, b, c]
        pair, ends = counts[:, b, c].sum(), counts[:, :, c].sum()
        said = [(ends - 1, total - 1), (pair - 1, counts[:, b].sum() - 1)]
        said.append((often - 1, counts[a, b].sum() - 1))
        votes[np.argmax([top / max(below, 1) for top, below in said])] += often
    found, weights = deleted_interpolation(counts)
    np.testing.assert_allclose(weights, votes / votes.sum())
    np.testing.assert_allclose(found.sum(-1), 1)
    a, b, c = 0, 1, 2
    one = (counts[:, :, c].sum() + UNSEEN_COUNT) / (total + 3 * UNSEEN_COUNT)
    two = counts[:, b, c].sum() / counts[:, b].sum()
    three = counts[a, b, c] / counts[a, b].sum()
    assert found[a, b, c] == pytest.approx(weights @ [one, two, three])
    counts[a, b] = 0
    assert deleted_interpolation(counts)[0][a, b].sum() == pytest.approx(1)


def test_endings_lean_on_shorter_ones():
    letters = np.array([[4, 5, 6, 0], [7, 5, 6, 0], [5, 6, 0, 0], [4, 0, 0, 0]])
    capital, seen = np.array([0, 1, 0, 0]), np.array([[2, 0], [0, 3], [1, 1], [0, 4.0]])
    endings = SuffixModel.from_counts(9, letters, capital, seen)
    whole = (seen.sum(0) + 1) / (seen.sum() + 2)
    lean = whole.std(ddof=1)

    def leaning(counts, shorter):
        return (np.array(counts) / sum(counts) + lean * shorter) / (1 + lean)

    none = leaning([3, 5], whole)  # of all three words without a capital
    one = leaning([3, 1], none)  # of those that end with 6
    two = leaning([3, 1], one)  # … 5 6
    asked = np.array([[8, 8, 5, 6], [4, 5, 6, 0], [8, 8, 0, 0], [3, 6, 0, 0]])
    found = endings.label_probabilities(asked, np.zeros(4, dtype=np.int64))
    np.testing.assert_allclose(found[0], two)
    np.testing.assert_allclose(found[1], leaning([2, 0], two))
    np.testing.assert_allclose(found[2], none)
    np.testing.assert_allclose(found[3], one)
    large = endings.label_probabilities(asked[:1], np.ones(1, dtype=np.int64))
    assert large[0, 1] > 0.7 > found[0, 1]


def test_an_ending_tells_what_an_unknown_word_is():
    task = Tag(min_frequency=1)
    stems = ["walk", "talk", "jump", "play", "call", "look"]
    text = [Tagged([stem + "ed", stem + "s"], ["PAST", "NOW"]) for stem in stems]
    text += [Tagged(["Anna", stem + "s"], ["NAME", "NOW"]) for stem in stems]
    task.prepare(text)
    model = HMMTagger(task.signature())
    model.update(model.statistics(collate([task.encode(example) for example in text])))
    asked = [Tagged([word, "walks"], []) for word in ("wanted", "Annanna")]
    found = model.predict(
        Sequences.pad([task.encode_source(example) for example in asked]), Search()
    )
    assert [task.decode(row) for row in found.target.rows()] == [["PAST", "NOW"], ["NAME", "NOW"]]


def test_without_letters_words_seen_once_stand_for_unknown_ones():
    model = counted(source=Tokens(12))
    assert "endings.codes" in model.weights() and not len(model.weights()["endings.codes"])
    every = np.array(list(product(range(3), repeat=2)))
    asked = Sequences(np.zeros_like(every) + 2, np.full(len(every), 2))  # never seen
    assert np.exp(model.log_prob(Batch(asked, Sequences(every, asked.lengths)))).sum() == (
        pytest.approx(1)
    )


def test_options_that_cannot_be_are_refused():
    for options in ({"order": 3}, {"smoothing": -1.0}, {"prune": 0.0}):
        with pytest.raises(ModelError) as told:
            counted(**options)
        assert told.value.code == "M300"


def test_too_many_labels_are_refused():
    with pytest.raises(ModelError, match="too many transitions") as told:
        HMMTagger(Signature(Form.EACH, WORDS, Labels(5000)))
    assert told.value.code == "M300" and told.value.help == ("--set model.case=false",)
    assert HMMTagger(Signature(Form.EACH, Tokens(9), Labels(300)), order=1).states == 300


def test_sparse_trigrams_are_deleted_interpolation():
    """Also where a label scheme forbids bigrams, and of a part of the labels."""
    chance, size = np.random.default_rng(4), 6
    dense = (chance.integers(0, 5, (size,) * 3) * (chance.random((size,) * 3) < 0.3)).astype(float)
    allowed = chance.random((size, size)) < 0.8
    allowed[:, 2] = True
    right = np.where(allowed, deleted_interpolation(dense)[0], 0.0)
    right /= right.sum(-1, keepdims=True)
    trigrams = np.argwhere(dense)[::-1]
    made = TrigramTransitions.from_counts(trigrams, dense[tuple(trigrams.T)], allowed)
    every = np.array(list(product(range(size), repeat=3))).T
    np.testing.assert_allclose(np.exp(made.log_probs(*every)), right.ravel(), atol=1e-12)
    kept = np.array([1, 2, 4])
    band = np.exp(made.chain(kept).transitions).reshape(4, 3, 3)  # the last row: no label before
    which = np.append(kept, size - 1)
    np.testing.assert_allclose(band, right[np.ix_(which, kept, kept)], atol=1e-12)


def test_many_labels_are_pruned_and_kept():
    """With 150 labels, each at home after another: what is pruned hardly matters."""
    labels, chance = 150, np.random.default_rng(2)
    rows = [(start + 7 * np.arange(12)) % labels for start in chance.integers(0, labels, 400)]
    target = Sequences.pad(rows)
    source = Sequences.pad([4 + row // 3 for row in rows])  # a word for three labels
    signature = Signature(Form.EACH, Tokens(60), Labels(labels))
    exact, pruned = (HMMTagger(signature, prune=prune) for prune in (1e-12, 1e-4))
    for model in (exact, pruned):
        model.update(model.statistics(Batch(source, target)))
    asked = Batch(_some(source, 0), _some(target, 0))
    found = pruned.predict(asked.source, Search())
    assert (found.target.values == asked.target.values).mean() > 0.99
    right = exact.log_prob(asked)
    np.testing.assert_allclose(pruned.log_prob(asked), right, rtol=1e-3, atol=1e-2)
    assert (right <= 0).all()
    again = HMMTagger(signature)
    again.restore(pruned.weights())
    np.testing.assert_array_equal(again.log_prob(asked), pruned.log_prob(asked))
    assert again.num_parameters() < 200 * labels + 3 * 400 * 14 + 60 * labels


def test_counting_and_tagging_need_no_torch(data):
    program = (
        "import sys; from seqloom.cli.main import main\n"
        "code = main(['train', 'tag', 'tags.conll', '-m', 'hmm-tagger', '--name', 'h', '-q'])\n"
        "code = code or main(['tag', 'h', 'the cat sees a unicorn'])\n"
        "sys.exit(code or 99 * ('torch' in sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=data, capture_output=True, text=True
    )
    assert (found.returncode, found.stdout.split()[-5:]) == (
        0,
        ["the/D", "cat/N", "sees/V", "a/D", "unicorn/N"],
    ), found
