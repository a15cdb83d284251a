"""The n-gram model against its equations, computed from counts by hand."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.batch import Batch, Sequences
from seqloom.errors import MachineError, ModelError
from seqloom.model import SegmentStatistics, Stateful
from seqloom.models.ngram import NGram
from seqloom.signature import BEGIN, END, PAD, Form, Labels, Signature, Tokens

SIZE = 7
CAN_FOLLOW = SIZE - 2
SMOOTHINGS = [
    "modified-kneser-ney",
    "kneser-ney",
    "katz",
    "witten-bell",
    "add-k",
    "maximum-likelihood",
]


def rows(seed, count=8, longest=9):
    chance = np.random.default_rng(seed)
    return [chance.integers(2, SIZE, chance.integers(1, longest)) for _ in range(count)]


def made(training, size=SIZE, **options):
    model = NGram(Signature(Form.NEXT, Tokens(size), Tokens(size)), **options)
    halves = [Sequences.pad(training[: len(training) // 2]), Sequences.pad(training)]
    halves[1] = Sequences.pad(training[len(training) // 2 :])
    one, other = (model.statistics(Batch(half, half)) for half in halves if len(half))
    model.update(one + other)
    return model


def log_prob(model, texts):
    target = Sequences.pad([np.array(text) for text in texts])
    return model.log_prob(Batch(target, target))


class ByHand:
    """Each equation, word for word, on dictionaries; a text is <s>, its symbols, and no more."""

    def __init__(self, training, order, smoothing, k=1.0, at_least=(1,), symbols=CAN_FOLLOW):
        self.symbols = symbols
        self.order, self.smoothing, self.k, self.at_least = order, smoothing, k, at_least
        self.counts = [Counter() for _ in range(order)]
        for row in training:
            text = (BEGIN, *map(int, row))
            for end in range(1, len(text)):
                for level in range(min(order, end + 1)):
                    self.counts[level][text[end - level : end + 1]] += 1
        self.adjusted = [self._adjusted(level) for level in range(order)]
        self.followers = [defaultdict(list) for _ in range(order)]
        for level, counts in enumerate(self.counts):
            for gram in counts:
                self.followers[level][gram[:-1]].append(gram)

    def _adjusted(self, level):
        """How many different symbols stood before a gram; at the edges, how often it was seen."""
        if level == self.order - 1:
            return dict(self.counts[level])
        before = Counter(gram[1:] for gram in self.counts[level + 1])
        return {g: n if g[0] == BEGIN else before[g] for g, n in self.counts[level].items()}

    def kept(self, gram):
        level = len(gram) - 1
        least = self.at_least[min(level, len(self.at_least) - 1)]
        return self.counts[level].get(gram, 0) >= least

    def chance(self, context, symbol):
        context = tuple(context)[len(context) - min(len(context), self.order - 1) :]
        return getattr(self, "_" + self.smoothing.replace("-", "_"))(context, symbol)

    def _maximum_likelihood(self, context, symbol):
        seen = self.followers[len(context)].get(context, [])
        if not seen:
            return self._maximum_likelihood(context[1:], symbol) if context else 1 / self.symbols
        counts = self.counts[len(context)]
        return counts.get((*context, symbol), 0) / sum(counts[gram] for gram in seen)

    def _add_k(self, context, symbol):
        counts = self.counts[len(context)]
        whole = sum(counts[gram] for gram in self.followers[len(context)].get(context, []))
        return (counts.get((*context, symbol), 0) + self.k) / (whole + self.k * self.symbols)

    def _lower(self, context, symbol):
        return self.chance(context[1:], symbol) if context else 1 / self.symbols

    def _witten_bell(self, context, symbol):
        seen = self.followers[len(context)].get(context, [])
        lower = self._lower(context, symbol)
        if not seen:
            return lower
        counts = self.counts[len(context)]
        whole = sum(counts[gram] for gram in seen)
        return (counts.get((*context, symbol), 0) + len(seen) * lower) / (whole + len(seen))

    def _kneser_ney(self, context, symbol):
        n = Counter(self.adjusted[len(context)].values())
        discount = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else 0.5
        return self._absolute(context, symbol, lambda count: discount)

    def _modified_kneser_ney(self, context, symbol):
        n = Counter(self.adjusted[len(context)].values())
        found = (0.5, 1.0, 1.5)
        if n[1] and n[2] and n[3]:
            y = n[1] / (n[1] + 2 * n[2])
            ones = [i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3)]
            if all(0 < one <= i for i, one in enumerate(ones, 1)):
                found = ones
        return self._absolute(context, symbol, lambda count: found[min(count, 3) - 1])

    def _absolute(self, context, symbol, discount):
        seen = self.followers[len(context)].get(context, [])
        lower = self._lower(context, symbol)
        if not seen:
            return lower
        counts, gram = self.adjusted[len(context)], (*context, symbol)
        whole = sum(counts[other] for other in seen)
        left = sum(discount(counts[g]) if self.kept(g) else counts[g] for g in seen)
        own = counts[gram] - discount(counts[gram]) if self.kept(gram) else 0
        return own / whole + left / whole * lower

    def _katz(self, context, symbol):
        level = len(context)
        shares, counts = self._good_turing(level), self.counts[level]
        every = self.followers[level].get(context, [])
        seen = [gram for gram in every if self.kept(gram)]
        if not seen:
            return self._lower(context, symbol)
        whole = sum(counts[gram] for gram in every)
        own = {gram: shares.get(counts[gram], 1) * counts[gram] for gram in seen}
        if sum(own.values()) > 0.999999 * whole and len(every) < self.symbols:
            whole += 1
        own = {gram: count / whole for gram, count in own.items()}
        left = 1 - sum(own.values())
        if not context:
            unseen = self.symbols - len(own)
            more = left / (unseen or self.symbols)
            return own.get((symbol,), 0) + (more if not unseen or (symbol,) not in own else 0)
        others = 1 - sum(self._lower(context, gram[-1]) for gram in own)
        if others < 1e-6:
            return own[(*context, symbol)] / (1 - left)
        return own.get((*context, symbol), left / others * self._lower(context, symbol))

    def _good_turing(self, level):
        n, highest = Counter(self.counts[level].values()), 1 if level == 0 else 7
        while highest and not (n[highest + 1] and n[1]):
            highest -= 1
        if not highest:
            return {}
        common = (highest + 1) * n[highest + 1] / n[1]
        found = {}
        for r in range(1, highest + 1):
            if n[r]:
                turing = (r + 1) * n[r + 1] / (r * n[r])
                share = (turing - common) / (1 - common) if common != 1 else 0
                found[r] = share if 3e-6 < share <= 1 and turing <= 1 else 1
        return found

    def log_prob(self, row):
        text = [BEGIN, *map(int, row)]
        with np.errstate(divide="ignore"):
            return sum(np.log(self.chance(text[:t], text[t])) for t in range(1, len(text)))


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("smoothing", [name for name in SMOOTHINGS if name != "katz"])
@pytest.mark.parametrize("seed", range(2))
def test_the_equation(order, smoothing, seed):
    training, held_out = rows(seed, 30), rows(seed + 100)
    model = made(training, order=order, smoothing=smoothing, k=0.3)
    by_hand = ByHand(training, order, smoothing, k=0.3)
    expected = [by_hand.log_prob(row) for row in held_out]
    np.testing.assert_allclose(log_prob(model, held_out), expected, rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [7, 150])
def test_katz(order, size):
    """Also where discounts take nothing, and where all symbols have followed a context."""
    chance = np.random.default_rng(3)
    training = [2 + chance.zipf(1.4, chance.integers(3, 12)) % (size - 3) for _ in range(300)]
    held_out = [chance.integers(2, size, 9) for _ in range(20)]
    model = made(training, size=size, order=order, smoothing="katz")
    by_hand = ByHand(training, order, "katz", at_least=(1, 1, 2), symbols=size - 2)
    expected = [by_hand.log_prob(row) for row in held_out]
    np.testing.assert_allclose(log_prob(model, held_out), expected, rtol=1e-5)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("options", [{}, {"min_frequency": (1, 2, 3)}])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_probabilities_sum_to_one(smoothing, options, data):
    """Over all that can follow, after any context, for any text and order."""
    symbols = st.integers(2, SIZE - 1)
    training = data.draw(st.lists(st.lists(symbols, min_size=1, max_size=8), min_size=2))
    order = data.draw(st.integers(1, 6))
    model = made([np.array(row) for row in training], order=order, smoothing=smoothing, **options)
    state, symbol = model.begin(Sequences.pad([np.array([END])])), BEGIN
    for follow in data.draw(st.lists(symbols, max_size=8)):
        log_probs, state = model.step(np.array([symbol]), state)
        assert np.exp(log_probs).sum() == pytest.approx(1, abs=1e-5)
        assert not np.isnan(log_probs).any()
        assert (log_probs[0, [PAD, BEGIN]] == -np.inf).all()
        symbol = follow


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "kneser-ney"])
def test_pruned_grams_leave_their_share(smoothing):
    training, held_out = rows(1, 60), rows(50)
    model = made(training, order=3, smoothing=smoothing, min_frequency=(1, 1, 3))
    by_hand = ByHand(training, 3, smoothing, at_least=(1, 1, 3))
    expected = [by_hand.log_prob(row) for row in held_out]
    np.testing.assert_allclose(log_prob(model, held_out), expected, rtol=1e-6)
    assert model.num_parameters() < made(training, order=3, smoothing=smoothing).num_parameters()


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "katz"])
def test_memory_changes_nothing(smoothing):
    """Counted in memory or spilled to the disk many times over: the same bits."""
    signature = Signature(Form.NEXT, Tokens(900), Tokens(900))
    chance = np.random.default_rng(1)
    texts = [2 + chance.zipf(1.3, 200) % 898 for _ in range(30)]
    found = []
    for memory in (1024, 0):
        model = NGram(signature, order=8, smoothing=smoothing, memory=memory)
        totals = None
        for text in texts:
            target = Sequences.pad([text])
            counts = model.statistics(Batch(target, target))
            totals = counts if totals is None else totals + counts
        assert (len(totals.runs) > 10) == (memory == 0)
        model.update(totals)
        found.append(model.weights())
    assert found[0].keys() == found[1].keys()
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def test_a_disk_without_room_is_told(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(MachineError, match="No space left") as told:
        made(rows(0), order=2, memory=0)
    assert told.value.code == "E301"


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("cut", [1, 2, 7])
def test_windows_say_what_the_whole_says(smoothing, cut):
    """Both counting and reading a long text: piece by piece as at once."""
    chance = np.random.default_rng(2)
    text = np.array([BEGIN, *chance.integers(2, SIZE, 40)])
    whole, pieces = (
        NGram(Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE)), order=4, smoothing=smoothing)
        for _ in range(2)
    )
    assert isinstance(whole, Stateful) and isinstance(whole, SegmentStatistics)

    def window(start, end):
        parts = (text[None, start:end], text[None, start + 1 : end + 1])
        return Batch(*(Sequences(part, np.array([part.shape[1]])) for part in parts))

    target = Sequences.pad([text[1:]])
    whole.update(whole.statistics(Batch(target, target)))
    totals, state = None, ()
    cuts = [(start, min(start + cut, 40)) for start in range(0, 40, cut)]
    for start, end in cuts:
        counts, state = pieces.statistics_from(window(start, end), state)
        totals = counts if totals is None else totals + counts
    pieces.update(totals)
    weights = pieces.weights()
    assert all(np.array_equal(array, weights[name]) for name, array in whole.weights().items())
    state, found = whole.begin(target), []
    for start, end in cuts:
        log_probs, state = whole.log_probs_from(window(start, end), state)
        found.append(log_probs)
    at_once, _ = whole.log_probs_from(window(0, 40), whole.begin(target))
    assert np.array_equal(np.concatenate(found, axis=1), at_once)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_an_order_beyond_the_longest_text(smoothing):
    """Longer grams than any text are never seen; all goes as with the longest that are."""
    training = rows(4, 20, longest=4)
    short, long = (made(training, order=order, smoothing=smoothing) for order in (5, 12))
    np.testing.assert_allclose(log_prob(short, rows(9)), log_prob(long, rows(9)), rtol=1e-6)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_a_text_of_one_symbol(smoothing):
    model = made([np.array([4]), np.array([4])], order=3, smoothing=smoothing)
    (chance,) = np.exp(log_prob(model, [[4]]))
    assert 1 / CAN_FOLLOW < chance <= 1


def test_maximum_likelihood_knows_the_impossible():
    model = made([np.array([4, 5, END])] * 2, order=2, smoothing="maximum-likelihood")
    assert log_prob(model, [[4, 5, END]]).tolist() == [0.0]
    assert log_prob(model, [[5, 4, END]]).tolist() == [-np.inf]


def test_numbers_cannot_be_counted():
    with pytest.raises(ModelError, match="predicts tokens, not labels"):
        NGram(Signature(Form.NEXT, Tokens(SIZE), Labels(3)))


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"order": 0}, "at least 1"),
        ({"min_frequency": (2, 1)}, "must not fall"),
        ({"min_frequency": (0,)}, "at least 1"),
        ({"good_turing": ()}, "at least 0"),
        ({"good_turing": (-1,)}, "at least 0"),
        ({"k": 0.0}, "above 0"),
        ({"memory": -1}, "memory"),
    ],
)
def test_options_that_say_nothing(options, problem):
    with pytest.raises(ModelError, match=problem):
        NGram(Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE)), smoothing="add-k", **options)
