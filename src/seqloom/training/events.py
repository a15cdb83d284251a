"""The event log of training: `events.jsonl`.

Lines are only ever appended. A run that is resumed goes back to its last checkpoint and writes a
`resume` event; readers then drop the earlier events after that step.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
    for event in _lines(path) if path.exists() else ():
        if event["kind"] == "resume":
            found = [old for old in found if old["step"] <= event["step"] and old["kind"] != "end"]
        found.append(event)
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # incomplete or not JSON
            continue  # the last line of a killed process, or the empty rest after it
        if isinstance(event, dict) and {"kind", "step"} <= event.keys():
            yield event


def _is_incomplete(path: Path) -> bool:
    """Whether the last line is incomplete, after a killed process."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
