"""Truncated BPTT (backpropagation through time): a continuous text as streams of segments.

The text is one long token sequence. It is cut into parallel streams, and the streams into segments
of equal length; gradients do not flow from one segment back into the one before. As with
`BucketLoader`, the segments of an epoch depend on the seed and the epoch number alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ...batch import Batch, Item, Sequences
from ...errors import DataError
from ...signature import BEGIN
from .batching import digest_of


class BPTTSegment(NamedTuple):
    """One batch of truncated BPTT: where each row begins in the text, and its number of tokens."""

    starts: Int[np.ndarray, " rows"]
    length: int


class BPTTLoader:
    """Data loader for truncated BPTT: segments of a text, in its order or shuffled.

    In order, for models that carry their state: the text is cut into `batch_size` equal streams,
    and each segment goes on where the one before ended. The few tokens that would make the streams
    unequal are left out. Shuffled, for models without a state: the text is cut at another offset
    in every epoch.
    """

    def __init__(
        self, items: Sequence[Item], batch_size: int, length: int, seed: int, in_order: bool
    ) -> None:
        text = np.concatenate([item.target for item in items])
        self.batch_size, self.length = batch_size, length
        self.seed, self.in_order = seed, in_order
        self._text = np.concatenate([[BEGIN], text])
        self.num_tokens = len(text)
        self._cached: tuple[int, list[BPTTSegment]] = (-1, [])
        if len(text) // batch_size < length:
            raise _too_short(len(text), batch_size, length)

    def digest(self) -> str:
        """A digest of the text and the options that determine the segments of every epoch."""
        options = self.batch_size, self.length, self.seed, self.in_order
        return digest_of(options, self._text)

    def epoch(self, number: int) -> list[BPTTSegment]:
        """The segments of an epoch, each a batch."""
        if self._cached[0] != number:
            segments = self._in_order() if self.in_order else self._shuffled(number)
            self._cached = (number, segments)
        return self._cached[1]

    def batch(self, which: BPTTSegment) -> Batch:
        """The input tokens of a segment, and as targets the tokens one position later."""
        positions = which.starts[:, None] + np.arange(which.length)
        lengths = np.full(len(which.starts), which.length)
        source, target = self._text[positions], self._text[positions + 1]
        return Batch(Sequences(source, lengths), Sequences(target, lengths))

    def _in_order(self) -> list[BPTTSegment]:
        stream = self.num_tokens // self.batch_size  # tokens of each stream
        firsts = np.arange(self.batch_size) * stream
        return [
            BPTTSegment(firsts + offset, min(self.length, stream - offset))
            for offset in range(0, stream, self.length)
        ]

    def _shuffled(self, number: int) -> list[BPTTSegment]:
        rng = np.random.default_rng([self.seed, number])
        last = self.num_tokens - self.length + 1
        # A random offset below one segment: no token is always the first of its segment, where
        # a model has no context.
        starts = np.arange(rng.integers(min(self.length, last)), last, self.length)
        starts = rng.permutation(starts)
        bounds = range(self.batch_size, len(starts), self.batch_size)
        return [BPTTSegment(rows, self.length) for rows in np.split(starts, bounds)]


def one_stream(items: Iterable[Item], length: int) -> Iterator[Batch]:
    """The whole text as one stream of segments, for evaluation; few items are held in memory."""
    held, count = [np.array([BEGIN])], 0
    for item in items:
        held.append(item.target)
        count += len(item.target)
        if count < length:
            continue
        text = np.concatenate(held)
        starts = range(0, count - length + 1, length)
        yield from (_segment(text[start : start + length + 1]) for start in starts)
        # The last target is kept: it is the first input of the next segment.
        held = [text[starts[-1] + length :]]
        count = len(held[0]) - 1
    if count:
        yield _segment(np.concatenate(held))


def _segment(text: Int[np.ndarray, " tokens"]) -> Batch:
    """All tokens but the last as the input, all but the first as the target."""
    lengths = np.array([len(text) - 1])
    return Batch(Sequences(text[None, :-1], lengths), Sequences(text[None, 1:], lengths))


def _too_short(tokens: int, batch_size: int, length: int) -> DataError:
    fits = tokens // length
    streams = f"{batch_size} parallel streams need" if batch_size > 1 else "a stream needs"
    smaller = max(1, tokens // 4)
    return DataError(
        "D044",
        f"the training text has {tokens:,} tokens; {streams} {batch_size * length:,}, a segment of"
        f" {length:,} each",
        help=[f"--set training.batch_size={fits}   fewer streams"] * (fits > 0)
        + [f"--set training.bptt={smaller} --set training.batch_size=1   shorter segments"],
    )
