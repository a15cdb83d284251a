"""Views of what blocks record while they work: attention, hierarchy, gates."""

from collections.abc import Sequence

import numpy as np

from ..views import AttentionView, GatesView, HeadsView, HierarchyView
from ..views.heads import Head, Layer
from .base import Kind
from .context import Looking, Subject
from .layers import Seen, can_look, can_step, chosen, looks, names_on, names_read, steps
from .options import LAST

GATES_FAMILY = "gate.*"


def _attention(looking: Looking) -> AttentionView:
    """One layer, one head or the mean of all."""
    layers, options = looks(looking), looking.options
    names = [layer.name for layer in layers]
    number = chosen(options.layer, names, "layer")
    layer = layers[number]
    heads = len(layer.weights)
    head = LAST
    if options.head != LAST:
        head = chosen(options.head, [f"head {n}" for n in range(heads)], "head")
    weights = layer.weights.mean(0) if head == LAST else layer.weights[head]
    told = f"the mean of its {heads} heads" if heads > 1 else ""
    told = f"head {head} of {heads}" if head != LAST and heads > 1 else told
    notes = [", ".join(filter(None, [layer.path, told]))] if told or len(layers) > 1 else []
    notes += ["a long text is read in blocks, of which none sees another"] * layer.in_blocks
    return AttentionView(
        _columns(looking, layer),
        names_on(looking, layer.rows),
        weights,
        looking.name,
        notes,
        layers=names,
        layer=number,
        heads=heads,
        head=head,
        rail="tgt" if layer.rows == "target" else "src",
    )


def _columns(looking: Looking, layer: Seen) -> list[str]:
    """What is looked at: a decoder that looks at itself sees what it has read."""
    return names_read(looking, layer.columns)


def _heads(looking: Looking) -> HeadsView:
    layers = [
        Layer(
            one.name,
            _columns(looking, one),
            names_on(looking, one.rows),
            [Head.of(w, is_same=one.rows == one.columns) for w in one.weights],
        )
        for one in looks(looking)
    ]
    return HeadsView(layers, looking.source, looking.target, looking.name)


def _hierarchy(looking: Looking) -> HierarchyView:
    """How much each sentence counts, and each word of it."""
    words, sentences, numbers = (
        looking.trace.of_kind(f"hierarchy.{kind}")[-1].value[0]
        for kind in ("words", "sentences", "numbers")
    )
    source = looking.source
    cuts = [np.flatnonzero(numbers[: len(source)] == n) for n in np.unique(numbers)]
    weights = sentences[: len(cuts)]
    read = [[source[place] for place in places] for places in cuts]
    return HierarchyView(read, weights, [words[places] for places in cuts], looking.name)


def _gates(looking: Looking) -> GatesView:
    """The gates of one layer: of the last that reads from the left, unless another is chosen."""
    layers = steps(looking, GATES_FAMILY)
    names = [layer.name for layer in layers]
    number = chosen(looking.options.layer, names, "layer")
    if looking.options.layer == LAST:
        number = last_forward(names)
    layer = layers[number]
    symbols = names_read(looking, layer.side)
    notes = (f"cell {layer.path}",)
    return GatesView(symbols, layer.values, looking.name, notes, layers=names, layer=number)


def last_forward(names: Sequence[str]) -> int:
    """The last layer that reads from the left."""
    return max(n for n, name in enumerate(names) if "backward" not in name)


def _has_hierarchy(subject: Subject) -> bool:
    return bool(subject.sample.of_kind("hierarchy.*"))


ATTENTION = Kind(
    "attention",
    "Attention",
    "Where each symbol looks while the model reads or writes, by layer and head.",
    can_look,
    _attention,
    ("layer", "head", "beam"),
)
HEADS = Kind(
    "heads",
    "All heads",
    "Every head of every layer side by side, each with what it does in a word.",
    can_look,
    _heads,
    ("beam",),
)
HIERARCHY = Kind(
    "hierarchy",
    "Sentences and words",
    "How much each sentence counts for the answer, and each word in its sentence.",
    _has_hierarchy,
    _hierarchy,
)
GATES = Kind(
    "gates",
    "Gates",
    "How the gates of a recurrent layer open and shut while it reads.",
    lambda subject: can_step(subject, GATES_FAMILY),
    _gates,
    ("layer", "beam"),
)
