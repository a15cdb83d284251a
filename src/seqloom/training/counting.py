"""Learning by counting: one pass over the data, then the model is set from the sums."""

from collections.abc import Iterator
from typing import Any

from ..batch import Item, collate
from ..model import LearnsFromStatistics
from .way import Snapshot, Step, Way

SEQUENCES_AT_ONCE = 10_000


class Counting(Way):
    """Sums the statistics of all batches; quick, so a stopped count simply begins again."""

    def __init__(self, model: LearnsFromStatistics, items: list[Item]) -> None:
        self.model, self.items = model, items

    def steps(self) -> Iterator[Step]:
        totals: Any = None
        starts = range(0, len(self.items), SEQUENCES_AT_ONCE)
        for number, start in enumerate(starts, start=1):
            batch = collate(self.items[start : start + SEQUENCES_AT_ONCE])
            found = self.model.statistics(batch)
            totals = found if totals is None else totals + found
            is_last = number == len(starts)
            if is_last:
                self.model.update(totals)
            symbols = int(batch.target.lengths.sum())
            share = number / len(starts)
            yield Step(number, share, share, symbols, {}, ends_epoch=is_last)

    def snapshot(self) -> Snapshot:
        return Snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        return
