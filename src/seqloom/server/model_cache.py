"""LRU cache of loaded models, each with a lock: one thread at a time uses a model."""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..cancellation import check_cancelled
from ..errors import StudioError
from ..runs.names import RECIPE
from ..runs.run import WEIGHTS, Run, load

Stamp = tuple[int, ...]
POLL_SECONDS = 0.1


@dataclass
class _Entry:
    """One model, its lock, and the stamp of the files that it was loaded from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    run: Run | None = None
    stamp: Stamp = ()


class ModelCache:
    """At most `max_models` loaded runs; the least recently used one is evicted."""

    def __init__(self, max_models: int) -> None:
        self._max_models = max_models
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self, name: str, folder: Path) -> Iterator[Run]:
        """A run for this thread alone; reloaded if its weights have changed since."""
        entry = self._entry(name)
        with _locked(entry.lock):
            stamp = stamp_of(name, folder)
            if entry.run is None or entry.stamp != stamp:
                entry.run = None  # freed first: two copies may not fit into memory
                entry.run, entry.stamp = load(folder), stamp
            yield entry.run

    def ids(self) -> list[str]:
        """The ids of the loaded runs, most recently used first."""
        with self._lock:
            return [name for name, one in reversed(self._entries.items()) if one.run is not None]

    def forget(self, name: str) -> None:
        """Evict a run, because it is deleted or renamed."""
        with self._lock:
            self._entries.pop(name, None)

    def _entry(self, name: str) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            self._entries.move_to_end(name)
            while len(self._entries) > self._max_models:
                self._entries.popitem(last=False)  # a thread that uses it keeps its reference
            return entry


@contextlib.contextmanager
def _locked(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; a computation that is cancelled meanwhile waits no longer."""
    while not lock.acquire(timeout=POLL_SECONDS):
        check_cancelled()
    try:
        yield
    finally:
        lock.release()


def stamp_of(name: str, folder: Path) -> Stamp:
    """Modification times and sizes of weights and recipe; an error if there are no weights yet."""
    try:
        files = [(folder / part).stat() for part in (WEIGHTS, RECIPE)]
    except OSError:
        raise StudioError(
            "S262",
            f"{name} has no weights yet",
            status=409,
            notes=["Weights are saved at the first evaluation during training."],
        ) from None
    return tuple(number for file in files for number in (file.st_mtime_ns, file.st_size))
