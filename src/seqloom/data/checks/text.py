"""Data checks of text files: duplicates, contradictory or rare labels, lengths, and so on."""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import numpy as np
from jaxtyping import Int

from ..formats.base import format_lines, pluralize

Level = Literal["problem", "warning", "note"]
RARE_LABEL = 5
_NOTES = {"D061", "D147"}  # codes of tokenizer notes that are not warnings
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Finding:
    """Result of a data check: a problem prevents training, a warning may harm it."""

    level: Level
    code: str
    text: str
    lines: list[int]


@dataclass(frozen=True)
class Side:
    """The lengths and the tokens of one side: the source, the target, or the only one.

    `unit` is the kind of token in the plural, such as words. `notes` are what the tokenizer noted
    when it was fitted: a sentence for each code.
    """

    role: str
    unit: str
    lengths: Int[np.ndarray, " sequences"]
    counts: Mapping[str, int]
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        role: str,
        unit: str,
        sequences: Iterable[Sequence[str]],
        notes: Mapping[str, str] | None = None,
    ) -> "Side":
        """A side of token sequences, of which each is looked at once and not kept."""
        lengths = array("q")

        def measured() -> Iterator[Sequence[str]]:
            for sequence in sequences:
                lengths.append(len(sequence))
                yield sequence

        counts = Counter(chain.from_iterable(measured()))
        return cls(role, unit, np.array(lengths, dtype=np.int64), counts, notes or {})


@dataclass(frozen=True)
class CheckInput:
    """The input of the data checks: the examples of a file in order, each with its line.

    `keys` are the inputs and `answers` the outputs of the examples, which running text has not;
    `labels` is empty unless outputs are labels. `raw` are the lines of each file. The lines of a
    continuous text may have any length.
    """

    task: str
    lines: Int[np.ndarray, " examples"]
    sides: list[Side]
    keys: list[Hashable]
    answers: list[Hashable]
    labels: list[tuple[int, str]]
    raw: Sequence[Sequence[str]]
    max_length: int = 0
    continuous: bool = False


def text_findings(view: CheckInput) -> list[Finding]:
    """The findings of all checks."""
    return [finding for finder in _FINDERS for finding in finder(view)]


def _duplicates(view: CheckInput) -> Iterator[Finding]:
    # Lines of running text may repeat, such as the names in a play.
    if view.task == "language":
        return
    pairs = zip(view.keys, view.answers, strict=True)
    seen: set[Hashable] = set()
    lines = []
    for line, pair in zip(view.lines.tolist(), pairs, strict=True):
        if pair in seen:
            lines.append(line)
        seen.add(pair)
    if lines:
        text = f"{_rows(view, len(lines))} {_verb(lines, 'repeats', 'repeat')} an earlier one"
        yield Finding("warning", "D070", _at(text, lines), lines)


def _contradictions(view: CheckInput) -> Iterator[Finding]:
    if view.task == "language":
        return
    answers: dict[Hashable, set[Hashable]] = defaultdict(set)
    for key, answer in zip(view.keys, view.answers, strict=True):
        answers[key].add(answer)
    ordered = zip(view.lines.tolist(), view.keys, strict=True)
    lines = [line for line, key in ordered if len(answers[key]) > 1]
    if not lines:
        return
    name = "sentence" if view.task == "tag" else view.sides[0].role
    several = pluralize(sum(len(found) > 1 for found in answers.values()), name)
    if view.task == "translate":
        text = f"{several} with more than one target: all of them count as correct"
        yield Finding("note", "D071", _at(text, lines), lines)
    else:
        text = f"{several} with different {'tags' if view.task == 'tag' else 'labels'}"
        yield Finding("warning", "D071", _at(text, lines), lines)


def case_variants(labels: Iterable[str]) -> list[list[str]]:
    """Groups of labels that differ only by case or space."""
    variants: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        variants[" ".join(label.casefold().split())].add(label)
    return [sorted(forms) for forms in variants.values() if len(forms) > 1]


def _label_variants(view: CheckInput) -> Iterator[Finding]:
    for forms in case_variants(label for _, label in view.labels):
        lines = _lines_of(view, set(forms))
        text = f"labels that differ only by case or space: {', '.join(map(repr, forms))}"
        yield Finding("warning", "D072", _at(text, lines), lines)


def _rare_labels(view: CheckInput) -> Iterator[Finding]:
    counts = Counter(label for _, label in view.labels)
    rare = [label for label, number in counts.items() if number < RARE_LABEL]
    what = "word" if view.task == "tag" else "row"
    for label in rare[:3]:
        lines = _lines_of(view, {label})
        text = f'"{label}" has only {pluralize(counts[label], what)}: expect poor recall'
        yield Finding("warning", "D073", _at(text, lines), lines)
    if len(rare) > 3:
        others = set(rare[3:])
        lines = _lines_of(view, others)
        text = f"{len(others):,} more labels have fewer than {RARE_LABEL} {what}s"
        yield Finding("warning", "D073", _at(text, lines), lines)


def _one_class(view: CheckInput) -> Iterator[Finding]:
    kinds = {label for _, label in view.labels}
    if len(kinds) == 1:
        text = f'all labels are "{next(iter(kinds))}": there is nothing to learn'
        is_problem = view.task == "classify" and len(set(view.answers)) == 1
        yield Finding("problem" if is_problem else "warning", "D074", text, [])


def _single_tokens(view: CheckInput) -> Iterator[Finding]:
    if view.task != "language" or view.continuous:
        return
    side = view.sides[0]
    lines = view.lines[side.lengths == 1].tolist()
    if lines:
        text = (
            f"{_rows(view, len(lines))} {_verb(lines, 'has', 'have')} one {side.unit[:-1]}: "
            "there is little to predict"
        )
        yield Finding("warning", "D040", _at(text, lines), lines)


def _tokenizer_notes(view: CheckInput) -> Iterator[Finding]:
    for side in view.sides:
        for code, text in side.notes.items():
            yield Finding("note" if code in _NOTES else "warning", code, text, [])


def _lengths(view: CheckInput) -> Iterator[Finding]:
    for side in () if view.continuous else view.sides:
        lines = _longer(view, side, float(view.max_length)) if view.max_length else []
        if lines:
            text = (
                f"{_rows(view, len(lines))} {_verb(lines, 'is', 'are')} longer than "
                f"{view.max_length:,} {side.unit} (data.max_length)"
            )
            yield Finding("warning", "D041", _at(text, lines), lines)
            continue
        typical = float(np.median(side.lengths))
        lines = _longer(view, side, max(100.0, 10.0 * typical))
        if lines:
            text = (
                f"{_rows(view, len(lines))} {_verb(lines, 'is', 'are')} more than ten times as "
                f"long as the median ({typical:,g} {side.unit})"
            )
            yield Finding("warning", "D075", _at(text, lines), lines)


def _trailing(view: CheckInput) -> Iterator[Finding]:
    lines = sorted(
        {
            number
            for lines in view.raw
            for number, line in enumerate(lines, 1)
            if line.endswith((" ", "\t")) and not line.isspace()
        }
    )
    if lines:
        text = (
            f"{pluralize(len(lines), 'line')} {_verb(lines, 'ends', 'end')} with a space or a tab"
        )
        yield Finding("warning", "D076", _at(text, lines), lines)


def _controls(view: CheckInput) -> Iterator[Finding]:
    marks = {
        number: _CONTROL.findall(line)
        for lines in view.raw
        for number, line in enumerate(lines, 1)
        if not line.isprintable() and _CONTROL.search(line)
    }
    if lines := sorted(marks):
        found = sorted({mark for some in marks.values() for mark in some})
        names = ", ".join(f"U+{ord(mark):04X}" for mark in found[:5])
        hold = _verb(lines, "holds", "hold")
        text = f"{pluralize(len(lines), 'line')} {hold} control characters: {names}"
        yield Finding("warning", "D077", _at(text, lines), lines)


def _rare_tokens(view: CheckInput) -> Iterator[Finding]:
    for side in view.sides:
        counts = side.counts
        once = sum(number == 1 for number in counts.values())
        # In running text about half of the words occur once; far more is a sign of noise.
        if len(counts) >= 100 and 3 * once > 2 * len(counts):
            percent = round(100 * once / len(counts))
            text = (
                f"{percent} % of the {len(counts):,} different {side.unit} in {side.role} occur "
                "only once: a model learns little from them"
            )
            yield Finding("warning", "D078", text, [])


_FINDERS: Sequence[Callable[[CheckInput], Iterator[Finding]]] = (
    _duplicates,
    _contradictions,
    _label_variants,
    _rare_labels,
    _one_class,
    _single_tokens,
    _tokenizer_notes,
    _lengths,
    _trailing,
    _controls,
    _rare_tokens,
)


def _lines_of(view: CheckInput, labels: set[str]) -> list[int]:
    """The lines with one of these labels, each once."""
    return sorted({line for line, label in view.labels if label in labels})


def _longer(view: CheckInput, side: Side, bound: float) -> list[int]:
    """The lines of the examples that have more tokens."""
    longer: list[int] = view.lines[side.lengths > bound].tolist()
    return longer


def _rows(view: CheckInput, number: int) -> str:
    """A number of examples, named as in this task: sentences, lines or rows."""
    return pluralize(number, {"tag": "sentence", "language": "line"}.get(view.task, "row"))


def _verb(lines: list[int], one: str, many: str) -> str:
    return one if len(lines) == 1 else many


def _at(text: str, lines: list[int]) -> str:
    """A sentence with the first of the lines it is about."""
    return f"{text} ({'line' if len(lines) == 1 else 'lines'} {format_lines(lines)})"
