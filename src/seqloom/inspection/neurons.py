"""Which cells follow something that can be said in words, found by mutual information.

What layers hold while they read: all cells of one, or one of them behind the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..signature import Form, Labels
from ..views import CellView, StatesView
from ..views.neuron import Story
from .attention_gates import last_forward
from .base import Kind
from .context import Looking
from .layers import Side, Steps, can_step, chosen, names_read, steps
from .neuron_features import Feature, features, features_of_series
from .next_token import names_of
from .options import LAST

MOST = 12  # stories that are told
FEWEST = 3  # places at which something must hold, and must not hold
PARTS = 4  # into which numbers are cut
DOUBT = 0.05  # the chance with which any cell may seem to have a story that has none

Bins = Float[np.ndarray, "parts time columns"]


def stories(values: Float[np.ndarray, "time cells"], features: Sequence[Feature]) -> list[Story]:
    """The clearest story of each cell that has one, the clearest first.

    I(c; f) = Σ p(c, f) log2 [p(c, f) / p(c) p(f)]     bits that the cell tells of the feature

    c is whether the cell is above its middle, f whether the feature holds; of numbers both are cut
    in quarters. From I the mean of what chance alone would give is taken away (Miller, 1955). What
    chance could still give, with so many cells and features tried, is no story.
    """
    time, cells = values.shape
    tests = max(1, cells * len(features))
    best: dict[int, Story] = {}
    for feature in features:
        parts = _quarters if feature.is_number else _halves
        states, held = parts(values), _feature(feature)
        if held is None:
            continue
        information, entropy = _information(states, held)
        freedom = (len(states) - 1) * (len(held) - 1)
        doubt = np.log(tests / DOUBT)
        least = (freedom + 2 * np.sqrt(freedom * doubt) + 2 * doubt) / (2 * time * np.log(2))
        gained = information - freedom / (2 * time * np.log(2))
        for cell in np.flatnonzero(information > least).tolist():
            share = float(gained[cell] / entropy)
            if cell not in best or share > best[cell].share:
                best[cell] = _story(cell, feature, values[:, cell], float(gained[cell]), share)
    return sorted(best.values(), key=lambda one: -one.share)[:MOST]


def _information(states: Bins, held: Float[np.ndarray, "kinds time"]) -> tuple[np.ndarray, float]:
    """Bits that each cell tells of the feature, and all that there are to tell."""
    time = held.shape[1]
    joint = np.einsum("ptc,ft->pfc", states, held) / time
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log2(joint / apart), 0.0)
    chances = held.mean(1)
    chances = chances[chances > 0]
    return terms.sum((0, 1)), float(-(chances * np.log2(chances)).sum())


def _halves(values: Float[np.ndarray, "time cells"]) -> Bins:
    """Above the middle and below it: 0, or the median of a cell that keeps to one side."""
    share = (values > 0).mean(0)
    middle = np.where((share > 0.1) & (share < 0.9), 0.0, np.median(values, axis=0))
    above = values > middle
    return np.stack([above, ~above]).astype(np.float64)


def _quarters(values: Float[np.ndarray, "time cells"]) -> Bins:
    ranks = values.argsort(0, kind="stable").argsort(0, kind="stable")
    which = ranks * PARTS // len(values)
    return np.stack([which == part for part in range(PARTS)]).astype(np.float64)


def _feature(feature: Feature) -> Float[np.ndarray, "kinds time"] | None:
    """Where each kind of it is; nothing where one is too rare."""
    if not feature.is_number:
        held = np.stack([feature.values > 0, feature.values <= 0])
    else:
        cuts = np.unique(np.quantile(feature.values, np.arange(1, PARTS) / PARTS))
        which = np.searchsorted(cuts, feature.values, side="left")
        held = np.stack([which == kind for kind in np.unique(which)])
    return held.astype(np.float64) if len(held) > 1 and held.sum(1).min() >= FEWEST else None


def _story(
    cell: int, feature: Feature, values: Float[np.ndarray, " time"], bits: float, share: float
) -> Story:
    if feature.is_number:
        low, high = np.quantile(feature.values, [1 / PARTS, 1 - 1 / PARTS])
        inside, outside = (
            values[feature.values >= high].mean(),
            values[feature.values <= low].mean(),
        )
        verb = "rises with the" if inside > outside else "falls with the"
        small, large = feature.ends
        told = f"Cell {cell} {verb} {feature.words} ({outside:.2f} {small}, {inside:.2f} {large})."
    else:
        inside, outside = values[feature.values > 0].mean(), values[feature.values <= 0].mean()
        level = "high" if inside > outside else "low"
        told = f"Cell {cell} is {level} {feature.words} ({inside:.2f}, elsewhere {outside:.2f})."
    return Story(cell, feature.words, bits, share, float(inside), float(outside), told)


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
