"""What is suspicious in data that can be read: each finding in words, with its lines."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from ..formats.base import count, listed

Level = Literal["problem", "warning", "note"]
RARE_LABEL = 5
_NOTES = {"D061", "D147"}  # of what was learned, what needs no change
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_TRAILING = re.compile(r"[ \t]$")


@dataclass(frozen=True)
class Finding:
    """One thing worth a look: a problem blocks training, a warning may spoil it."""

    level: Level
    code: str
    text: str
    lines: list[int]


@dataclass(frozen=True)
class Side:
    """The sequences of one role, as symbols, with the unit they are counted in.

    `notes` are what was odd when the symbols were learned: a sentence for each code.
    """

    role: str
    unit: str
    sequences: list[list[str]]
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """A file as the findings see it: examples in order, each with its line.

    `keys` is what is read and `answers` what is to be predicted; `labels` is empty unless the
    answers come from a closed set, and `raw` holds the lines of the file, or files, with their
    numbers. The lines of a continuous text may have any length.
    """

    task: str
    lines: list[int]
    sides: list[Side]
    keys: list[Hashable]
    answers: list[Hashable]
    labels: list[tuple[int, str]]
    raw: list[tuple[int, str]]
    max_length: int = 0
    continuous: bool = False


def find(view: View) -> list[Finding]:
    """All that is suspicious."""
    return [finding for finder in _FINDERS for finding in finder(view)]


def _duplicates(view: View) -> Iterator[Finding]:
    # Lines of running text repeat, as names do in a play: nothing is wrong with it.
    if view.task == "language":
        return
    pairs = zip(view.keys, view.answers, strict=True)
    seen: set[Hashable] = set()
    lines = []
    for line, pair in zip(view.lines, pairs, strict=True):
        if pair in seen:
            lines.append(line)
        seen.add(pair)
    if lines:
        say = f"{_rows(view, len(lines))} {_verb(lines, 'repeats', 'repeat')} an earlier one"
        yield Finding("warning", "D070", _at(say, lines), lines)


def _contradictions(view: View) -> Iterator[Finding]:
    if view.task == "language":
        return
    answers: dict[Hashable, set[Hashable]] = defaultdict(set)
    for key, answer in zip(view.keys, view.answers, strict=True):
        answers[key].add(answer)
    lines = [line for line, key in zip(view.lines, view.keys, strict=True) if len(answers[key]) > 1]
    if not lines:
        return
    name = "sentence" if view.task == "tag" else view.sides[0].role
    several = count(sum(len(found) > 1 for found in answers.values()), name)
    if view.task == "translate":
        say = f"{several} with more than one target: all of them count as right answers"
        yield Finding("note", "D071", _at(say, lines), lines)
    else:
        say = f"{several} with different {'tags' if view.task == 'tag' else 'labels'}"
        yield Finding("warning", "D071", _at(say, lines), lines)


def labels_alike(labels: Iterable[str]) -> list[list[str]]:
    """Labels that differ only by case or space, each group in order."""
    written: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        written[" ".join(label.casefold().split())].add(label)
    return [sorted(forms) for forms in written.values() if len(forms) > 1]


def _labels_alike(view: View) -> Iterator[Finding]:
    for forms in labels_alike(label for _, label in view.labels):
        lines = _lines_of(view, set(forms))
        say = f"labels that differ only by case or space: {', '.join(map(repr, forms))}"
        yield Finding("warning", "D072", _at(say, lines), lines)


def _rare_labels(view: View) -> Iterator[Finding]:
    counts = Counter(label for _, label in view.labels)
    rare = [label for label, number in counts.items() if number < RARE_LABEL]
    what = "word" if view.task == "tag" else "row"
    for label in rare[:3]:
        lines = _lines_of(view, {label})
        say = f'"{label}" has only {count(counts[label], what)}: expect poor recall'
        yield Finding("warning", "D073", _at(say, lines), lines)
    if len(rare) > 3:
        others = set(rare[3:])
        lines = _lines_of(view, others)
        say = f"{len(others):,} more labels have fewer than {RARE_LABEL} {what}s"
        yield Finding("warning", "D073", _at(say, lines), lines)


def _one_class(view: View) -> Iterator[Finding]:
    kinds = {label for _, label in view.labels}
    if len(kinds) == 1:
        say = f'all labels are "{next(iter(kinds))}": there is nothing to learn'
        is_problem = view.task == "classify" and len(set(view.answers)) == 1
        yield Finding("problem" if is_problem else "warning", "D074", say, [])


def _one_symbol(view: View) -> Iterator[Finding]:
    if view.task != "language" or view.continuous:
        return
    side = view.sides[0]
    together = zip(view.lines, side.sequences, strict=True)
    lines = [line for line, sequence in together if len(sequence) == 1]
    if lines:
        say = (
            f"{_rows(view, len(lines))} {_verb(lines, 'has', 'have')} one {side.unit[:-1]}: "
            "there is little to predict"
        )
        yield Finding("warning", "D040", _at(say, lines), lines)


def _learned(view: View) -> Iterator[Finding]:
    for side in view.sides:
        for code, text in side.notes.items():
            yield Finding("note" if code in _NOTES else "warning", code, text, [])


def _lengths(view: View) -> Iterator[Finding]:
    for side in () if view.continuous else view.sides:
        lines = _longer(view, side, float(view.max_length)) if view.max_length else []
        if lines:
            say = (
                f"{_rows(view, len(lines))} {_verb(lines, 'is', 'are')} longer than "
                f"{view.max_length:,} {side.unit}, the longest allowed"
            )
            yield Finding("warning", "D041", _at(say, lines), lines)
            continue
        typical = median(len(sequence) for sequence in side.sequences)
        lines = _longer(view, side, max(100.0, 10.0 * typical))
        if lines:
            say = (
                f"{_rows(view, len(lines))} {_verb(lines, 'is', 'are')} more than ten times as "
                f"long as the median ({typical:,g} {side.unit})"
            )
            yield Finding("warning", "D075", _at(say, lines), lines)


def _trailing(view: View) -> Iterator[Finding]:
    lines = sorted({n for n, line in view.raw if _TRAILING.search(line) and line.strip()})
    if lines:
        say = f"{count(len(lines), 'line')} {_verb(lines, 'ends', 'end')} with a space or a tab"
        yield Finding("warning", "D076", _at(say, lines), lines)


def _controls(view: View) -> Iterator[Finding]:
    marks = {number: found for number, line in view.raw if (found := _CONTROL.findall(line))}
    if lines := sorted(marks):
        found = sorted({mark for some in marks.values() for mark in some})
        names = ", ".join(f"U+{ord(mark):04X}" for mark in found[:5])
        hold = _verb(lines, "holds", "hold")
        say = f"{count(len(lines), 'line')} {hold} control characters: {names}"
        yield Finding("warning", "D077", _at(say, lines), lines)


def _rare_symbols(view: View) -> Iterator[Finding]:
    for side in view.sides:
        counts = Counter(symbol for sequence in side.sequences for symbol in sequence)
        once = sum(number == 1 for number in counts.values())
        # In running text about half of the words occur once; far more is a sign of noise.
        if len(counts) >= 100 and 3 * once > 2 * len(counts):
            share = round(100 * once / len(counts))
            say = (
                f"{share} % of the {len(counts):,} different {side.unit} in {side.role} occur "
                "only once: they teach a model little"
            )
            yield Finding("warning", "D078", say, [])


_FINDERS: Sequence[Callable[[View], Iterator[Finding]]] = (
    _duplicates,
    _contradictions,
    _labels_alike,
    _rare_labels,
    _one_class,
    _one_symbol,
    _learned,
    _lengths,
    _trailing,
    _controls,
    _rare_symbols,
)


def _lines_of(view: View, labels: set[str]) -> list[int]:
    """The lines that have one of these labels; a sentence with several is one line."""
    return sorted({line for line, label in view.labels if label in labels})


def _longer(view: View, side: Side, bound: float) -> list[int]:
    """The lines of the examples that have more symbols."""
    together = zip(view.lines, side.sequences, strict=True)
    return [line for line, sequence in together if len(sequence) > bound]


def _rows(view: View, number: int) -> str:
    """A number of examples, by the name they have in this task."""
    return count(number, {"tag": "sentence", "language": "line"}.get(view.task, "row"))


def _verb(lines: list[int], one: str, many: str) -> str:
    return one if len(lines) == 1 else many


def _at(text: str, lines: list[int]) -> str:
    """A sentence with the first of its lines."""
    return f"{text} ({'line' if len(lines) == 1 else 'lines'} {listed(lines)})"
