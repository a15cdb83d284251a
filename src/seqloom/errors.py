"""Every mistake a user can make: what is wrong, where, and what to do next.

The letter of a code says whose matter it is and gives the exit code of the command line:
U usage 2, D data 3, M model 4, T training 5, E the machine 6, S the studio 7.

The report that is kept when the program itself goes wrong.

The pages that explain error codes: what each means, what to do, and why it is so.

They are written in error_codes/*.toml, one table for each code, and read wherever they are shown:
on the command line, in the documentation and in the studio.
"""

import functools
import os
import platform
import tempfile
import tomllib
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar


def trace_of(error: BaseException) -> str:
    """Where in the program it went wrong."""
    return "".join(traceback.format_exception(error))


def save_report(error: BaseException, doing: str) -> Path:
    """Write what went wrong where the user can find it; in the temporary folder if need be."""
    head = f"seqloom {version('seqloom')}, Python {platform.python_version()}, "
    text = f"{head}{platform.platform()}\n{doing}\n\n{trace_of(error)}"
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seqloom"
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".txt", "crash-", folder)
    except (OSError, RuntimeError):
        handle, name = tempfile.mkstemp(".txt", "seqloom-crash-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)


@dataclass(frozen=True)
class Place:
    """Where in a file something is wrong, with the user's own line."""

    file: str
    line: int | None = None
    text: str | None = None
    mark: tuple[int, int] | None = None
    note: str = ""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def lines(self) -> list[str]:
        """The arrow, the user's line, and a mark under the part that is wrong."""
        told = [f"--> {self}"]
        if self.text is None or self.line is None:
            return told
        shown, start, end = _window(self.text, self.mark)
        number = str(self.line)
        told.append(f"{number} | {shown}")
        if self.mark is not None:
            carets = " " * start + "^" * max(1, end - start)
            told.append(f"{' ' * len(number)} | {carets} {self.note}".rstrip())
        return told


class SeqloomError(Exception):
    """Base of all user-facing errors: surfaces show it without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        place: Place | None = None,
        notes: Sequence[str] = (),
        help: Sequence[str] = (),
    ) -> None:
        self.code, self.problem, self.place = code, problem, place
        self.notes, self.help = tuple(notes), tuple(help)
        super().__init__(self.text())

    def text(self) -> str:
        """The whole message as plain text, for the terminal, the web and the studio alike."""
        lines = [f"error[{self.code}]: {self.problem}"]
        lines += [f"  {line}" for line in (self.place.lines() if self.place else [])]
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  help: {line}" for line in self.help]
        return "\n".join(lines)

    def with_help(self, line: str) -> "SeqloomError":
        """The same error with one more thing that can be done."""
        kind = type(self)
        return kind(
            self.code, self.problem, place=self.place, notes=self.notes, help=[*self.help, line]
        )

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        found: dict[str, Any] = {"code": self.code, "problem": self.problem}
        if self.place is not None:
            found["file"], found["line"] = self.place.file, self.place.line
        return {**found, "notes": list(self.notes), "help": list(self.help)}


class UsageError(SeqloomError):
    """The command or the recipe asks for something that does not exist."""

    exit_code = 2


class DataError(SeqloomError):
    """A data file cannot be read as the task expects."""

    exit_code = 3


class ModelError(SeqloomError):
    """A model cannot do what is asked of it, or its files are not right."""

    exit_code = 4


class TrainingError(SeqloomError):
    """Training cannot go on."""

    exit_code = 5


class MachineError(SeqloomError):
    """The machine stands in the way: disk, permission, memory."""

    exit_code = 6


class StudioError(SeqloomError):
    """The studio, or its web API, cannot do what is asked; `status` is what the web is told."""

    exit_code = 7

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        status: int = 422,
        place: Place | None = None,
        notes: Sequence[str] = (),
        help: Sequence[str] = (),
    ) -> None:
        super().__init__(code, problem, place=place, notes=notes, help=help)
        self.status = status


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice most like a misspelt name."""
    found = get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown(what: str, name: str, choices: Iterable[str]) -> UsageError:
    """An error for a misspelt name, with the nearest right one."""
    known = sorted(choices)
    near = nearest(name, known)
    hints = [f"did you mean {near!r}?"] if near else []
    return UsageError(
        "U002",
        f"there is no {what} called {name!r}",
        help=[*hints, f"choose from: {', '.join(known)}"],
    )


def _window(text: str, mark: tuple[int, int] | None, width: int = 72) -> tuple[str, int, int]:
    """At most `width` characters of a line around the mark, with controls made visible."""
    start, end = mark or (0, 0)
    first = max(0, min(start - width // 3, len(text) - width))
    cut = text[first : first + width]
    shown = "".join(
        _VISIBLE.get(c, c if c.isprintable() else "\N{REPLACEMENT CHARACTER}") for c in cut
    )
    before, after = "…" if first else "", "…" if first + width < len(text) else ""
    moved = len(before) - first
    return before + shown + after, start + moved, min(end + moved, len(before + shown))


_VISIBLE = {"\t": "⇥", "\r": "␍", "\0": "␀"}


@dataclass(frozen=True)
class Page:
    """All there is to say about one code."""

    code: str
    title: str
    what: str
    fix: str
    why: str


@functools.cache
def pages() -> dict[str, Page]:
    """Every page by its code: usage, data, models, training and the machine, in that order."""
    found: dict[str, Page] = {}
    for file in sorted((files(__package__) / "error_codes").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            for code, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
                if code in found:
                    raise ValueError(f"{file.name} explains {code} a second time")
                found[code] = Page(code, **table)
    return {code: found[code] for code in sorted(found, key=_place)}


def subject(code: str) -> str:
    """Whose matter a code is, by its letter."""
    return SUBJECTS[code[0]]


def _place(code: str) -> tuple[int, str]:
    return list(SUBJECTS).index(code[0]), code


SUBJECTS = {
    "U": "Usage: what was asked for does not exist",
    "D": "Data: a file cannot be read as the task expects, or looks odd",
    "M": "Models and runs",
    "T": "Training",
    "E": "The machine: disk, permission, memory",
    "S": "The studio and its web API",
}
