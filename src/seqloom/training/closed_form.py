"""Learning by counting: one pass over the data, then the model is set from the sums."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..batch import Batch, Item, collate
from ..data.loading.bptt import one_stream
from ..errors import ModelError
from ..model import CountsStreams, LearnsFromStatistics, State, Warns
from .learner import Snapshot, Step, Way

SYMBOLS_AT_ONCE = 1 << 16  # padding is counted, so that one long line cannot make many of them long


class Counting(Way):
    """Sums the statistics of all batches; quick, so a stopped count simply begins again.

    A continuous text is counted window by window, each going on from the last.
    """

    runs_away = False

    def __init__(
        self, model: LearnsFromStatistics, items: Sequence[Item], *, continuous: bool = False
    ) -> None:
        self.model, self.items, self.continuous = model, items, continuous
        if continuous and not isinstance(model, CountsStreams):
            raise ModelError(
                "M126",
                f"{type(model).__name__} cannot count a continuous text",
                help=["--set task.layout=lines   each line is a sequence of its own"],
            )

    def steps(self) -> Iterator[Step]:
        whole = sum(len(item.target) for item in self.items)
        totals: Any = None
        done = 0
        for number, (found, symbols) in enumerate(self._statistics(), start=1):
            totals = found if totals is None else totals + found
            done += symbols
            is_last, warning = done == whole, {}
            if is_last:
                self.model.update(totals)
                warning = self.model.warning() if isinstance(self.model, Warns) else {}
            share = done / max(1, whole)
            yield Step(number, share, share, symbols, {}, ends_epoch=is_last, warning=warning)

    def snapshot(self) -> Snapshot:
        return Snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        return

    def _statistics(self) -> Iterator[tuple[Any, int]]:
        """What each piece of the data adds, and how many symbols it has."""
        model, state = self.model, State()
        if self.continuous and isinstance(model, CountsStreams):
            for window in one_stream(self.items, SYMBOLS_AT_ONCE):
                found, state = model.statistics_from(window, state)
                yield found, int(window.target.lengths.sum())
            return
        for batch in batches(self.items):
            yield model.statistics(batch), int(batch.target.lengths.sum())


def batches(items: Iterable[Item]) -> Iterator[Batch]:
    """The items in their order, as many at once as are not too much together."""
    held: list[Item] = []
    longest = 0
    for item in items:
        size = max(len(item.source), len(item.target))
        longest = max(longest, size)
        if held and longest * (len(held) + 1) > SYMBOLS_AT_ONCE:
            yield collate(held)
            held, longest = [], size
        held.append(item)
    if held:
        yield collate(held)
