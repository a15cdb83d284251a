"""Gate statistics: how often the gates of a recurrent model are open or shut."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...batch import Batch
from ...errors import ModelError
from ...model import Model
from ...trace import watch
from ...views import GateStatistics, GateStatisticsView
from ...views.gates import OPEN, SHUT

_CELL_PATH = re.compile(r"(?:(?P<stack>.*)\.)?(?P<back>backward_)?layers\.(?P<number>\d+)\.cell")


@dataclass
class _GateCounts:
    """Running counts of the activations of one gate."""

    values: int = 0
    total: float = 0.0
    open: int = 0
    shut: int = 0

    def add(self, value: Any) -> None:
        self.values += value.size
        self.total += float(value.sum())
        self.open += int((value > OPEN).sum())
        self.shut += int((value < SHUT).sum())


def gate_statistics(model: Model, batches: Sequence[Batch], name: str) -> GateStatisticsView:
    """Statistics of every gate of every layer and direction, over all steps of all batches.

    open = fraction of activations > 0.9, shut = fraction < 0.1, over cells and steps. A batch is of
    one sequence, so that no padding is counted. Layers that share one cell share one line.
    """
    counts: dict[tuple[str, str], _GateCounts] = {}
    for batch in batches:
        with model.inference_mode(), watch(model) as trace:
            model.log_prob(batch)
        for record in trace.of_kind("gate.*"):
            counts.setdefault((record.path, record.kind), _GateCounts()).add(record.value)
    if not counts:
        raise ModelError(
            "M114",
            f"{name} has no gates",
            help=["seqloom explain recurrent   lists the cells, of which most have gates"],
        )
    stacks = {_layer_of(path)[0] for path, _ in counts}
    gates = [
        _statistics(name, path, kind, one, several=len(stacks) > 1)
        for (path, kind), one in counts.items()
    ]
    count = len(batches)
    return GateStatisticsView(gates, [f"over {count:,} sequence{'s' if count > 1 else ''}"])


def _statistics(
    name: str, path: str, kind: str, counts: _GateCounts, *, several: bool
) -> GateStatistics:
    stack, layer, direction = _layer_of(path)
    return GateStatistics(
        name,
        f"{stack} {layer}" if several else layer,
        direction,
        kind.removeprefix("gate."),
        counts.total / counts.values,
        counts.open / counts.values,
        counts.shut / counts.values,
        counts.values,
    )


def _layer_of(path: str) -> tuple[str, str, str]:
    """The stack, the layer counted from 1, and the direction; an unusual path is its own layer."""
    match = _CELL_PATH.fullmatch(path)
    if match is None:
        return "", path or "cell", "forward"
    direction = "backward" if match["back"] else "forward"
    return match["stack"] or "", str(int(match["number"]) + 1), direction
