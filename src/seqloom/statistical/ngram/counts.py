"""How often every n-gram was seen, counted within a bound of memory.

A gram of n symbols is one key: its context from the nearest symbol back, then the symbol that
followed, packed into as few 64-bit words as will do. Sorted so, the contexts of every length lie
together. What the bound cannot hold is written to the disk as sorted runs, and merged at the end
by reading each of them once, a piece at a time.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int, Shaped

from ...errors import MachineError

COPIES = 6  # sorting holds the rows as they came and sorted, their order, and a little more
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Packing:
    """How the symbols of a gram lie in the words of its key, the first in the highest bits."""

    order: int
    size: int  # symbols are 0 ... size-1

    @property
    def bits(self) -> int:
        """The bits of one symbol."""
        return max(1, (self.size - 1).bit_length())

    @property
    def per_word(self) -> int:
        """How many symbols one word holds."""
        return 64 // self.bits

    @property
    def words(self) -> int:
        """How many words a key has."""
        return -(-self.order // self.per_word)

    def pack(self, columns: Sequence[Int[np.ndarray, " rows"]]) -> Shaped[np.ndarray, "rows words"]:
        """The keys of grams, given symbol by symbol in the order of sorting."""
        keys = np.zeros((len(columns[0]), self.words), dtype=np.uint64)
        for place, column in enumerate(columns):
            keys[:, place // self.per_word] |= column.astype(np.uint64) << self._shift(place)
        return keys

    def column(self, keys: Shaped[np.ndarray, "rows words"], place: int) -> np.ndarray:
        """The symbols at one place of the keys."""
        mask = np.uint64((1 << self.bits) - 1)
        word = keys[:, place // self.per_word] >> self._shift(place)
        return (word & mask).astype(np.int64)

    def _shift(self, place: int) -> np.uint64:
        word, inside = divmod(place, self.per_word)
        here = min(self.per_word, self.order - word * self.per_word)  # the last word has the rest
        return np.uint64(self.bits * (here - 1 - inside))


@dataclass(frozen=True)
class Rows:
    """Keys with how often each was seen; sorted and without repetition unless it is said."""

    keys: Shaped[np.ndarray, "rows words"]
    times: Int[np.ndarray, " rows"]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return self.keys.nbytes + self.times.nbytes

    def part(self, start: int, end: int) -> "Rows":
        """Some of the rows, without a copy."""
        return Rows(self.keys[start:end], self.times[start:end])


@dataclass(frozen=True)
class Counts:
    """What was counted so far: rows in memory, in any order, and sorted runs on the disk.

    Two of them can be added; they share one folder, which goes when nobody needs it any more.
    """

    packing: Packing
    memory: int  # in bytes: more than this is never held at once while counting
    loose: tuple[Rows, ...] = ()
    runs: tuple["Stored", ...] = ()
    folder: "_Folder | None" = field(default=None, compare=False)

    def __add__(self, other: "Counts") -> "Counts":
        loose, runs = self.loose + other.loose, self.runs + other.runs
        both = replace(self, loose=loose, runs=runs, folder=self.folder or other.folder)
        if sum(rows.bytes for rows in loose) * COPIES <= self.memory:
            return both
        folded = fold(loose)
        if folded.bytes * COPIES * 2 <= self.memory:  # much was the same: room enough for more
            return replace(both, loose=(folded,))
        folder = both.folder or _Folder()
        written = _Written(folder.path, self.packing.words)
        written.append(folded)
        return replace(both, loose=(), runs=(*runs, written.stored()), folder=folder)

    def merged(self) -> Rows:
        """All rows, sorted; on the disk where runs had to be written."""
        if not self.runs:
            return fold(self.loose)
        loose = [fold(self.loose)] if self.loose else []
        folder = self.folder or _Folder()
        written = _Written(folder.path, self.packing.words)
        for rows in merge([*self.runs, *loose], self.packing, self.memory):
            written.append(rows)
        return written.stored().mapped()


def fold(pieces: Sequence[Rows]) -> Rows:
    """Rows in any order as sorted ones, the counts of equal keys summed."""
    keys = np.concatenate([rows.keys for rows in pieces])
    times = np.concatenate([rows.times for rows in pieces])
    if keys.shape[1] == 1 and (times == 1).all():  # keys alone are sorted many times quicker
        keys.sort(axis=0)
        first = np.flatnonzero(changes(keys))
        return Rows(keys[first], np.diff(first, append=len(times)))
    order = _order(keys)
    keys, times = keys[order], times[order]
    first = np.flatnonzero(changes(keys))
    return Rows(keys[first], np.add.reduceat(times, first) if len(first) else times)


def _order(keys: Shaped[np.ndarray, "rows words"]) -> Int[np.ndarray, " rows"]:
    """The order that sorts keys, word by word from the last; NumPy sorts small ones by digits."""
    order = np.arange(len(keys))
    for number in range(keys.shape[1] - 1, -1, -1):
        word = keys[order, number]
        word = word.astype(np.uint16) if word.max(initial=0) < 1 << 16 else word
        order = order[np.argsort(word, kind="stable")]
    return order


def changes(keys: Shaped[np.ndarray, "rows words"]) -> Bool[np.ndarray, " rows"]:
    """True where a row is not the one before it."""
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return new


def merge(runs: Sequence["Rows | Stored"], packing: Packing, memory: int) -> Iterator[Rows]:
    """Sorted runs as one, piece by piece: of each run only a little is held at a time.

    Of all pieces that are in sight, the one that ends first says how far the merging can go:
    no key beyond its end can still come before it.
    """
    a_row = 8 * (packing.words + 1)
    ahead = max(64, memory // (a_row * COPIES * len(runs)))
    places = [0] * len(runs)
    sight: dict[int, Rows] = {}
    while True:
        for i, run in enumerate(runs):
            if i not in sight and places[i] < len(run):
                sight[i] = run.part(places[i], places[i] + ahead)
                places[i] += len(sight[i])
        if not sight:
            return
        limit = min(tuple(rows.keys[-1].tolist()) for rows in sight.values())
        counts = {i: _up_to(rows.keys, limit) for i, rows in sight.items()}
        yield fold([rows.part(0, counts[i]) for i, rows in sight.items()])
        rest = {i: rows.part(counts[i], len(rows)) for i, rows in sight.items()}
        sight = {i: rows for i, rows in rest.items() if len(rows)}


def _up_to(keys: Shaped[np.ndarray, "rows words"], limit: tuple[int, ...]) -> int:
    """How many of the sorted keys are not beyond a limit."""
    start, end = 0, len(keys)
    for word, value in zip(keys.T, limit, strict=True):
        inside, wanted = word[start:end], np.uint64(value)
        right = start + int(np.searchsorted(inside, wanted, side="right"))
        start, end = start + int(np.searchsorted(inside, wanted, side="left")), right
    return end


@dataclass(frozen=True)
class Stored:
    """Sorted rows on the disk."""

    keys: Path
    times: Path
    words: int
    count: int

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, end: int) -> Rows:
        """Some of the rows, read into memory."""
        count = min(end, self.count) - start
        first = 8 * start
        keys = np.fromfile(self.keys, np.uint64, count * self.words, offset=first * self.words)
        return Rows(
            keys.reshape(-1, self.words), np.fromfile(self.times, np.int64, count, offset=first)
        )

    def mapped(self) -> Rows:
        """All rows, read from the disk only where they are looked at."""
        keys = np.memmap(self.keys, np.uint64, "r", shape=(self.count, self.words))
        return Rows(keys, np.memmap(self.times, np.int64, "r", shape=(self.count,)))


def _no_room(folder: Path, error: OSError) -> MachineError:
    return MachineError(
        "E301",
        f"cannot write counts to {folder} ({error.strerror or error})",
        help=["--set model.memory=N   count in N MiB of memory", "TMPDIR=FOLDER   count elsewhere"],
    )


class _Folder:
    """A folder that goes with the last who needs it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="seqloom-counts-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _Written:
    """Rows on the disk, appended to and then mapped into memory."""

    def __init__(self, folder: Path, words: int) -> None:
        number = len(list(folder.iterdir()))
        self._keys, self._times = folder / f"{number}.keys", folder / f"{number}.times"
        self._words, self._count = words, 0

    def append(self, rows: Rows) -> None:
        """Write more rows behind those that are there."""
        try:
            for path, array in ((self._keys, rows.keys), (self._times, rows.times)):
                with path.open("ab") as file:
                    np.ascontiguousarray(array).tofile(file)
        except OSError as error:
            raise _no_room(self._keys.parent, error) from error
        self._count += len(rows)

    def stored(self) -> "Stored":
        """All that was written."""
        return Stored(self._keys, self._times, self._words, self._count)
