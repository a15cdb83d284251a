"""The pages that explain error codes: what each means, what to do, and why it is so.

They are written in error_codes/*.toml, one table for each code, and read wherever they are shown:
on the command line, in the documentation and in the studio.
"""

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files


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
