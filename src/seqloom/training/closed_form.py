"""Closed-form training: one pass that sums sufficient statistics, then the parameters follow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..batch import Batch, Item, collate
from ..data.loading.bptt import one_stream
from ..errors import ModelError
from ..model import (
    FitDiagnostics,
    IterativelyFitted,
    SegmentStatistics,
    State,
    StatisticsTrained,
)
from .learner import Learner, Snapshot, Step
from .options import Training
from .stopwatch import Stopwatch

TOKENS_PER_BATCH = 1 << 16  # with padding, so that one long line cannot make many of them long
DEFAULT_TRAINING = Training()
COUNTING = 0.2  # of the progress of a fit; the rest is that of its optimizer


class ClosedForm(Learner):
    """Closed-form learner: sums sufficient statistics over all batches, updates the model once.

    It is quick, so a stopped pass begins again. Where the parameters are fitted to the statistics
    by an optimizer, a stopped fit goes on after its last iteration. A continuous text is read
    segment by segment, each with the state after the last.
    """

    can_diverge = False
    has_short_steps = False

    def __init__(
        self,
        model: StatisticsTrained,
        items: Sequence[Item],
        settings: Training = DEFAULT_TRAINING,
        *,
        continuous: bool = False,
    ) -> None:
        self.model, self.items, self.continuous = model, items, continuous
        self.settings, self.stopwatch = settings, Stopwatch(settings.clock)
        # Of a fit: what its optimizer goes on from, at which step, how far that is, and how long it
        # took.
        self.state: Mapping[str, np.ndarray] = {}
        self.step, self.progress, self.seconds = 0, 0.0, 0.0
        if continuous and not isinstance(model, SegmentStatistics):
            raise ModelError(
                "M126",
                f"{type(model).__name__} cannot count a continuous text",
                help=["--set task.layout=lines   each line is a sequence of its own"],
            )

    def is_resumable(self, step: Step) -> bool:
        return step.ends_epoch or step.number == self.step

    def steps(self) -> Iterator[Step]:
        self.stopwatch.start()
        whole = sum(len(item.target) for item in self.items)
        is_fitted = isinstance(self.model, IterativelyFitted)
        totals: Any = None
        done = 0
        for number, (found, tokens) in enumerate(self._statistics(), start=1):
            totals = found if totals is None else totals + found
            done += tokens
            is_last, warning = done == whole and not is_fitted, {}
            if is_last:
                self.model.update(totals)
                warning = self.model.warning() if isinstance(self.model, FitDiagnostics) else {}
            share = done / max(1, whole)
            if is_fitted:
                share = max(self.progress, COUNTING * share)
            if self.step:  # a fit is resumed: what is counted again was told before
                yield Step(self.step, share, share, 0, {}, ends_epoch=False)
                continue
            yield Step(number, share, share, tokens, {}, ends_epoch=is_last, warning=warning)
        if isinstance(self.model, IterativelyFitted):
            self.seconds += self.stopwatch.step()
            held, totals = [totals], None
            yield from self._fit(self.model, held, self.step or number)

    def _fit(self, model: IterativelyFitted, held: list[Any], number: int) -> Iterator[Step]:
        """The steps of an optimizer; a limit of time or of steps ends them after an iteration.

        The statistics are taken out of `held`, so that the model can drop them when it has made
        of them what it needs.
        """
        iterations = model.fit_iterations(held.pop(), self.state)
        for step, found in enumerate(iterations, start=number + 1):
            self.seconds += self.stopwatch.step()
            is_late = self.seconds >= self.settings.seconds()
            is_late = is_late or 0 < self.settings.max_steps <= step
            is_last = found.is_final or (bool(found.state) and is_late)
            self.progress = max(self.progress, COUNTING + (1 - COUNTING) * found.progress)
            if found.state:
                self.state, self.step = found.state, step
            share = 1.0 if is_last else self.progress
            warning = _not_converged() if is_last and not found.has_converged else {}
            yield Step(step, share, share, 0, found.values, ends_epoch=is_last, warning=warning)
            if is_last:
                return
            self.seconds += self.stopwatch.between_steps()

    def snapshot(self) -> Snapshot:
        facts = {"step": self.step, "progress": self.progress, "seconds": self.seconds}
        return Snapshot(dict(self.state), facts)

    def restore(self, snapshot: Snapshot) -> list[str]:
        self.state = snapshot.arrays
        self.step = snapshot.facts.get("step", 0)
        self.progress = snapshot.facts.get("progress", 0.0)
        self.seconds = snapshot.facts.get("seconds", 0.0)
        return []

    def _statistics(self) -> Iterator[tuple[Any, int]]:
        """The sufficient statistics of each batch or segment, and its number of target tokens."""
        model, state = self.model, State()
        if self.continuous and isinstance(model, SegmentStatistics):
            for window in one_stream(self.items, TOKENS_PER_BATCH):
                found, state = model.statistics_from(window, state)
                yield found, int(window.target.lengths.sum())
            return
        for batch in batches(self.items):
            yield model.statistics(batch), int(batch.target.lengths.sum())


def batches(items: Iterable[Item]) -> Iterator[Batch]:
    """The items in their order, as many in a batch as fit into TOKENS_PER_BATCH."""
    held: list[Item] = []
    longest = 0
    for item in items:
        size = max(len(item.source), len(item.target))
        longest = max(longest, size)
        if held and longest * (len(held) + 1) > TOKENS_PER_BATCH:
            yield collate(held)
            held, longest = [], size
        held.append(item)
    if held:
        yield collate(held)


def _not_converged() -> dict[str, Any]:
    """The warning that a fit was ended before it converged."""
    return {
        "code": "T137",
        "problem": "the fit ended before it converged: other weights would be better",
        "help": ["more time: --max-time", "a larger penalty: --set model.penalty=1"],
    }
