"""What layers hold while they read: all cells of one, or one of them behind the text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..forms import Form, Labels
from ..views import CellView, StatesView
from .chances import names_of
from .features import Feature, features, features_of_series
from .kind import Kind
from .layers import Side, Steps, can_step, chosen, names_read, steps
from .options import LAST
from .recorded import last_forward
from .stories import stories
from .subject import Looking

FAMILY = "state.*"
NEXT = 5  # of the likeliest symbols after each


@dataclass(frozen=True, eq=False)
class Held:
    """What a layer shows, or what stays inside of it, at each step."""

    name: str
    path: str
    kind: str
    values: Float[np.ndarray, "time cells"]
    side: Side


def held(layers: Sequence[Steps]) -> list[Held]:
    """What each layer shows, and beside it what stays inside."""
    found = []
    for layer in layers:
        for kind, values in layer.values.items():
            word = kind.removeprefix("state.")
            name = layer.name if word == "hidden" else f"{layer.name} {word}"
            found.append(Held(name, layer.path, kind, values, layer.side))
    return found


def _chosen(looking: Looking) -> tuple[list[str], int, Held]:
    """The names of all layers, and the one that was asked for with its number."""
    layers = held(steps(looking, FAMILY))
    names = [layer.name for layer in layers]
    number = chosen(looking.options.layer, names, "layer")
    if looking.options.layer == LAST:
        number = last_forward(names)
    return names, number, layers[number]


def _states(looking: Looking) -> StatesView:
    names, number, layer = _chosen(looking)
    notes = [f"of {layer.path}"]
    symbols = names_read(looking, layer.side)
    return StatesView(symbols, layer.values, looking.name, layers=names, layer=number, notes=notes)


def _cell(looking: Looking) -> CellView:
    """One cell; left to itself, the one with the clearest story."""
    names, number, layer = _chosen(looking)
    options, values = looking.options, layer.values
    symbols = names_read(looking, layer.side)
    found = stories(values, _features(looking, symbols))
    if options.cell != LAST:
        cell = chosen(options.cell, [f"cell {n}" for n in range(values.shape[1])], "cell")
    else:
        cell = found[0].cell if found else int(values.std(0).argmax())
    what = "steps" if looking.subject.form is Form.FORECAST else "symbols"
    notes = [f"of {layer.path}; stories are of these {len(symbols)} {what} alone"]
    return CellView(
        symbols,
        values[:, cell],
        looking.name,
        layers=names,
        layer=number,
        cell=cell,
        cells=values.shape[1],
        stories=found,
        predictions=_predictions(looking),
        notes=notes,
    )


def _features(looking: Looking, symbols: list[str]) -> list[Feature]:
    """What a cell may follow: of series their numbers, of texts their symbols and labels."""
    if looking.subject.form is Form.FORECAST:
        return features_of_series(looking.past.numbers)
    return features(symbols, _labels(looking))


def _labels(looking: Looking) -> list[str]:
    """The labels that were answered, where each place has one."""
    is_labelled = isinstance(looking.subject.target, Labels)
    return looking.target if looking.subject.form is Form.EACH and is_labelled else []


def _predictions(looking: Looking) -> list[list[tuple[str, float]]] | None:
    """At each place the likeliest next symbols."""
    if not looking.subject.is_next:
        return None
    chances = np.exp(looking.after)
    names = names_of(looking, chances.shape[1])
    order = np.argsort(-chances, axis=1, kind="stable")[:, :NEXT]
    return [
        [(names[n], float(row[n])) for n in best.tolist()]
        for row, best in zip(chances, order, strict=True)
    ]


STATES = Kind(
    "states",
    "States",
    "What every cell of a layer holds while the model reads.",
    lambda subject: can_step(subject, FAMILY),
    _states,
    ("layer", "beam"),
)
CELL = Kind(
    "cell",
    "By one cell",
    "What was read, coloured by one cell; and the cells that follow what words can tell.",
    lambda subject: can_step(subject, FAMILY),
    _cell,
    ("layer", "cell", "beam"),
)
