"""The lines of a text that stays on the disk."""

import codecs
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Int

from ..errors import DataError, Place
from .lazily import Lazy

PIECE = 1 << 22  # bytes that are looked at together
LINE_FEED = 10
# A line feed in these is one byte, and that byte is nothing else.
PLAIN = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252"}


class LinesOnDisk:
    """A file that is open for reading, and where each of its lines begins."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        marked = os.pread(self._file, len(codecs.BOM_UTF8), 0) == codecs.BOM_UTF8
        self._first = len(codecs.BOM_UTF8) if marked and encoding.startswith("utf-8") else 0
        self.ends = np.concatenate([[self._first - 1], *self._ends()])

    def lines(self) -> Lazy[str]:
        """The lines without their ends, each read when it is asked for."""
        return Lazy(self.line, np.arange(len(self.ends) - 1))

    def line(self, number: int) -> str:
        """One of them."""
        start, end = int(self.ends[number]) + 1, int(self.ends[number + 1])
        read = os.pread(self._file, end - start, start)
        if len(read) < end - start:
            raise DataError(
                "D027",
                f'"{self.path.name}" became shorter while it was read',
                place=Place(str(self.path), number + 1),
                help=["train again, and leave the file as it is until training ends"],
            )
        return read.decode(self.encoding, "replace").removesuffix("\r")

    def _ends(self) -> Iterator[Int[np.ndarray, " lines"]]:
        """Where lines end, piece by piece; the last may end with the file."""
        size = os.fstat(self._file).st_size
        start, last = self._first, -1
        while start < size:
            piece = os.pread(self._file, PIECE, start)
            found = np.flatnonzero(np.frombuffer(piece, np.uint8) == LINE_FEED) + start
            if len(found):
                last = int(found[-1])
                yield found
            start += len(piece)
        if last != size - 1:
            yield np.array([size])


def pieces_of_text(path: Path) -> Iterator[bytes]:
    """The bytes of a file, some at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
