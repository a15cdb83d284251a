"""A small random model to search in, and the same search without batches, states or speed."""

from itertools import product

import numpy as np

from seqloom.batch import Sequences
from seqloom.model import Constant
from seqloom.prediction import Hypothesis
from seqloom.signature import BEGIN, END, PAD

LEAST = 1e-6


class Sure:
    """A peaked model: sure along one right answer for each x_1, and of nothing beside it.

    p(y_t | y_<t, x) is drawn at random for every history, END like any other token.
    """

    def __init__(self, seed, size=9, longest=12):
        chance = np.random.default_rng(seed)
        self.size, self.seed, self.sureness = size, seed, chance.uniform(6, 12)
        self.right = [
            [*chance.integers(END + 1, size, size=chance.integers(3, longest)).tolist(), END]
            for _ in range(size)
        ]
        self.memory = {}

    def begin(self, source):
        return Constant(source.values[:, 0]), np.zeros((len(source), 0), int)

    def step(self, symbols, state):
        first, history = state
        history = np.concatenate([history, symbols[:, None]], axis=1)
        sources = first.values.repeat(len(symbols) // len(first.values)).tolist()
        rows = zip(sources, history[:, 1:].tolist(), strict=True)
        return np.array([self.following(x, row) for x, row in rows]), (first, history)

    def following(self, x, history):
        key, right = (x, *history), self.right[x]
        if key not in self.memory:
            chance = np.random.default_rng([self.seed, *key])
            logits = 1.5 * chance.normal(size=self.size)
            logits[[PAD, BEGIN]] = -30
            if history == right[: len(history)] and len(history) < len(right):
                logits[right[len(history)]] += self.sureness * chance.uniform(0.5, 1)
            self.memory[key] = logits - np.log(np.exp(logits).sum())
        return self.memory[key]


def of(*rows):
    return Sequences.pad([np.array(row, dtype=np.int64) for row in rows])


class Toy:
    """p(y_t | y_<t, x) is drawn at random for every x_1, y_{t-2}, y_{t-1}; so is where it looks.

    A little is taken off at every time t, so that the same symbols in another order are not equal.
    Its state has a part that is still, a part that is new in each step and one that is passed on.
    """

    def __init__(self, seed, size=7, sharpness=2.0, dtype=np.float32, end=0.0):
        chance = np.random.default_rng(seed)
        scores = sharpness * chance.normal(size=(size, size, size, size))
        scores[..., END] += end
        self.size, self.dtype = size, dtype
        self.table = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
        self.table = self.table.astype(dtype)
        self.less = (0.3 * chance.random((30, size))).astype(dtype)
        self.looks = chance.random((size, size, size, 5)) ** 3
        self.steps = self.rows = 0

    def begin(self, source):
        first = source.values[:, 0] if source.values.shape[1] else np.zeros(len(source), int)
        real = source.mask if source.values.shape[1] else np.ones((len(source), 1), bool)
        last = np.full((len(source), 1), BEGIN)
        return (
            Constant(first),
            Constant(real),
            last,
            np.zeros(len(source), int),
            np.zeros((len(source), 2)),
        )

    def step(self, symbols, state):
        first, real, last, time, passed = state
        self.steps, self.rows = self.steps + 1, self.rows + len(symbols)
        width = len(symbols) // len(first.values)
        found = self.table[first.values.repeat(width), last[:, 0], symbols]
        found = found - self.less[time] if self.less is not None else found
        return found, (first, real, symbols[:, None].copy(), time + 1, passed)

    def step_with_attention(self, symbols, state):
        first, real, last, *_ = state
        width = len(symbols) // len(first.values)
        weights = self.looks[first.values.repeat(width), last[:, 0], symbols]
        weights = weights[:, : real.values.shape[1]] * real.values.repeat(width, axis=0)
        return *self.step(symbols, state), weights / weights.sum(1, keepdims=True)

    def following(self, row, history):
        before, last = [BEGIN, BEGIN, *history][-2:]
        found = self.table[row[0] if len(row) else 0, before, last].astype(float)
        return found if self.less is None else found - self.less[len(history)]

    def looked(self, row, history):
        """How much every place was looked at in all steps that wrote this."""
        total = np.zeros(max(1, len(row)))
        for time in range(len(history)):
            before, last = [BEGIN, BEGIN, *history[:time]][-2:]
            weights = self.looks[row[0] if len(row) else 0, before, last, : len(total)]
            total += weights / weights.sum()
        return total

    def log_prob(self, row, history, given=0):
        """Of what comes after the first `given` symbols."""
        places = range(given, len(history))
        return sum(self.following(row, history[:t])[history[t]] for t in places)


def score(model, row, history, settings, given=0):
    length = max(1, len(history) - given)
    found = model.log_prob(row, history, given) / length**settings.length_penalty
    if settings.coverage_penalty:
        covered = np.log(np.clip(model.looked(row, history), LEAST, 1)).sum()
        found += settings.coverage_penalty * covered
    return found


def may_follow(model, settings, history, given):
    """The symbols that the rules allow after these."""
    answer, size = history[given:], settings.block_ngrams
    grams = {tuple(answer[i : i + size]) for i in range(len(answer) - size + 1)} if size else set()
    for symbol in range(model.size):
        if symbol in (PAD, BEGIN):
            continue
        if settings.allow and symbol not in settings.allow | {END}:
            continue
        if symbol == END and len(answer) < settings.shortest:
            continue
        if size and symbol != END and tuple([*answer, symbol][-size:]) in grams:
            continue
        yield symbol


def plain_search(model, row, settings, given=()):  # noqa: C901 - all rules in one place
    """A beam search in lists, candidate by candidate.

    It stops when `beam` have ended and nothing that grows has a better score than the worst of the
    `beam` best of them, and never because nothing better can come.
    """
    given, begun = list(given), [*given, *settings.prefix]
    beam, ended = [(begun, model.log_prob(row, begun, len(given)))], []

    def finish(history, total, is_ended=True):
        ranked = score(model, row, history, settings, len(given))
        ended.append(Hypothesis(np.array(history[len(given) :]), total, ranked, is_ended))

    def is_beaten():
        best = sorted((h.score for h in ended if h.ended), reverse=True)[: settings.beam]
        hopes = [score(model, row, history, settings, len(given)) for history, _ in beam]
        return len(best) == settings.beam and best[-1] >= max(hopes)

    while True:
        found = [
            (total + model.following(row, history)[symbol], [*history, symbol])
            for history, total in beam
            for symbol in may_follow(model, settings, history, len(given))
        ]
        found.sort(key=lambda one: -one[0])
        for total, history in found[: settings.beam]:
            if history[-1] == END:
                finish(history, total)
        growing = [(h, total) for total, h in found[: 2 * settings.beam] if h[-1] != END]
        if not growing and not ended:
            finish(*beam[0], is_ended=False)
        before, beam = beam, growing[: settings.beam]
        if not beam or len(before[0][0]) + 1 - len(given) >= settings.limit:
            break
        if is_beaten():
            break
    for history, total in beam[: max(0, settings.nbest - len(ended))]:
        if len(history) - len(given) >= settings.limit:
            finish(history, total, is_ended=False)
    return sorted(ended, key=lambda h: (h.ended, h.score), reverse=True)[: settings.nbest]


def every_answer(model, row, settings):
    """All that the rules allow up to the limit, best first."""
    symbols = [s for s in range(model.size) if s not in (PAD, BEGIN, END)]
    found = []
    for length in range(settings.limit):
        for body in product(symbols, repeat=length):
            history = [*body, END]
            right = [*may_follow_all(model, settings, history)]
            if all(right) and history[: len(settings.prefix)] == list(settings.prefix):
                found.append((score(model, row, history, settings), history))
    return sorted(found, key=lambda one: -one[0])


def may_follow_all(model, settings, history):
    free = len(settings.prefix)
    for t in range(free, len(history)):
        yield history[t] in set(may_follow(model, settings, history[:t], 0))
