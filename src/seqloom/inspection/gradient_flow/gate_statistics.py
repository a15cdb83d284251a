"""How often the gates of a model are open or shut while it reads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...batch import Batch
from ...errors import ModelError
from ...model import Model
from ...trace import watching
from ...views import GateShare, GateSharesView
from ...views.gates import OPEN, SHUT

_PLACE = re.compile(r"(?:(?P<stack>.*)\.)?(?P<back>backward_)?layers\.(?P<number>\d+)\.cell")


@dataclass
class _Sums:
    """What has been seen of one gate."""

    values: int = 0
    total: float = 0.0
    open: int = 0
    shut: int = 0

    def add(self, value: Any) -> None:
        self.values += value.size
        self.total += float(value.sum())
        self.open += int((value > OPEN).sum())
        self.shut += int((value < SHUT).sum())


def gates_of_model(model: Model, batches: Sequence[Batch], name: str) -> GateSharesView:
    """Every gate of every layer and direction, over all steps of all batches.

    open = share of values > 0.9, shut = share of values < 0.1, over cells and steps. A batch
    is of one sequence, so that no padding is counted. Layers that share one cell share one line.
    """
    seen: dict[tuple[str, str], _Sums] = {}
    for batch in batches:
        with model.at_rest(), watching(model) as trace:
            model.log_prob(batch)
        for record in trace.of_kind("gate.*"):
            seen.setdefault((record.path, record.kind), _Sums()).add(record.value)
    if not seen:
        raise ModelError(
            "M114",
            f"{name} has no gates",
            help=["cells with gates: seqloom explain recurrent lists them"],
        )
    stacks = {_place(path)[0] for path, _ in seen}
    shares = [
        _share(name, path, kind, sums, several=len(stacks) > 1)
        for (path, kind), sums in seen.items()
    ]
    count = len(batches)
    return GateSharesView(shares, [f"over {count:,} sequence{'s' if count > 1 else ''}"])


def _share(name: str, path: str, kind: str, sums: _Sums, *, several: bool) -> GateShare:
    stack, layer, direction = _place(path)
    return GateShare(
        name,
        f"{stack} {layer}" if several else layer,
        direction,
        kind.removeprefix("gate."),
        sums.total / sums.values,
        sums.open / sums.values,
        sums.shut / sums.values,
        sums.values,
    )


def _place(path: str) -> tuple[str, str, str]:
    """The stack, the layer counted from 1, and the direction; the path itself where it is odd."""
    found = _PLACE.fullmatch(path)
    if found is None:
        return "", path or "cell", "forward"
    direction = "backward" if found["back"] else "forward"
    return found["stack"] or "", str(int(found["number"]) + 1), direction
