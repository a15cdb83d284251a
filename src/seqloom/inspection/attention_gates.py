"""Views of attention weights, of hierarchical attention, and of gate activations."""

from collections.abc import Sequence

import numpy as np

from ..views import AttentionView, GatesView, HeadsView, HierarchyView
from ..views.heads import AttentionHead, AttentionLayer
from .base import ViewKind
from .context import InspectedModel, Inspection
from .layers import (
    activation_layers,
    attention_layers,
    has_activations,
    has_attention,
    input_names,
    position_names,
    resolve_index,
)
from .options import LAST

GATES_FAMILY = "gate.*"


def _attention(inspection: Inspection) -> AttentionView:
    """The weights of one layer: of one head, or the mean over heads."""
    layers, options = attention_layers(inspection), inspection.options
    names = [layer.name for layer in layers]
    number = resolve_index(options.layer, names, "layer")
    layer = layers[number]
    heads = len(layer.weights)
    head = LAST
    if options.head != LAST:
        head = resolve_index(options.head, [f"head {n}" for n in range(heads)], "head")
    weights = layer.weights.mean(0) if head == LAST else layer.weights[head]
    which = f"the mean of its {heads} heads" if heads > 1 else ""
    which = f"head {head} of {heads}" if head != LAST and heads > 1 else which
    notes = [", ".join(filter(None, [layer.path, which]))] if which or len(layers) > 1 else []
    notes += ["a long text is read in blocks, each of which attends to itself"] * layer.in_blocks
    return AttentionView(
        input_names(inspection, layer.keys),
        position_names(inspection, layer.queries),
        weights,
        inspection.name,
        notes,
        layers=names,
        layer=number,
        heads=heads,
        head=head,
        axis="tgt" if layer.queries == "target" else "src",
    )


def _heads(inspection: Inspection) -> HeadsView:
    layers = [
        AttentionLayer(
            layer.name,
            input_names(inspection, layer.keys),
            position_names(inspection, layer.queries),
            [AttentionHead.of(w, is_same=layer.queries == layer.keys) for w in layer.weights],
        )
        for layer in attention_layers(inspection)
    ]
    return HeadsView(layers, inspection.source, inspection.target, inspection.name)


def _hierarchy(inspection: Inspection) -> HierarchyView:
    """The attention weights of sentences, and of words within sentences."""
    words, sentences, numbers = (
        inspection.trace.of_kind(f"hierarchy.{kind}")[-1].value[0]
        for kind in ("words", "sentences", "numbers")
    )
    source = inspection.source
    groups = [np.flatnonzero(numbers[: len(source)] == n) for n in np.unique(numbers)]
    weights = sentences[: len(groups)]
    tokens = [[source[position] for position in group] for group in groups]
    return HierarchyView(tokens, weights, [words[group] for group in groups], inspection.name)


def _gates(inspection: Inspection) -> GatesView:
    """The gates of one layer: by default the last that reads from the left."""
    layers = activation_layers(inspection, GATES_FAMILY)
    names = [layer.name for layer in layers]
    number = resolve_index(inspection.options.layer, names, "layer")
    if inspection.options.layer == LAST:
        number = last_forward(names)
    layer = layers[number]
    tokens = input_names(inspection, layer.side)
    notes = (f"cell {layer.path}",)
    return GatesView(tokens, layer.values, inspection.name, notes, layers=names, layer=number)


def last_forward(names: Sequence[str]) -> int:
    """The last layer that reads from the left."""
    return max(n for n, name in enumerate(names) if "backward" not in name)


def _has_hierarchy(subject: InspectedModel) -> bool:
    return bool(subject.sample_trace.of_kind("hierarchy.*"))


ATTENTION = ViewKind(
    "attention",
    "Attention",
    "Attention weights: the tokens that each position attends to, by layer and head.",
    has_attention,
    _attention,
    ("layer", "head", "beam", "limit"),
)
HEADS = ViewKind(
    "heads",
    "All heads",
    "The attention heads of all layers side by side, each with its pattern in a word.",
    has_attention,
    _heads,
    ("beam", "limit"),
)
HIERARCHY = ViewKind(
    "hierarchy",
    "Sentences and words",
    "Hierarchical attention: the weight of each sentence, and of each word in its sentence.",
    _has_hierarchy,
    _hierarchy,
)
GATES = ViewKind(
    "gates",
    "Gates",
    "Gate activations of a recurrent layer at each step.",
    lambda subject: has_activations(subject, GATES_FAMILY),
    _gates,
    ("layer", "beam", "limit"),
)
