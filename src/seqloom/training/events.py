"""News from training, and the file that keeps it.

`events.jsonl` is only ever appended to, a line at a time. A run that was killed and resumed goes
back to its last checkpoint and says so in a `resume` event: what came after that step before is
then history that did not happen, and readers leave it out.
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
    """What happened, at which step, with the numbers or words that belong to it."""

    kind: Kind
    step: int
    values: dict[str, Any] = field(default_factory=dict)


class Story:
    """The event file of a run, open for appending."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        if _is_torn(path):
            self._file.write(b"\n")

    def append(self, event: Event) -> None:
        """Write one event and hand it to the system at once."""
        line = {"t": round(time.time(), 3), "kind": event.kind, "step": event.step, **event.values}
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(path: Path) -> list[dict[str, Any]]:
    """All that happened in a run: torn lines are left out, and so is what a resume undid."""
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
        except (ValueError, RecursionError):  # a line may be anything
            continue  # the last line of a killed process, or the empty piece after it
        if isinstance(event, dict) and {"kind", "step"} <= event.keys():
            yield event


def _is_torn(path: Path) -> bool:
    """Whether a killed process left a line without its end."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
