"""EM and training in closed form with a model that writes down what it is asked."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.errors import ModelError
from seqloom.signature import BEGIN
from seqloom.training import closed_form
from seqloom.training.closed_form import ClosedForm, batches
from seqloom.training.em import EM
from seqloom.training.options import Training

LENGTHS = (5, 2, 9, 1, 3, 3, 7)


@dataclass
class Counted:
    """Statistics that can be added: which tokens there were, and how likely."""

    tokens: Counter
    log_likelihood: float

    def __add__(self, other):
        return Counted(self.tokens + other.tokens, self.log_likelihood + other.log_likelihood)


class Writer:
    """A model of EM whose likelihood in nats per token follows a script."""

    def __init__(self, *scripts, tolerance=0.25):
        self.scripts, self.tolerance, self.restarts = scripts, tolerance, len(scripts)
        self.story, self.start, self.passes = [], -1, 0

    def restart(self, number):
        self.start, self.passes = number, 0
        self.story.append(("restart", number))

    def weights(self):
        return {"passes": np.array([self.start, self.passes])}

    def restore(self, weights):
        self.start, self.passes = weights["passes"].tolist()

    def statistics(self, batch):
        likelihood = self.scripts[self.start][self.passes] * int(batch.target.lengths.sum())
        return Counted(Counter(sum(batch.target.rows(), [])), likelihood)

    def update(self, totals):
        self.passes += 1
        self.story.append(("update", totals.tokens.total()))
        self.last = totals


class Counts:
    """A model that is trained in closed form, of lines and of a continuous text."""

    learns = "counting"

    def __init__(self, problem=""):
        self.updates, self.seen, self.problem = [], [], problem

    def statistics(self, batch):
        return Counted(Counter(sum(batch.target.rows(), [])), 0.0)

    def statistics_from(self, segment, state):
        self.seen.append((segment.source.rows()[0], state))
        return self.statistics(segment), (len(self.seen),)

    def update(self, totals):
        self.updates.append(totals)

    def warning(self):
        return {"code": "T1", "problem": self.problem} if self.problem else {}


def items(lengths=LENGTHS):
    ends = np.cumsum(lengths)
    return [Item(t, t) for t in np.split(np.arange(4, 4 + ends[-1]), ends[:-1])]


@pytest.fixture
def small(monkeypatch):
    """At most 12 tokens in a batch, with padding."""
    monkeypatch.setattr(closed_form, "TOKENS_PER_BATCH", 12)


@pytest.mark.usefixtures("small")
def test_batches_hold_what_fits_with_its_padding():
    """In their order; a longer sequence is a batch of its own."""
    sizes = [batch.target.lengths.tolist() for batch in batches(items((5, 2, 13, 6, 6, 1, 1)))]
    assert sizes == [[5, 2], [13], [6, 6], [1, 1]]
    wide = [Item(np.arange(7), np.arange(1)), Item(np.arange(1), np.arange(2))]
    assert [len(batch) for batch in batches(wide)] == [1, 1], "sources count like targets"
    assert list(batches([])) == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("scripts", "epochs", "passes"),
    [
        ([[-5, -4, -3, -2]], 3, [3]),  # as many as there are epochs
        ([[-5, -4, -3.995, -2]], 9, [3]),  # the third gains less than the tolerance
        ([[-5, -4, -3.75, -3.5, -3.5]], 9, [5]),  # exactly the tolerance is enough
        ([[-5, -6, -2]], 9, [2]),  # nothing is gained
        ([[-5, -5], [-9, -1, -1], [-3, -3]], 9, [2, 3, 2]),  # every start begins anew
    ],
)
def test_em_passes_over_all_data_until_little_is_gained(scripts, epochs, passes):
    model = Writer(*scripts)
    learner = EM(model, items(), Training(epochs=epochs), continuous=False)
    steps = list(learner.steps())
    wanted = [
        event
        for start, count in enumerate(passes)
        for event in [("restart", start), *[("update", sum(LENGTHS))] * count]
    ]
    assert model.story == wanted
    per_pass = len(learner.batches)
    assert per_pass > 2 and len(steps) == per_pass * sum(passes)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert [step.ends_epoch for step in steps] == [step.number % per_pass == 0 for step in steps]
    assert sum(step.tokens for step in steps) == sum(passes) * sum(LENGTHS)
    assert steps[-1].epoch == sum(passes) and steps[-1].progress == 1
    assert all(a.progress < b.progress for a, b in zip(steps, steps[1:], strict=False))
    first = scripts[0][0]
    assert steps[0].values["loss"] == pytest.approx(-first)
    assert model.last.tokens == Counter(range(4, 4 + sum(LENGTHS)))
    assert not learner.can_diverge
    assert [learner.is_resumable(step) for step in steps] == [step.ends_epoch for step in steps]


@pytest.mark.usefixtures("small")
def test_em_tells_how_far_it_is():
    """By passes of all starts, or by steps where these end first."""
    model = Writer([-5, -4, -3], [-5, -4, -3])
    learner = EM(model, items(), Training(epochs=3), continuous=False)
    sizes = np.cumsum([batch.target.lengths.sum() for batch in learner.batches]) / sum(LENGTHS)
    found = [(step.epoch, step.progress) for step in learner.steps()]
    wanted = [(n + share, (n + share) / 6) for n in range(6) for share in sizes]
    assert found == [(pytest.approx(epoch), pytest.approx(done)) for epoch, done in wanted]
    few = EM(Writer([-5, -4, -3, -2]), items(), Training(epochs=4, max_steps=1), continuous=False)
    assert [step.ends_epoch for step in few.steps()][-1]
    assert few.passes == 1, "a pass that has begun is made to its end"


@pytest.mark.usefixtures("small")
def test_a_pass_of_em_that_was_stopped_begins_again():
    script = [-5, -4, -3, -2]
    whole = Writer(script)
    list(EM(whole, items(), Training(epochs=4), continuous=False).steps())
    model = Writer(script)
    learner = EM(model, items(), Training(epochs=4), continuous=False)
    steps, per_pass = learner.steps(), len(learner.batches)
    for _ in range(per_pass + 1):
        next(steps)
    taken = learner.snapshot()
    assert taken.facts["step"] == per_pass and taken.facts["likelihood"] == pytest.approx(-5)
    again = Writer(script)
    other = EM(again, items(), Training(epochs=4), continuous=False)
    assert other.snapshot().facts["likelihood"] is None
    assert other.restore(taken) == []
    numbers = [step.number for step in other.steps()]
    assert numbers == list(range(per_pass + 1, 4 * per_pass + 1))
    assert again.passes == whole.passes == 4 and again.last == whole.last


def test_em_reads_a_continuous_text_as_long_segments(monkeypatch):
    monkeypatch.setattr("seqloom.training.em.TOKENS_PER_BATCH", 8)
    learner = EM(Writer([-1, -1]), items(), Training(epochs=1), continuous=True)
    assert [batch.target.lengths.tolist() for batch in learner.batches] == [[8], [8], [8], [6]]
    assert [batch.source.values[0, 0] for batch in learner.batches] == [BEGIN, 11, 19, 27]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("problem", ["", "explosive"])
def test_closed_form_counts_everything_once(problem):
    model = Counts(problem)
    learner = ClosedForm(model, items())
    steps, counted = [], 0
    for step in learner.steps():
        steps.append(step)
        counted += step.tokens
        assert step.progress == step.epoch == pytest.approx(counted / sum(LENGTHS))
        assert step.values == {} and step.number == len(steps)
        assert len(model.updates) == step.ends_epoch == (counted == sum(LENGTHS))
    assert len(steps) > 2 and model.updates[0].tokens == Counter(range(4, 4 + sum(LENGTHS)))
    told = {"code": "T1", "problem": problem} if problem else {}
    assert [step.warning for step in steps] == [{}] * (len(steps) - 1) + [told]
    assert [learner.is_resumable(step) for step in steps] == [step.ends_epoch for step in steps]
    assert learner.restore(learner.snapshot()) == [] and not learner.can_diverge


@pytest.mark.usefixtures("small")
def test_closed_form_carries_its_state_through_a_text():
    """Each segment with the state after the one before, the first with an empty one."""
    model = Counts()
    steps = list(ClosedForm(model, items(), continuous=True).steps())
    assert [state for _, state in model.seen] == [(), (1,), (2,)]
    assert [row[0] for row, _ in model.seen] == [BEGIN, 15, 27]
    assert [step.tokens for step in steps] == [12, 12, 6]
    assert model.updates[0].tokens.total() == 30 and math.isclose(steps[-1].progress, 1)


def test_what_cannot_count_a_text_is_refused():
    class Plain:
        learns = "counting"

        def statistics(self, batch):
            return None

        def update(self, statistics):
            return None

    with pytest.raises(ModelError, match="Plain cannot count a continuous text") as told:
        ClosedForm(Plain(), items(), continuous=True)
    assert told.value.code == "M126"
    ClosedForm(Plain(), items())
