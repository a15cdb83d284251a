"""The name of two parallel files as one: train.{de,en} is train.de and train.en, line by line.

Whatever takes the name of a file takes such a name too: recipes, commands, Python. A shell that
opens the braces by itself gives two names, which commands put together again.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import UsageError

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def files_of(name: str | Path) -> list[Path]:
    """The files that a name stands for: one, unless it has braces and is not itself a file."""
    text = str(name)
    found = _BRACES.search(text)
    if found is None or os.path.lexists(text):
        return [Path(text)]
    before, after = text[: found.start()], text[found.end() :]
    return [Path(f"{before}{part}{after}") for part in found[1].split(",")]


def name_of(files: Sequence[str | Path]) -> str:
    """One name for some files: what differs stands in braces; nothing for none."""
    texts = [str(file) for file in files]
    if len(texts) < 2:
        return "".join(texts)
    # Whole words stand in the braces: train.{de,en}, not train.{d,n}e.
    before = re.sub(r"\w*$", "", os.path.commonprefix(texts))
    rests = [text[len(before) :] for text in texts]
    after = re.sub(r"\w*$", "", os.path.commonprefix([rest[::-1] for rest in rests]))[::-1]
    parts = [rest[: len(rest) - len(after)] for rest in rests]
    name = f"{before}{{{','.join(parts)}}}{after}"
    if files_of(name) != [Path(text) for text in texts]:
        raise UsageError(
            "U081",
            f"{' and '.join(texts)} cannot be named together",
            help=["give them names without commas and braces"],
        )
    return name
