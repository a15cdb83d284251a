"""From what blocks recorded to layers with names, each with the side of the question it is on.

Which side that is, the sample tells: there, what is read and what is written differ in length.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..data.text.vocabulary import SPECIAL
from ..errors import UsageError
from ..signature import BEGIN, Form
from ..trace import Record, Trace
from .attribution.attention import assembled
from .context import WRITTEN, Looking, Subject
from .options import LAST

Side = Literal["source", "target", "whole"]
Matrix = Float[np.ndarray, "rows columns"]
_SILENT = {"body", "layers", "cell", "attention", "blocks"}
_WORDS = {"cross_attention": "at the source", "sentence_attention": "sentences"}


@dataclass(frozen=True)
class Seen:
    """What one layer looked at: the weights of each head, and the sides of rows and columns."""

    name: str
    path: str
    weights: Float[np.ndarray, "heads rows columns"]
    rows: Side
    columns: Side
    in_blocks: bool = False  # whether a long text was read in pieces that see only themselves


@dataclass(frozen=True)
class Steps:
    """What one layer recorded at each step, by kind, and the side that the steps are on."""

    name: str
    path: str
    values: dict[str, Float[np.ndarray, "time cells"]]
    side: Side


def looks(looking: Looking) -> list[Seen]:
    """All layers that look at symbols, in the order of the computation."""
    sides = dict(_look_sides(looking.subject))
    found = []
    for key, record in _numbered(looking.trace.of_kind("attention")):
        if key in sides:
            weights = _whole(record, len(looking.source))
            if weights.shape[1:] == tuple(len(names_on(looking, one)) for one in sides[key]):
                in_blocks = len(record.value) > 1
                found.append(Seen("", record.path, weights, *sides[key], in_blocks))
    return _named_looks(found)


def sampled_looks(subject: Subject) -> list[Seen]:
    """The same layers while they read the sample."""
    sides = dict(_look_sides(subject))
    records = _numbered(subject.sample.of_kind("attention"))
    return _named_looks(
        [
            Seen("", record.path, _whole(record, subject.sample_places), *sides[key])
            for key, record in records
            if key in sides
        ]
    )


def can_look(subject: Subject) -> bool:
    """Whether anything in the model looks at symbols one by one."""
    return any(True for _ in _look_sides(subject))


def steps(looking: Looking, family: str) -> list[Steps]:
    """All layers that recorded something of a family, as gate.*, at each step of a side."""
    sides = _step_sides(looking.subject, family)
    grouped = _grouped(looking.trace, family, _length(looking.subject, len(looking.source)))
    found = []
    for path, (side, calls) in sides.items():
        time = len(names_on(looking, side))
        kinds = grouped.get(path, {})
        if not any(len(values) != calls * time for values in kinds.values()):
            found += _passes(path, kinds, side, calls)
    return _named_steps(found)


def sampled_steps(subject: Subject, family: str) -> list[Steps]:
    """The same layers while they read the sample."""
    grouped = _grouped(subject.sample, family, _length(subject, subject.sample_places))
    found: list[Steps] = []
    for path, (side, calls) in _step_sides(subject, family).items():
        found += _passes(path, grouped[path], side, calls)
    return _named_steps(found)


def can_step(subject: Subject, family: str) -> bool:
    """Whether any layer records something of this family at each step."""
    return bool(_step_sides(subject, family))


def names_on(looking: Looking, side: Side) -> list[str]:
    """What the places of a side are called."""
    if side == "whole":
        return [looking.task.show(looking.answer)]
    return looking.source if side == "source" else looking.target


def names_read(looking: Looking, side: Side) -> list[str]:
    """What is read at the places of a side: a decoder reads what it has written, one late."""
    if side == "target":
        return [SPECIAL[BEGIN], *looking.target[:-1]]
    return names_on(looking, side)


def chosen(number: int, names: Sequence[str], what: str) -> int:
    """The place of a layer, a head or a cell that was asked for by its number."""
    if number == LAST:
        return len(names) - 1
    if number < len(names):
        return number
    listed = ", ".join(f"{place} {name}" for place, name in enumerate(names[:12]))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    raise UsageError(
        "U351",
        f"{what} {number}: there are {len(names)}, the first being 0",
        help=[f"they are: {listed}{more}"],
    )


def _passes(path: str, kinds: dict[str, np.ndarray], side: Side, calls: int) -> list[Steps]:
    """What a layer recorded each time that it went over a side."""
    if not kinds:
        return []
    time = len(next(iter(kinds.values()))) // calls
    found = []
    for call in range(calls):
        here = slice(call * time, (call + 1) * time)
        values = {kind: values[here] for kind, values in kinds.items()}
        found.append(Steps(_step_name(path, call, calls), path, values, side))
    return found


def _named_looks(found: list[Seen]) -> list[Seen]:
    names = _unique([_look_name(one) for one in found])
    return [replace(one, name=name) for name, one in zip(names, found, strict=True)]


def _named_steps(found: list[Steps]) -> list[Steps]:
    names = _unique([one.name for one in found])
    return [replace(one, name=name) for name, one in zip(names, found, strict=True)]


def _look_sides(subject: Subject) -> Iterator[tuple[tuple[str, int], tuple[Side, Side]]]:
    """For each look of the sample, the sides of its rows and columns; none that fits no side."""
    known = set(subject.sample.paths.values())
    for key, record in _numbered(subject.sample.of_kind("attention")):
        *_, time, places = record.value.shape
        in_blocks = subject.goes_on and len(record.value) > 1
        rows = "source" if in_blocks else _side(time, subject)
        columns = "source" if in_blocks else _side(places, subject)
        if record.path in known and rows and columns and columns != "whole":
            yield key, (rows, columns)


def _step_sides(subject: Subject, family: str) -> dict[str, tuple[Side, int]]:
    """By its path the side on which a layer goes, and how often it goes over it."""
    found: dict[str, tuple[Side, int]] = {}
    for path, kinds in _grouped(
        subject.sample, family, _length(subject, subject.sample_places)
    ).items():
        counts = {len(values) for values in kinds.values()}
        if len(counts) == 1:
            (count,) = counts
            for calls in range(1, count + 1):
                side = _side(count // calls, subject) if count % calls == 0 else None
                if side and side != "whole":
                    found[path] = (side, calls)
                    break
    return found


def _side(places: int, subject: Subject) -> Side | None:
    sides: dict[int, Side] = {subject.sample_places: "source"}
    if subject.form is Form.TRANSDUCE:
        sides[WRITTEN] = "target"
    if subject.form is Form.WHOLE:
        sides[1] = "whole"
    return sides.get(places)


def _length(subject: Subject, read: int) -> int:
    """How long a text is that may be read in blocks; 0 where there are no blocks."""
    return read if subject.goes_on else 0


def _grouped(trace: Trace, family: str, read: int) -> dict[str, dict[str, np.ndarray]]:
    """By path and kind, all that was recorded one after another of a single sequence.

    Of a text that was read in blocks, which overlap by half, all but the first count from there.
    """
    found: dict[str, dict[str, list[np.ndarray]]] = {}
    several = set()
    for record in trace.of_kind(family):
        value = np.asarray(record.value, dtype=np.float64)
        rows = value[0] if value.ndim == 3 else value
        if len(value) != 1 and read and value.ndim == 3:
            half = value.shape[1] // 2
            rows = np.concatenate([rows, *(block[half:] for block in value[1:])])[:read]
        elif len(value) != 1:  # several sequences side by side, as the letters of words
            several.add(record.path)
            continue
        found.setdefault(record.path, {}).setdefault(record.kind, []).extend(rows)
    return {
        path: {kind: np.stack(values) for kind, values in kinds.items()}
        for path, kinds in found.items()
        if path not in several
    }


def _numbered(records: Sequence[Record]) -> Iterator[tuple[tuple[str, int], Record]]:
    """Each record with its path and how many came before it from there."""
    seen: dict[str, int] = {}
    for record in records:
        number = seen.get(record.path, 0)
        seen[record.path] = number + 1
        yield (record.path, number), record


def _whole(record: Record, read: int) -> Float[np.ndarray, "heads rows columns"]:
    """The weights of each head; of a text that was read in blocks, put together."""
    value = np.asarray(record.value, dtype=np.float64)
    heads = value if value.ndim == 4 else value[:, None]
    if len(heads) == 1:
        return np.asarray(heads[0])
    return np.stack([assembled(heads[:, head], read) for head in range(heads.shape[1])])


def _look_name(one: Seen) -> str:
    name = _plain_name(one.path)
    is_across = one.rows == "target" and one.columns == "source"
    if is_across and "source" not in name:
        return f"{name} at the source" if name != "layer" else "decoder at the source"
    return name


def _step_name(path: str, call: int, calls: int) -> str:
    name = _plain_name(path)
    return f"{name}, pass {call + 1}" if calls > 1 else name


def _plain_name(path: str) -> str:
    """body.layers.0.cell is layer 1, encoder.backward_layers.1.cell is encoder 2 backward."""
    words: list[str] = []
    back = False
    for part in path.split("."):
        back |= part.startswith("backward")
        if re.fullmatch(r"\d+", part):
            words += ["layer"] * (not words) + [str(int(part) + 1)]
        elif part not in _SILENT and not part.startswith("backward"):
            words.append(_WORDS.get(part, part.replace("_", " ")))
    return " ".join([*(words or ["layer"]), *["backward"] * back])


def _unique(names: list[str]) -> list[str]:
    """The names, with a number where several are the same."""
    found: list[str] = []
    for name in names:
        same = sum(other == name or other.startswith(f"{name} (") for other in found)
        found.append(f"{name} ({same + 1})" if same else name)
    return found
