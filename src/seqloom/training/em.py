"""Learning by expectation-maximisation: what is counted depends on the model, so passes repeat."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from ..batch import Item
from ..data.loading.bptt import one_stream
from ..model import LearnsInPasses
from .closed_form import SYMBOLS_AT_ONCE, batches
from .learner import Snapshot, Step, Way
from .options import Training, worked


class Expectation(Way):
    """Count over all data with the model as it is, set the model from the sums, and repeat.

    A start ends when a pass gains too little, or after so many passes as there are epochs. Then the
    model starts again, if it should. A pass that is stopped begins again. A continuous text is cut
    into long pieces, each a sequence.
    """

    runs_away = False

    def __init__(
        self, model: LearnsInPasses, items: Sequence[Item], settings: Training, *, continuous: bool
    ) -> None:
        self.model, self.settings = model, settings
        windows = one_stream(items, SYMBOLS_AT_ONCE) if continuous else batches(items)
        self.batches = list(windows)
        self.symbols = sum(len(item.target) for item in items)
        self.start, self.passes, self.step, self.seconds = 0, 0, 0, 0.0
        self.likelihood = -inf  # of all data in the last pass, in nats per symbol

    def steps(self) -> Iterator[Step]:
        while self.start < self.model.restarts and self._progress(0.0) < 1:
            if self.passes == 0:
                self.model.restart(self.start)
            yield from self._pass()

    def _pass(self) -> Iterator[Step]:
        """All data once; the model changes, and the start may end, just before the last step."""
        totals: Any = None
        number, done, began = self.step, 0, worked()
        for batch in self.batches:
            found = self.model.statistics(batch)
            symbols = int(batch.target.lengths.sum())
            totals = found if totals is None else totals + found
            done, number = done + symbols, number + 1
            values = {"loss": -float(found.log_likelihood) / max(1, symbols)}
            share, is_last = done / max(1, self.symbols), number == self.step + len(self.batches)
            progress, epoch = self._progress(share), self._epochs() + share
            if is_last:
                self.step, self.seconds = number, self.seconds + worked() - began
                self._end_pass(totals)
            yield Step(number, epoch, progress, symbols, values, ends_epoch=is_last)

    def _end_pass(self, totals: Any) -> None:
        self.model.update(totals)
        likelihood = float(totals.log_likelihood) / max(1, self.symbols)
        gain, self.likelihood = likelihood - self.likelihood, likelihood
        self.passes += 1
        if gain < self.model.tolerance or self.passes == self.settings.epochs:
            self.start, self.passes, self.likelihood = self.start + 1, 0, -inf

    def _epochs(self) -> int:
        """How often all data was seen."""
        return self.step // max(1, len(self.batches))

    def _progress(self, share: float) -> float:
        """How far learning is: by passes, steps or time, whichever ends it first."""
        settings = self.settings
        passes = (self.start + (self.passes + share) / settings.epochs) / self.model.restarts
        steps = self.step / settings.steps if settings.steps else 0.0
        return max(passes, steps, self.seconds / settings.seconds())

    def snapshot(self) -> Snapshot:
        facts = {name: getattr(self, name) for name in _FACTS}
        facts["likelihood"] = None if self.likelihood == -inf else self.likelihood
        return Snapshot({name: array.copy() for name, array in self.model.weights().items()}, facts)

    def restore(self, snapshot: Snapshot) -> None:
        self.model.restore(snapshot.arrays)
        for name in _FACTS:
            setattr(self, name, snapshot.facts[name])
        told = snapshot.facts["likelihood"]
        self.likelihood = -inf if told is None else float(told)


_FACTS = ("start", "passes", "step", "seconds")
