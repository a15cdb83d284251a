"""Closed-form training: one pass that sums sufficient statistics, then the parameters follow."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..batch import Batch, Item, collate
from ..data.loading.bptt import one_stream
from ..errors import ModelError
from ..model import FitDiagnostics, SegmentStatistics, State, StatisticsTrained
from .learner import Learner, Snapshot, Step

TOKENS_PER_BATCH = 1 << 16  # with padding, so that one long line cannot make many of them long


class ClosedForm(Learner):
    """Closed-form learner: sums sufficient statistics over all batches, updates the model once.

    It is quick, so a stopped pass begins again. A continuous text is read segment by segment, each
    with the state after the last.
    """

    can_diverge = False
    has_short_steps = False

    def __init__(
        self, model: StatisticsTrained, items: Sequence[Item], *, continuous: bool = False
    ) -> None:
        self.model, self.items, self.continuous = model, items, continuous
        if continuous and not isinstance(model, SegmentStatistics):
            raise ModelError(
                "M126",
                f"{type(model).__name__} cannot count a continuous text",
                help=["--set task.layout=lines   each line is a sequence of its own"],
            )

    def is_resumable(self, step: Step) -> bool:
        return step.ends_epoch

    def steps(self) -> Iterator[Step]:
        whole = sum(len(item.target) for item in self.items)
        totals: Any = None
        done = 0
        for number, (found, tokens) in enumerate(self._statistics(), start=1):
            totals = found if totals is None else totals + found
            done += tokens
            is_last, warning = done == whole, {}
            if is_last:
                self.model.update(totals)
                warning = self.model.warning() if isinstance(self.model, FitDiagnostics) else {}
            share = done / max(1, whole)
            yield Step(number, share, share, tokens, {}, ends_epoch=is_last, warning=warning)

    def snapshot(self) -> Snapshot:
        return Snapshot()

    def restore(self, snapshot: Snapshot) -> list[str]:
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
