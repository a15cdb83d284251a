"""The models that are in memory: the last few that were used, each used by one thread at a time."""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import StudioError
from ..runs.run import RECIPE, WEIGHTS, Run, load

Stamp = tuple[int, ...]


@dataclass
class _Entry:
    """One model, its lock, and the state of the files that it was loaded from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    run: Run | None = None
    stamp: Stamp = ()


class Loaded:
    """Runs with their models; who was not asked for the longest time makes room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self, name: str, folder: Path) -> Iterator[Run]:
        """A run for this thread alone; loaded again where training has improved its weights."""
        entry = self._entry(name)
        with entry.lock:
            stamp = stamp_of(name, folder)
            if entry.run is None or entry.stamp != stamp:
                entry.run = None  # room for the new one
                entry.run, entry.stamp = load(folder), stamp
            yield entry.run

    def ids(self) -> list[str]:
        """Those that are loaded, the last used first."""
        with self._lock:
            return [name for name, one in reversed(self._entries.items()) if one.run is not None]

    def forget(self, name: str) -> None:
        """The run is deleted."""
        with self._lock:
            self._entries.pop(name, None)

    def _entry(self, name: str) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            self._entries.move_to_end(name)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)  # who uses it still has it until they are done
            return entry


def stamp_of(name: str, folder: Path) -> Stamp:
    """Changes whenever a model would be another one; an error where there is none yet."""
    try:
        files = [(folder / part).stat() for part in (WEIGHTS, RECIPE)]
    except OSError:
        raise StudioError(
            "S262",
            f"{name} has no weights yet",
            status=409,
            notes=["They are kept at the first evaluation of a training."],
        ) from None
    return tuple(number for file in files for number in (file.st_mtime_ns, file.st_size))
