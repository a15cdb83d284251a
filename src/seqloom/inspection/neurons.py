"""Views of hidden states: all cells of a layer, and cells that follow a feature of the input.

Interpretable cells (Karpathy et al., 2015) are found by mutual information with features such as
"inside quotation marks".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..signature import Form, Labels
from ..views import ActivationsView, NeuronView
from ..views.neuron import NeuronFeature
from .attention_gates import last_forward
from .base import ViewKind
from .context import Inspection
from .layers import (
    LayerActivations,
    Side,
    activation_layers,
    has_activations,
    input_names,
    resolve_index,
)
from .neuron_features import Feature, series_features, token_features
from .next_token import output_names
from .options import LAST

MAX_FEATURES = 12  # cells that are listed
MIN_COUNT = 3  # positions at which a feature must hold, and must not hold
QUANTILES = 4  # bins of real-valued activations and features
PEAK = 0.1  # of the difference between the ends: a mean further out is a peak between them
SIGNIFICANCE = 0.05  # probability that any cell seems to follow a feature by chance

Bins = Float[np.ndarray, "bins time columns"]


def cell_features(
    values: Float[np.ndarray, "time cells"], features: Sequence[Feature]
) -> list[NeuronFeature]:
    """The feature that each cell follows most clearly, if any; the clearest cells first.

    I(c; f) = Σ p(c, f) log2 [p(c, f) / p(c) p(f)]     mutual information, in bits

    c is whether the cell is above its middle, f whether the feature holds; real-valued features and
    cells are binned by quartiles. I is corrected for its bias, the mean under independence (Miller,
    1955). What independence could still produce, with all cells and features tried, is left out.
    """
    time, cells = values.shape
    tests = max(1, cells * len(features))
    best: dict[int, NeuronFeature] = {}
    for feature in features:
        split = _quartiles if feature.is_number else _halves
        states, held = split(values), _feature_bins(feature)
        if held is None:
            continue
        information, entropy = _information(states, held)
        # Under independence 2 n ln2 I is χ² with (a - 1)(b - 1) degrees of freedom. Its tail is
        # bounded as by Laurent & Massart (2000), with Bonferroni's correction for all tests.
        freedom = (len(states) - 1) * (len(held) - 1)
        log_tests = np.log(tests / SIGNIFICANCE)
        least = (freedom + 2 * np.sqrt(freedom * log_tests) + 2 * log_tests) / (
            2 * time * np.log(2)
        )
        gained = information - freedom / (2 * time * np.log(2))
        for cell in np.flatnonzero(information > least).tolist():
            means = held @ values[:, cell] / held.sum(1)
            found = _describe(cell, feature, means, float(gained[cell]), entropy)
            if found and (cell not in best or found.fraction > best[cell].fraction):
                best[cell] = found
    return sorted(best.values(), key=lambda one: -one.fraction)[:MAX_FEATURES]


def _information(states: Bins, held: Float[np.ndarray, "kinds time"]) -> tuple[np.ndarray, float]:
    """The mutual information of each cell with the feature, and the feature's entropy, in bits."""
    time = held.shape[1]
    joint = np.einsum("ptc,ft->pfc", states, held) / time
    independent = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log2(joint / independent), 0.0)
    probs = held.mean(1)
    probs = probs[probs > 0]
    return terms.sum((0, 1)), float(-(probs * np.log2(probs)).sum())


def _halves(values: Float[np.ndarray, "time cells"]) -> Bins:
    """Above and below the middle: 0, or the median of a cell that keeps to one sign."""
    positive = (values > 0).mean(0)
    is_mixed = (positive > 0.1) & (positive < 0.9)
    middle = np.where(is_mixed, 0.0, np.median(values, axis=0))
    above = values > middle
    return np.stack([above, ~above]).astype(np.float64)


def _quartiles(values: Float[np.ndarray, "time cells"]) -> Bins:
    """The quarters of the values of each cell; equal values are in the same one.

    So a cell that does not change, such as one that is clamped, is all in one, and follows nothing.
    """
    cuts = np.quantile(values, np.arange(1, QUANTILES) / QUANTILES, axis=0)
    which = (values[None] > cuts[:, None]).sum(0)
    return np.stack([which == part for part in range(QUANTILES)]).astype(np.float64)


def _feature_bins(feature: Feature) -> Float[np.ndarray, "kinds time"] | None:
    """Where the feature has each of its values or quartiles, from small to large.

    A binary feature holds in the last; None where one of them is too rare.
    """
    if not feature.is_number:
        held = np.stack([feature.values <= 0, feature.values > 0])
    else:
        cuts = np.unique(np.quantile(feature.values, np.arange(1, QUANTILES) / QUANTILES))
        which = np.searchsorted(cuts, feature.values, side="left")
        held = np.stack([which == kind for kind in np.unique(which)])
    return held.astype(np.float64) if len(held) > 1 and held.sum(1).min() >= MIN_COUNT else None


def _describe(
    cell: int,
    feature: Feature,
    means: Float[np.ndarray, " kinds"],
    bits: float,
    entropy: float,
) -> NeuronFeature | None:
    """The feature of a cell with a sentence; None where the means are equal as they are shown."""
    inside, outside = float(means[-1]), float(means[0])
    shown = f"{inside:.2f}", f"{outside:.2f}"
    if shown[0] == shown[1]:
        return None
    if not feature.is_number:
        level = "high" if inside > outside else "low"
        sentence = f"Cell {cell} is {level} {feature.words} ({shown[0]}, elsewhere {shown[1]})."
    else:
        beyond = PEAK * abs(inside - outside)
        is_between = min(inside, outside) - beyond <= means.min()
        is_between &= means.max() <= max(inside, outside) + beyond
        verb = "varies with the"  # with a peak or a trough between the ends
        if is_between:
            verb = "rises with the" if inside > outside else "falls with the"
        small, large = feature.ends
        ends = f"({shown[1]} {small}, {shown[0]} {large})"
        sentence = f"Cell {cell} {verb} {feature.words} {ends}."
    return NeuronFeature(cell, feature.words, bits, bits / entropy, inside, outside, sentence)


FAMILY = "state.*"
NEXT_TOKENS = 5  # most probable next tokens that are listed at each position


@dataclass(frozen=True, eq=False)
class LayerStates:
    """The hidden state of a layer at each step, or its memory cells."""

    name: str
    path: str
    kind: str
    values: Float[np.ndarray, "time cells"]
    side: Side


def layer_states(layers: Sequence[LayerActivations]) -> list[LayerStates]:
    """The hidden state of each layer, and its other states after it, such as memory cells."""
    states = []
    for layer in layers:
        for kind, values in layer.values.items():
            word = kind.removeprefix("state.")
            name = layer.name if word == "hidden" else f"{layer.name} {word}"
            states.append(LayerStates(name, layer.path, kind, values, layer.side))
    return states


def _chosen(inspection: Inspection) -> tuple[list[str], int, LayerStates]:
    """The names of all layers, the number of the chosen one, and its states."""
    layers = layer_states(activation_layers(inspection, FAMILY))
    names = [layer.name for layer in layers]
    number = resolve_index(inspection.options.layer, names, "layer")
    if inspection.options.layer == LAST:
        number = last_forward(names)
    return names, number, layers[number]


def _states(inspection: Inspection) -> ActivationsView:
    names, number, layer = _chosen(inspection)
    notes = [f"of {layer.path}"]
    tokens = input_names(inspection, layer.side)
    return ActivationsView(
        tokens, layer.values, inspection.name, layers=names, layer=number, notes=notes
    )


def _cell(inspection: Inspection) -> NeuronView:
    """One cell; by default the one that follows a feature most clearly."""
    names, number, layer = _chosen(inspection)
    options, values = inspection.options, layer.values
    tokens = input_names(inspection, layer.side)
    followed = cell_features(values, _features(inspection, tokens))
    if options.cell != LAST:
        cell = resolve_index(options.cell, [f"cell {n}" for n in range(values.shape[1])], "cell")
    else:
        cell = followed[0].cell if followed else int(values.std(0).argmax())
    what = "steps" if inspection.subject.form is Form.FORECAST else "tokens"
    notes = [f"of {layer.path}; features are found on these {len(tokens)} {what} alone"]
    return NeuronView(
        tokens,
        values[:, cell],
        inspection.name,
        layers=names,
        layer=number,
        cell=cell,
        cells=values.shape[1],
        features=followed,
        predictions=_predictions(inspection),
        notes=notes,
    )


def _features(inspection: Inspection, tokens: list[str]) -> list[Feature]:
    """The features that a cell may follow: of a series its values, of a text tokens and labels."""
    if inspection.subject.form is Form.FORECAST:
        return series_features(inspection.series_context.values)
    return token_features(tokens, _labels(inspection))


def _labels(inspection: Inspection) -> list[str]:
    """The predicted labels, where each position has one."""
    has_labels = isinstance(inspection.subject.target, Labels)
    return inspection.target if inspection.subject.form is Form.EACH and has_labels else []


def _predictions(inspection: Inspection) -> list[list[tuple[str, float]]] | None:
    """The most probable next tokens at each position, of a language model."""
    if not inspection.subject.is_language_model:
        return None
    probs = np.exp(inspection.next_log_probs)
    names = output_names(inspection, probs.shape[1])
    order = np.argsort(-probs, axis=1, kind="stable")[:, :NEXT_TOKENS]
    return [
        [(names[n], float(row[n])) for n in best.tolist()]
        for row, best in zip(probs, order, strict=True)
    ]


STATES = ViewKind(
    "states",
    "Hidden states of a layer",
    "The activation of every cell of a layer at each step.",
    lambda subject: has_activations(subject, FAMILY),
    _states,
    ("layer", "beam", "limit"),
)
CELL = ViewKind(
    "cell",
    "Single cells",
    "The input coloured by one cell, and the cells that follow a feature of it.",
    lambda subject: has_activations(subject, FAMILY),
    _cell,
    ("layer", "cell", "beam", "limit"),
)
