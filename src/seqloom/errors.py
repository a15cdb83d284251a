"""Exceptions with error codes: each says what is wrong, where, and what to do.

Every error shown to a user is a `SeqloomError` with a code. The letter of the code is its subject
and gives the exit code of the command: U usage 2, D data 3, M model 4, T training 5, E the machine
6, S the studio 7. Each code has a page in error_codes/*.toml, which the command line, the
documentation and the studio show. For a bug in the program itself a crash report is saved.
"""

import errno
import functools
import os
import platform
import re
import shutil
import tempfile
import tomllib
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar


def trace_of(error: BaseException) -> str:
    """The traceback as text."""
    return "".join(traceback.format_exception(error))


def save_report(error: BaseException, doing: str) -> Path:
    """Save a crash report in the cache folder, or in the temporary folder if that fails."""
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
    """A location in a file, with the line of the file and the part that is wrong."""

    file: str
    line: int | None = None
    text: str | None = None
    mark: tuple[int, int] | None = None
    note: str = ""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def lines(self) -> list[str]:
        """An arrow with the location, the line, and carets under the part that is wrong."""
        lines = [f"--> {self}"]
        if self.text is None or self.line is None:
            return lines
        shown, start, end = _window(self.text, self.mark)
        number = str(self.line)
        lines.append(f"{number} | {shown}")
        if self.mark is not None:
            carets = " " * start + "^" * max(1, end - start)
            lines.append(f"{' ' * len(number)} | {carets} {self.note}".rstrip())
        return lines


class SeqloomError(Exception):
    """Base class of all user-facing errors, which are shown without a traceback."""

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
        """The whole message as plain text, for the terminal and the web."""
        lines = [f"error[{self.code}]: {self.problem}"]
        lines += [f"  {line}" for line in (self.place.lines() if self.place else [])]
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  help: {line}" for line in self.help]
        return visible_controls("\n".join(lines))

    def with_help(self, line: str) -> "SeqloomError":
        """The same error with a further line of help."""
        kind = type(self)
        return kind(
            self.code, self.problem, place=self.place, notes=self.notes, help=[*self.help, line]
        )

    def as_dict(self) -> dict[str, Any]:
        """The error as JSON."""
        facts: dict[str, Any] = {"code": self.code, "problem": self.problem}
        if self.place is not None:
            facts["file"], facts["line"] = self.place.file, self.place.line
        return {**facts, "notes": list(self.notes), "help": list(self.help)}


class OldNamesWarning(FutureWarning):
    """Warning: a recipe or a command has a name of an earlier version, which is still accepted."""


class UsageError(SeqloomError):
    """The command line or the recipe is invalid (exit code 2)."""

    exit_code = 2


class DataError(SeqloomError):
    """A data file cannot be read as the task expects (exit code 3)."""

    exit_code = 3


class ModelError(SeqloomError):
    """A model cannot do what is requested, or its files are invalid (exit code 4)."""

    exit_code = 4


class TrainingError(SeqloomError):
    """Training cannot continue (exit code 5)."""

    exit_code = 5


class MachineError(SeqloomError):
    """The machine prevents it: disk, permission, memory (exit code 6)."""

    exit_code = 6


class StudioError(SeqloomError):
    """The studio or its web API rejects a request; `status` is the HTTP status (exit code 7)."""

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


DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def disk_full(path: Path, needed: int = 0, notes: Sequence[str] = ()) -> MachineError:
    """The error for a full disk: the file, how much room is there, and what to do."""
    folder = next((place for place in path.absolute().parents if place.is_dir()), Path("/"))
    free = f"{shutil.disk_usage(folder).free / 1e6:,.2f} MB free in {folder}"
    return MachineError(
        "E301",
        f"disk full while saving {path}",
        notes=[f"{needed / 1e6:,.2f} MB needed, {free}" if needed else free, *notes],
        help=["free some space there, or save to another disk"],
    )


def cannot_save(path: Path, error: OSError) -> MachineError:
    """The error for a file that could not be written, other than one of a run."""
    if error.errno in DISK_FULL:
        return disk_full(path)
    help = "save to a folder that exists and that you may write to"
    if not path.parent.exists():
        help = f"make the folder first:  mkdir -p {quote(str(path.parent))}"
    reason = error.strerror or str(error)
    return MachineError("E302", f"cannot write {str(path)!r}: {reason}", help=[help])


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice that is most similar to a misspelt name."""
    matches = get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return matches[0] if matches else None


MAX_NAME = 80  # characters of a wrong name in a message


def unknown(what: str, name: object, choices: Iterable[str]) -> UsageError:
    """The error for an unknown name, with the nearest known one."""
    known, shown = sorted(choices), str(name)[:MAX_NAME]
    near = nearest(shown, known)
    hints = [f"did you mean {near!r}?"] if near else []
    return UsageError(
        "U002",
        f"there is no {what} called {shown!r}",
        help=[*hints, f"choose from: {', '.join(known)}"],
    )


def _window(text: str, mark: tuple[int, int] | None, width: int = 72) -> tuple[str, int, int]:
    """At most `width` characters of a line around the mark, with control characters visible."""
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
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible_controls(text: str) -> str:
    """The text with control characters as pictures, but for tabs and line feeds: ␛ for escape.

    A text of a file or an argument must not steer the terminal on which it is printed.
    """
    return _CONTROLS.sub(_control_picture, text)


def _control_picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Page:
    """The page of an error code: title, what it means, what to do, and why."""

    code: str
    title: str
    what: str
    fix: str
    why: str


@functools.cache
def pages() -> dict[str, Page]:
    """All pages by code, in the order of `SUBJECTS`."""
    by_code: dict[str, Page] = {}
    for file in sorted((files(__package__) / "error_codes").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            for code, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
                if code in by_code:
                    raise ValueError(f"{file.name} explains {code} a second time")
                by_code[code] = Page(code, **table)
    return {code: by_code[code] for code in sorted(by_code, key=_order)}


def subject(code: str) -> str:
    """The subject of a code, by its letter."""
    return SUBJECTS[code[0]]


def _order(code: str) -> tuple[int, str]:
    return list(SUBJECTS).index(code[0]), code


SUBJECTS = {
    "U": "Usage: the command line or the recipe",
    "D": "Data: files that cannot be read as the task expects, or look wrong",
    "M": "Models and runs",
    "T": "Training",
    "E": "The machine: disk, permission, memory",
    "S": "The studio and its web API",
}
