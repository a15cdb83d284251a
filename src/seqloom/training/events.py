"""The event log of training: `events.jsonl`.

Lines are only ever appended. A run that is resumed goes back to its last checkpoint and writes a
`resume` event; readers then drop the earlier events after that step.

A file may be damaged or made by somebody else, so readers trust none of it: a line that is no event
and a field of the wrong kind are left out.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..metrics import METRICS

MAX_NUMBER = 2**53  # of steps, counts and seconds; beyond it numbers are not exact everywhere

Kind = Literal["start", "resume", "train", "eval", "sample", "checkpoint", "warn", "end"]


@dataclass(frozen=True)
class Event:
    """A training event: its kind, the step, and its values."""

    kind: Kind
    step: int
    values: dict[str, Any] = field(default_factory=dict)


class EventLog:
    """The event log of a run, open for appending."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        if _is_incomplete(path):
            self._file.write(b"\n")

    def append(self, event: Event) -> None:
        """Write an event and flush it."""
        line = {"t": round(time.time(), 3), "kind": event.kind, "step": event.step, **event.values}
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a run, without incomplete lines and without events that a resume undid."""
    found: list[dict[str, Any]] = []
    for event in _lines(path) if path.is_file() else ():
        if event["kind"] == "resume":
            found = [old for old in found if not _is_undone(old, event)]
        found.append(event)
    return found


def _is_undone(old: dict[str, Any], resume: dict[str, Any]) -> bool:
    """Whether training went on from before an event, which then takes place again.

    An evaluation is undone, too, that was logged but was not yet in the checkpoint of its step.
    """
    if old["kind"] in ("eval", "sample"):
        return old["step"] > min(resume["step"], resume.get("evaluated_step", resume["step"]))
    return old["step"] > resume["step"] or old["kind"] == "end"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        # No event is also the last line of a killed process, and the empty rest after it.
        if (event := parse_event(line)) is not None:
            yield event


def first_wrong_line(path: Path) -> int | None:
    """The number of the first line that is no event, or has a field of the wrong kind.

    Lines that are not JSON are allowed: a killed process leaves incomplete ones.
    """
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        except RecursionError:
            return number
        known = _without_wrong_fields(event)
        if known is None or len(known) < len(event):
            return number
    return None


def parse_event(line: bytes) -> dict[str, Any] | None:
    """A line as an event, without fields of the wrong kind; None if it is no event."""
    try:
        return _without_wrong_fields(json.loads(line))
    except (ValueError, RecursionError):  # incomplete or not JSON
        return None


def _without_wrong_fields(event: Any) -> dict[str, Any] | None:
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None
    known = {name: value for name, value in event.items() if _fits(name, value)}
    return known if "step" in known else None


def _fits(name: str, value: Any) -> bool:
    """Whether a field has a value of the kind that readers expect; unknown fields may have any."""
    if name in METRICS:
        return isinstance(value, float) or _is_number(value)
    return FIELDS.get(name, lambda _: True)(value)


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and abs(value) <= MAX_NUMBER  # false of NaN, too


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_samples(value: Any) -> bool:
    """A list of tables of texts."""
    tables = value if isinstance(value, list) else [None]
    return all(isinstance(one, dict) and all(map(_is_text, one.values())) for one in tables)


FIELDS: dict[str, Callable[[Any], bool]] = {
    "step": _is_count,
    "size": _is_count,
    "best_step": _is_count,
    "evaluated_step": _is_count,
    "examples": _are_counts,
    "samples": _are_samples,
    **dict.fromkeys(("t", "began", "progress", "epoch", "seconds"), _is_number),
    **dict.fromkeys(("reason", "code", "problem", "file"), _is_text),
    **dict.fromkeys(("notes", "help"), _are_texts),
}


def _is_incomplete(path: Path) -> bool:
    """Whether the last line is incomplete, after a killed process."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
