"""A long text as parallel streams, cut into windows that gradients do not leave.

As with `Batches`, an epoch's windows depend on the seed and the number of the epoch alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ...batch import Batch, Item, Sequences
from ...errors import DataError
from ...signature import BEGIN


class Window(NamedTuple):
    """Where each row of a window begins in the text, and how many symbols it has."""

    starts: Int[np.ndarray, " rows"]
    length: int


class Windows:
    """Windows over a text, in its order or in any.

    In order, the text is cut into equal streams side by side, and each window goes on where the
    last one ended; the few symbols that would make the streams unequal are left out. In any order,
    the cuts lie elsewhere in every epoch.
    """

    def __init__(
        self, items: Sequence[Item], rows: int, length: int, seed: int, in_order: bool
    ) -> None:
        text = np.concatenate([item.target for item in items])
        self.rows, self.length, self.seed, self.in_order = rows, length, seed, in_order
        self._text = np.concatenate([[BEGIN], text])
        self.symbols = len(text)
        self._made: tuple[int, list[Window]] = (-1, [])
        if len(text) // rows < length:
            raise _too_short(len(text), rows, length)

    def epoch(self, number: int) -> list[Window]:
        """The windows of an epoch."""
        if self._made[0] != number:
            self._made = (number, self._side_by_side() if self.in_order else self._shuffled(number))
        return self._made[1]

    def batch(self, which: Window) -> Batch:
        """What is read in a window, and what is to be predicted."""
        places = which.starts[:, None] + np.arange(which.length)
        lengths = np.full(len(which.starts), which.length)
        source, target = self._text[places], self._text[places + 1]
        return Batch(Sequences(source, lengths), Sequences(target, lengths))

    def _side_by_side(self) -> list[Window]:
        stream = self.symbols // self.rows
        firsts = np.arange(self.rows) * stream
        return [
            Window(firsts + place, min(self.length, stream - place))
            for place in range(0, stream, self.length)
        ]

    def _shuffled(self, number: int) -> list[Window]:
        chance = np.random.default_rng([self.seed, number])
        spare = min(self.length, self.symbols - self.length + 1)
        starts = np.arange(chance.integers(spare), self.symbols - self.length + 1, self.length)
        starts = chance.permutation(starts)
        cuts = range(self.rows, len(starts), self.rows)
        return [Window(rows, self.length) for rows in np.split(starts, cuts)]


def one_stream(items: Iterable[Item], length: int) -> Iterator[Batch]:
    """The whole text as a single stream, window after window; few of its items are held at once."""
    held, symbols = [np.array([BEGIN])], 0
    for item in items:
        held.append(item.target)
        symbols += len(item.target)
        if symbols < length:
            continue
        text = np.concatenate(held)
        places = range(0, symbols - length + 1, length)
        yield from (_window(text[place : place + length + 1]) for place in places)
        held = [text[places[-1] + length :]]  # its first symbol is what the next is read after
        symbols = len(held[0]) - 1
    if symbols:
        yield _window(np.concatenate(held))


def _window(text: Int[np.ndarray, " symbols"]) -> Batch:
    """All but the last symbol as what is read, all but the first as what is to be predicted."""
    lengths = np.array([len(text) - 1])
    return Batch(Sequences(text[None, :-1], lengths), Sequences(text[None, 1:], lengths))


def _too_short(symbols: int, rows: int, length: int) -> DataError:
    fits = symbols // length
    streams = f"{rows} streams side by side need" if rows > 1 else "a stream needs"
    smaller = max(1, symbols // 4)
    return DataError(
        "D044",
        f"the training text has {symbols:,} symbols; {streams} {rows * length:,}, a window of"
        f" {length:,} each",
        help=[f"--set training.batch_size={fits}   fewer streams"] * (fits > 0)
        + [f"--set training.window={smaller} --set training.batch_size=1   a shorter window"],
    )
