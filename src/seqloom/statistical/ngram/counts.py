"""N-gram counts within a memory bound: packed keys, sorted runs on disk, external merge sort.

An n-gram is one key: its context from the nearest token back, then the token that followed, packed
into as few 64-bit words as will do. Sorted so, the contexts of every length lie together. What
exceeds the bound is written to the disk as sorted runs, which are merged at the end in one pass
that holds only a piece of each.
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
class KeyPacking:
    """How the token ids of an n-gram lie in the words of its key, the first in the highest bits.

    So the order of keys as unsigned integers is the lexicographic order of their tokens.
    """

    order: int
    size: int  # token ids are 0 ... size-1

    @property
    def bits(self) -> int:
        """The bits of one token."""
        return max(1, (self.size - 1).bit_length())

    @property
    def per_word(self) -> int:
        """How many tokens one word holds."""
        return 64 // self.bits

    @property
    def words(self) -> int:
        """How many words a key has."""
        return -(-self.order // self.per_word)

    def pack(self, columns: Sequence[Int[np.ndarray, " rows"]]) -> Shaped[np.ndarray, "rows words"]:
        """The keys of n-grams, given token by token in the order of sorting."""
        keys = np.zeros((len(columns[0]), self.words), dtype=np.uint64)
        for place, column in enumerate(columns):
            keys[:, place // self.per_word] |= column.astype(np.uint64) << self._shift(place)
        return keys

    def column(self, keys: Shaped[np.ndarray, "rows words"], place: int) -> np.ndarray:
        """The tokens at one position of the keys."""
        mask = np.uint64((1 << self.bits) - 1)
        word = keys[:, place // self.per_word] >> self._shift(place)
        return (word & mask).astype(np.int64)

    def _shift(self, place: int) -> np.uint64:
        word, inside = divmod(place, self.per_word)
        here = min(self.per_word, self.order - word * self.per_word)  # the last word has the rest
        return np.uint64(self.bits * (here - 1 - inside))


@dataclass(frozen=True)
class CountedKeys:
    """Keys and how often each was seen; sorted and distinct unless said otherwise."""

    keys: Shaped[np.ndarray, "rows words"]
    counts: Int[np.ndarray, " rows"]

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return self.keys.nbytes + self.counts.nbytes

    def part(self, start: int, end: int) -> "CountedKeys":
        """Some of the rows, without a copy."""
        return CountedKeys(self.keys[start:end], self.counts[start:end])


@dataclass(frozen=True)
class NGramCounts:
    """N-gram counts so far: unsorted rows in memory, and sorted runs on the disk.

    Two of them can be added; they share one folder, which is deleted with the last of them.
    """

    packing: KeyPacking
    memory: int  # in bytes: more than this is never held at once while counting
    unsorted: tuple[CountedKeys, ...] = ()
    runs: tuple["StoredRun", ...] = ()
    folder: "_TemporaryFolder | None" = field(default=None, compare=False)

    def __add__(self, other: "NGramCounts") -> "NGramCounts":
        unsorted, runs = self.unsorted + other.unsorted, self.runs + other.runs
        both = replace(self, unsorted=unsorted, runs=runs, folder=self.folder or other.folder)
        if sum(rows.bytes for rows in unsorted) * COPIES <= self.memory:
            return both
        merged = aggregate(unsorted)
        if merged.bytes * COPIES * 2 <= self.memory:  # many keys were equal: room enough for more
            return replace(both, unsorted=(merged,))
        folder = both.folder or _TemporaryFolder()
        writer = _RunWriter(folder.path, self.packing.words)
        writer.append(merged)
        return replace(both, unsorted=(), runs=(*runs, writer.stored()), folder=folder)

    def merged(self) -> CountedKeys:
        """All rows, sorted; on the disk where runs had to be written."""
        if not self.runs:
            return aggregate(self.unsorted)
        rest = [aggregate(self.unsorted)] if self.unsorted else []
        folder = self.folder or _TemporaryFolder()
        writer = _RunWriter(folder.path, self.packing.words)
        for rows in merge([*self.runs, *rest], self.packing, self.memory):
            writer.append(rows)
        return writer.stored().mapped()


def aggregate(pieces: Sequence[CountedKeys]) -> CountedKeys:
    """Sort rows and sum the counts of equal keys."""
    keys = np.concatenate([rows.keys for rows in pieces])
    counts = np.concatenate([rows.counts for rows in pieces])
    # Fresh text has a count of 1 everywhere, so counts follow from the sorted keys alone. Sorting
    # integers in place is many times quicker than an argsort and two gathers.
    if keys.shape[1] == 1 and (counts == 1).all():
        keys.sort(axis=0)
        first = np.flatnonzero(is_new(keys))
        return CountedKeys(keys[first], np.diff(first, append=len(counts)))
    order = _sort_order(keys)
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(is_new(keys))
    return CountedKeys(keys[first], np.add.reduceat(counts, first) if len(first) else counts)


def _sort_order(keys: Shaped[np.ndarray, "rows words"]) -> Int[np.ndarray, " rows"]:
    """The order that sorts keys: a stable sort word by word from the last one on.

    Words below 2^16 are narrowed first: NumPy's stable sort of 16-bit integers is a radix sort.
    """
    order = np.arange(len(keys))
    for number in range(keys.shape[1] - 1, -1, -1):
        word = keys[order, number]
        word = word.astype(np.uint16) if word.max(initial=0) < 1 << 16 else word
        order = order[np.argsort(word, kind="stable")]
    return order


def is_new(keys: Shaped[np.ndarray, "rows words"]) -> Bool[np.ndarray, " rows"]:
    """True where a row differs from the one before it."""
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return new


def merge(
    runs: Sequence["CountedKeys | StoredRun"], packing: KeyPacking, memory: int
) -> Iterator[CountedKeys]:
    """Merge sorted runs, piece by piece: of each run only a little is held at a time.

    Of all pieces in memory, the one that ends first says how far the merge can go: no key up to its
    end can still come from any run.
    """
    row_bytes = 8 * (packing.words + 1)
    ahead = max(64, memory // (row_bytes * COPIES * len(runs)))
    places = [0] * len(runs)
    buffers: dict[int, CountedKeys] = {}
    while True:
        for i, run in enumerate(runs):
            if i not in buffers and places[i] < len(run):
                buffers[i] = run.part(places[i], places[i] + ahead)
                places[i] += len(buffers[i])
        if not buffers:
            return
        limit = min(tuple(rows.keys[-1].tolist()) for rows in buffers.values())
        counts = {i: _up_to(rows.keys, limit) for i, rows in buffers.items()}
        yield aggregate([rows.part(0, counts[i]) for i, rows in buffers.items()])
        rest = {i: rows.part(counts[i], len(rows)) for i, rows in buffers.items()}
        buffers = {i: rows for i, rows in rest.items() if len(rows)}


def _up_to(keys: Shaped[np.ndarray, "rows words"], limit: tuple[int, ...]) -> int:
    """How many of the sorted keys are not beyond a limit: bisection, word by word."""
    start, end = 0, len(keys)
    for word, value in zip(keys.T, limit, strict=True):
        inside, wanted = word[start:end], np.uint64(value)
        right = start + int(np.searchsorted(inside, wanted, side="right"))
        start, end = start + int(np.searchsorted(inside, wanted, side="left")), right
    return end


@dataclass(frozen=True)
class StoredRun:
    """Sorted rows on the disk."""

    keys: Path
    counts: Path
    words: int
    count: int

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, end: int) -> CountedKeys:
        """Some of the rows, read into memory."""
        count = min(end, self.count) - start
        first = 8 * start
        keys = np.fromfile(self.keys, np.uint64, count * self.words, offset=first * self.words)
        return CountedKeys(
            keys.reshape(-1, self.words), np.fromfile(self.counts, np.int64, count, offset=first)
        )

    def mapped(self) -> CountedKeys:
        """All rows as memory-mapped arrays."""
        keys = np.memmap(self.keys, np.uint64, "r", shape=(self.count, self.words))
        return CountedKeys(keys, np.memmap(self.counts, np.int64, "r", shape=(self.count,)))


def _no_room(folder: Path, error: OSError) -> MachineError:
    return MachineError(
        "E301",
        f"cannot write counts to {folder} ({error.strerror or error})",
        help=["--set model.memory=N   count in N MiB of memory", "TMPDIR=FOLDER   count elsewhere"],
    )


class _TemporaryFolder:
    """A folder that is deleted with the last object that refers to it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="seqloom-counts-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _RunWriter:
    """Appends rows to files on the disk."""

    def __init__(self, folder: Path, words: int) -> None:
        number = len(list(folder.iterdir()))
        self._keys, self._counts = folder / f"{number}.keys", folder / f"{number}.times"
        self._words, self._count = words, 0

    def append(self, rows: CountedKeys) -> None:
        """Append rows to those that are there."""
        try:
            for path, array in ((self._keys, rows.keys), (self._counts, rows.counts)):
                with path.open("ab") as file:
                    np.ascontiguousarray(array).tofile(file)
        except OSError as error:
            raise _no_room(self._keys.parent, error) from error
        self._count += len(rows)

    def stored(self) -> "StoredRun":
        """All that was written."""
        return StoredRun(self._keys, self._counts, self._words, self._count)
