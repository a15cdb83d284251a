"""Expectation-maximisation (EM; Dempster et al., 1977); for HMMs, Baum-Welch."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from ..batch import Item
from ..data.loading.bptt import one_stream
from ..model import EMTrained
from .closed_form import TOKENS_PER_BATCH, batches
from .learner import Learner, Snapshot, Step
from .options import Training
from .stopwatch import Stopwatch


class EM(Learner):
    """EM learner: the E step sums expected statistics over all data, the M step updates the model.

    It ends when the log-likelihood gains less than the tolerance, or after as many passes as there
    are epochs; then it starts again from another initialisation, if the model asks for restarts. A
    pass that is stopped begins again. When the time is over, the first pass of a start ends with
    what it has read, and a later one is dropped. A continuous text is cut into long segments, each
    a sequence.
    """

    can_diverge = False
    has_short_steps = False  # one pass over long series may be one call of a kernel

    def __init__(
        self, model: EMTrained, items: Sequence[Item], settings: Training, *, continuous: bool
    ) -> None:
        self.model, self.settings = model, settings
        windows = one_stream(items, TOKENS_PER_BATCH) if continuous else batches(items)
        self.batches = list(windows)
        self.tokens = sum(len(item.target) for item in items)
        self.start, self.passes, self.step, self.seconds = 0, 0, 0, 0.0
        self.likelihood = -inf  # of all data in the last pass, in nats per token
        self.stopwatch = Stopwatch(settings.clock)

    def is_resumable(self, step: Step) -> bool:
        return step.ends_epoch

    def steps(self) -> Iterator[Step]:
        self.stopwatch.start()
        while self.start < self.model.restarts and self._progress(0.0) < 1:
            if self.passes == 0:
                self.model.restart(self.start)
            yield from self._pass()

    def _pass(self) -> Iterator[Step]:
        """One pass over all data; the M step comes just before the last step is told."""
        totals: Any = None
        number, done = self.step, 0
        for batch in self.batches:
            self.seconds += self.stopwatch.between_steps()
            found = self.model.statistics(batch)
            tokens = int(batch.target.lengths.sum())
            totals = found if totals is None else totals + found
            done, number = done + tokens, number + 1
            values = {"loss": -float(found.log_likelihood) / max(1, tokens)}
            self.seconds += self.stopwatch.step()
            is_over = self.seconds >= self.settings.seconds()
            is_last = is_over or number == self.step + len(self.batches)
            share = done / max(1, self.tokens)
            progress, epoch = self._progress(share), self._epochs() + share
            if is_last:
                self._end_pass(totals, done, number)
                progress = min(1.0, self._progress(0.0))  # a start that has converged is over
            yield Step(number, epoch, progress, tokens, values, ends_epoch=is_last)
            if is_over:
                return

    def _end_pass(self, totals: Any, done: int, number: int) -> None:
        """The M step, after so many tokens; of passes that are cut short only for the first."""
        self.step = number
        if done < self.tokens and self.passes:
            return
        self.model.update(totals)
        likelihood = float(totals.log_likelihood) / max(1, done)
        gain, self.likelihood = likelihood - self.likelihood, likelihood
        self.passes += 1
        if gain < self.model.tolerance or self.passes == self.settings.passes():
            self.start, self.passes, self.likelihood = self.start + 1, 0, -inf

    def _epochs(self) -> int:
        """How many passes were made."""
        return self.step // max(1, len(self.batches))

    def _progress(self, share: float) -> float:
        """How far training is: by passes, steps or time, whichever ends it first."""
        settings = self.settings
        passes = (self.start + (self.passes + share) / settings.passes()) / self.model.restarts
        steps = self.step / settings.max_steps if settings.max_steps else 0.0
        return max(passes, steps, self.seconds / settings.seconds())

    def snapshot(self) -> Snapshot:
        facts = {name: getattr(self, name) for name in _FACTS}
        facts["likelihood"] = None if self.likelihood == -inf else self.likelihood
        return Snapshot({name: array.copy() for name, array in self.model.weights().items()}, facts)

    def restore(self, snapshot: Snapshot) -> list[str]:
        self.model.restore(snapshot.arrays)
        for name in _FACTS:
            setattr(self, name, snapshot.facts[name])
        told = snapshot.facts["likelihood"]
        self.likelihood = -inf if told is None else float(told)
        return []


_FACTS = ("start", "passes", "step", "seconds")
