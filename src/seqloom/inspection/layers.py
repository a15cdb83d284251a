"""Attention weights and activations by layer: from recorded arrays to named layers.

Each array belongs to the source or to the target of the input. Which one, its length on the sample
tells, where source and target differ in length.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..data.text.vocabulary import SPECIAL_TOKENS
from ..errors import UsageError
from ..signature import BEGIN, Form
from ..trace import Trace, TraceRecord
from .attribution.attention import join_blocks
from .context import TARGET_LENGTH, InspectedModel, Inspection
from .options import LAST

Side = Literal["source", "target", "whole"]
Matrix = Float[np.ndarray, "rows columns"]
_SILENT = {"body", "layers", "cell", "attention", "blocks"}  # parts of paths that say nothing
_WORDS = {"cross_attention": "cross-attention", "sentence_attention": "sentences"}


@dataclass(frozen=True)
class LayerAttention:
    """The attention weights of one layer, by head, and the sides of its queries and keys."""

    name: str
    path: str
    weights: Float[np.ndarray, "heads queries keys"]
    queries: Side
    keys: Side
    in_blocks: bool = False  # whether a long text was read in blocks


@dataclass(frozen=True)
class LayerActivations:
    """The activations of one layer at each step, by kind, and the side of the steps."""

    name: str
    path: str
    values: dict[str, Float[np.ndarray, "time cells"]]
    side: Side


def attention_layers(inspection: Inspection) -> list[LayerAttention]:
    """All layers that attend to tokens, in the order of the computation."""
    sides = dict(_attention_sides(inspection.subject))
    layers = []
    for key, record in _numbered(inspection.trace.of_kind("attention")):
        if key in sides:
            weights = _by_head(record, len(inspection.source))
            lengths = tuple(len(position_names(inspection, side)) for side in sides[key])
            if weights.shape[1:] == lengths:
                in_blocks = len(record.value) > 1
                layers.append(LayerAttention("", record.path, weights, *sides[key], in_blocks))
    return _with_attention_names(layers)


def sample_attention_layers(subject: InspectedModel) -> list[LayerAttention]:
    """The same layers on the sample."""
    sides = dict(_attention_sides(subject))
    records = _numbered(subject.sample_trace.of_kind("attention"))
    return _with_attention_names(
        [
            LayerAttention("", record.path, _by_head(record, subject.sample_length), *sides[key])
            for key, record in records
            if key in sides
        ]
    )


def has_attention(subject: InspectedModel) -> bool:
    """Whether any layer attends to tokens."""
    return any(True for _ in _attention_sides(subject))


def activation_layers(inspection: Inspection, family: str) -> list[LayerActivations]:
    """All layers that record a family of kinds, such as gate.*, at each step of a side."""
    sides = _activation_sides(inspection.subject, family)
    length = _block_length(inspection.subject, len(inspection.source))
    grouped = _grouped(inspection.trace, family, length)
    layers = []
    for path, (side, calls) in sides.items():
        time = len(position_names(inspection, side))
        kinds = grouped.get(path, {})
        if not any(len(values) != calls * time for values in kinds.values()):
            layers += _by_call(path, kinds, side, calls)
    return _with_activation_names(layers)


def sample_activation_layers(subject: InspectedModel, family: str) -> list[LayerActivations]:
    """The same layers on the sample."""
    length = _block_length(subject, subject.sample_length)
    grouped = _grouped(subject.sample_trace, family, length)
    layers: list[LayerActivations] = []
    for path, (side, calls) in _activation_sides(subject, family).items():
        layers += _by_call(path, grouped[path], side, calls)
    return _with_activation_names(layers)


def has_activations(subject: InspectedModel, family: str) -> bool:
    """Whether any layer records this family of kinds at each step."""
    return bool(_activation_sides(subject, family))


def position_names(inspection: Inspection, side: Side) -> list[str]:
    """Names of the positions of a side."""
    if side == "whole":
        return [inspection.task.show(inspection.answer)]
    return inspection.source if side == "source" else inspection.target


def input_names(inspection: Inspection, side: Side) -> list[str]:
    """Names of the inputs at the positions of a side: a decoder's are its outputs, shifted."""
    if side == "target":
        return [SPECIAL_TOKENS[BEGIN], *inspection.target[:-1]]
    return position_names(inspection, side)


def resolve_index(number: int, names: Sequence[str], what: str) -> int:
    """The index of a layer, head or cell that was chosen by number; LAST is the last."""
    if number == LAST:
        return len(names) - 1
    if number < len(names):
        return number
    listed = ", ".join(f"{index} {name}" for index, name in enumerate(names[:12]))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    raise UsageError(
        "U351",
        f"{what} {number}: there are {len(names)}, the first being 0",
        help=[f"they are: {listed}{more}"],
    )


def _by_call(
    path: str, kinds: dict[str, np.ndarray], side: Side, calls: int
) -> list[LayerActivations]:
    """The activations of each call of a layer: one that is shared runs several times."""
    if not kinds:
        return []
    time = len(next(iter(kinds.values()))) // calls
    layers = []
    for call in range(calls):
        steps = slice(call * time, (call + 1) * time)
        values = {kind: values[steps] for kind, values in kinds.items()}
        layers.append(LayerActivations(_activation_name(path, call, calls), path, values, side))
    return layers


def _with_attention_names(layers: list[LayerAttention]) -> list[LayerAttention]:
    names = _unique([_attention_name(layer) for layer in layers])
    return [replace(layer, name=name) for name, layer in zip(names, layers, strict=True)]


def _with_activation_names(layers: list[LayerActivations]) -> list[LayerActivations]:
    names = _unique([layer.name for layer in layers])
    return [replace(layer, name=name) for name, layer in zip(names, layers, strict=True)]


def _attention_sides(
    subject: InspectedModel,
) -> Iterator[tuple[tuple[str, int], tuple[Side, Side]]]:
    """The sides of queries and keys of each attention on the sample; none that fits no side."""
    known = set(subject.sample_trace.paths.values())
    for key, record in _numbered(subject.sample_trace.of_kind("attention")):
        *_, queries, keys = record.value.shape
        in_blocks = subject.is_causal and len(record.value) > 1
        rows = "source" if in_blocks else _side(queries, subject)
        columns = "source" if in_blocks else _side(keys, subject)
        if record.path in known and rows and columns and columns != "whole":
            yield key, (rows, columns)


def _activation_sides(subject: InspectedModel, family: str) -> dict[str, tuple[Side, int]]:
    """The side of each layer by path, and how many times the layer runs over it."""
    sides: dict[str, tuple[Side, int]] = {}
    length = _block_length(subject, subject.sample_length)
    for path, kinds in _grouped(subject.sample_trace, family, length).items():
        counts = {len(values) for values in kinds.values()}
        if len(counts) == 1:
            (count,) = counts
            for calls in range(1, count + 1):
                side = _side(count // calls, subject) if count % calls == 0 else None
                if side and side != "whole":
                    sides[path] = (side, calls)
                    break
    return sides


def _side(length: int, subject: InspectedModel) -> Side | None:
    sides: dict[int, Side] = {subject.sample_length: "source"}
    if subject.form is Form.TRANSDUCE:
        sides[TARGET_LENGTH] = "target"
    if subject.form is Form.WHOLE:
        sides[1] = "whole"
    return sides.get(length)


def _block_length(subject: InspectedModel, length: int) -> int:
    """The length of a text that may be read in blocks; 0 where there are no blocks."""
    return length if subject.is_causal else 0


def _grouped(trace: Trace, family: str, length: int) -> dict[str, dict[str, np.ndarray]]:
    """By path and kind, all rows that were recorded of a single sequence, concatenated.

    Blocks of a long text overlap by half: of all but the first only the second half counts.
    """
    grouped: dict[str, dict[str, list[np.ndarray]]] = {}
    several = set()
    for record in trace.of_kind(family):
        value = np.asarray(record.value, dtype=np.float64)
        rows = value[0] if value.ndim == 3 else value
        if len(value) != 1 and length and value.ndim == 3:
            half = value.shape[1] // 2
            rows = np.concatenate([rows, *(block[half:] for block in value[1:])])[:length]
        elif len(value) != 1:  # a batch of several sequences, such as the characters of words
            several.add(record.path)
            continue
        grouped.setdefault(record.path, {}).setdefault(record.kind, []).extend(rows)
    return {
        path: {kind: np.stack(values) for kind, values in kinds.items()}
        for path, kinds in grouped.items()
        if path not in several
    }


def _numbered(records: Sequence[TraceRecord]) -> Iterator[tuple[tuple[str, int], TraceRecord]]:
    """Each record with its path and the number of records before it with this path."""
    counts: dict[str, int] = {}
    for record in records:
        number = counts.get(record.path, 0)
        counts[record.path] = number + 1
        yield (record.path, number), record


def _by_head(record: TraceRecord, length: int) -> Float[np.ndarray, "heads queries keys"]:
    """The weights of each head; those of a text that was read in blocks are joined."""
    value = np.asarray(record.value, dtype=np.float64)
    heads = value if value.ndim == 4 else value[:, None]
    if len(heads) == 1:
        return np.asarray(heads[0])
    return np.stack([join_blocks(heads[:, head], length) for head in range(heads.shape[1])])


def _attention_name(layer: LayerAttention) -> str:
    name = _plain_name(layer.path)
    is_cross = layer.queries == "target" and layer.keys == "source"
    if is_cross and "cross-attention" not in name:
        return f"{name} cross-attention" if name != "layer" else "decoder cross-attention"
    return name


def _activation_name(path: str, call: int, calls: int) -> str:
    name = _plain_name(path)
    return f"{name}, pass {call + 1}" if calls > 1 else name


def _plain_name(path: str) -> str:
    """body.layers.0.cell is layer 1, encoder.backward_layers.1.cell is encoder 2 backward."""
    words: list[str] = []
    is_backward = False
    for part in path.split("."):
        is_backward |= part.startswith("backward")
        if re.fullmatch(r"\d+", part):
            words += ["layer"] * (not words) + [str(int(part) + 1)]
        elif part not in _SILENT and not part.startswith("backward"):
            words.append(_WORDS.get(part, part.replace("_", " ")))
    return " ".join([*(words or ["layer"]), *["backward"] * is_backward])


def _unique(names: list[str]) -> list[str]:
    """The names, with a number where several are the same."""
    unique: list[str] = []
    for name in names:
        same = sum(other == name or other.startswith(f"{name} (") for other in unique)
        unique.append(f"{name} ({same + 1})" if same else name)
    return unique
