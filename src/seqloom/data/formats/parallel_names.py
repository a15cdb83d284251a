"""Brace names of parallel files: train.{de,en} is train.de and train.en.

Recipes, commands and Python accept them wherever they accept the name of a file. A shell that
expands the braces passes two names, which commands join again.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import UsageError

_BRACES = re.compile(r"\{([^{}]*)\}")


def files_of(name: str | Path) -> list[Path]:
    """The files of a name: one, unless it has braces and no file has this name."""
    text = str(name)
    found = next((braces for braces in _BRACES.finditer(text) if "," in braces[1]), None)
    if found is None or os.path.lexists(text):
        return [Path(text)]
    before, after = text[: found.start()], text[found.end() :]
    return [Path(f"{before}{part}{after}") for part in found[1].split(",")]


def name_of(files: Sequence[str | Path]) -> str:
    """The brace name of some files; empty for no files."""
    texts = [str(file) for file in files]
    if len(texts) < 2:
        return "".join(texts)
    # Whole words go into the braces: train.{de,en}, not train.{d,n}e.
    before = re.sub(r"\w*$", "", os.path.commonprefix(texts))
    rests = [text[len(before) :] for text in texts]
    after = re.sub(r"\w*$", "", os.path.commonprefix([rest[::-1] for rest in rests]))[::-1]
    parts = [rest[: len(rest) - len(after)] for rest in rests]
    name = f"{before}{{{','.join(parts)}}}{after}"
    if files_of(name) != [Path(text) for text in texts]:
        raise UsageError(
            "U081",
            f"{' and '.join(texts)} have no common brace name",
            help=["give them names without commas and braces"],
        )
    return name
