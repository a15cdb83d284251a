"""Another name for a run: the work behind `seqloom rename`."""

import os
from pathlib import Path

from .errors import UsageError
from .fitting import new_folder
from .recipe import Recipe
from .run import CARD
from .training.checkpoints import cannot_write, locked, write_whole


def rename(folder: Path, name: str) -> Path:
    """Give a run another name beside its own; refused while it is trained, or where that is taken.

    Its card begins with the name, so it is written anew.
    """
    if not name:
        raise UsageError("U009", "a run cannot be called nothing: use a-z, 0-9 and -")
    target = new_folder(Recipe(), name, folder.parent)
    if os.path.lexists(target):
        raise UsageError("U009", f"there is a folder called {name!r} already")
    with locked(folder):
        try:
            folder.rename(target)
        except OSError as error:
            raise cannot_write(target, error) from error
        _retitle(target / CARD, folder.name, name)
    return target


def _retitle(card: Path, old: str, new: str) -> None:
    """The first line of a card is the name; one that somebody has changed stays as it is."""
    if card.is_file():
        title, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("\n")
        if title == f"# {old}":
            write_whole(card, f"# {new}\n{rest}".encode())
