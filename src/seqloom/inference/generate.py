"""Texts that go on from prompts, drawn symbol by symbol and given out as they are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..decoding import Drawn, Sampling, Writer, drawing
from ..errors import UsageError
from ..signature import END
from ..task import Task

Ended = Literal["end", "stop", "limit"]
BROKEN = "\N{REPLACEMENT CHARACTER}"  # how bytes are shown that are no character yet
LONGEST, OVERLAP = 256, 16  # so many symbols are spelt anew with each; so many are kept for that


@dataclass(frozen=True)
class Piece:
    """What one more symbol adds to one of several texts, and why the text ended if it did.

    `log_probs` are those of all symbols that could have been drawn in place of `symbol`.
    """

    row: int
    text: str
    ended: Ended | None = None
    symbol: int = END
    log_probs: Float[np.ndarray, " vocabulary"] | None = None


def generating(  # noqa: PLR0913 - the last three may be left out
    model: Writer,
    task: Task,
    prompts: Sequence[str],
    sampling: Sampling,
    stop: Sequence[str] = (),
    streams: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
) -> Iterator[Piece]:
    """A piece of text for each symbol as it is drawn, of every prompt by turns.

    A text ends with the end of a sequence, where the task has one; before the first of the `stop`
    texts in what was drawn; or at the limit.
    """
    for prompt in prompts:
        _must_be_known(task, prompt)
    prefix = Sequences.pad([task.ask(task.question(prompt)) for prompt in prompts])
    texts = [_Text(task, prompt, sampling.limit, stop) for prompt in prompts]
    return _pieces(
        texts,
        drawing(
            model,
            prefix,
            sampling,
            prefix,
            streams=streams,
            allow=allow,
            is_last=lambda row, symbol: texts[row].ended is not None,
        ),
    )


def _pieces(texts: list["_Text"], steps: Iterator[Drawn]) -> Iterator[Piece]:
    for drawn in steps:
        found = zip(drawn.rows.tolist(), drawn.symbols.tolist(), drawn.log_probs, strict=True)
        for row, symbol, log_probs in found:
            text = texts[row].add(symbol)
            yield Piece(row, text, texts[row].ended, symbol, log_probs)


class _Text:
    """One text that grows: it gives out what is sure and keeps back what may still change.

    Symbols are spelt together, as a word needs a space before it and a character may have several
    bytes. Kept back are bytes that are no character yet, and what may be the beginning of a stop.
    """

    def __init__(self, task: Task, prompt: str, limit: int, stop: Sequence[str]) -> None:
        self._task, self._left, self._stop = task, limit, [text for text in stop if text]
        self._symbols = [int(i) for i in task.ask(task.question(prompt))]
        read = str(task.decode(self._symbols))
        self._given = len(read)  # so many characters of all that is spelt are out
        # A space that was typed but is no symbol is there already: the next word needs none.
        self._has_blank = prompt[-1:].isspace() and not read[-1:].isspace()
        self._ends_at_end = not getattr(task, "continuous", False)
        self.ended: Ended | None = None

    def add(self, symbol: int) -> str:
        """What is new and sure after one more symbol."""
        self._symbols.append(symbol)
        self._left -= 1
        text = str(self._task.decode(self._symbols))[self._given :]
        found = [place for stop in self._stop if (place := text.find(stop)) >= 0]
        if found:
            text, self.ended = text[: min(found)], "stop"
        elif symbol == END and self._ends_at_end:
            self.ended = "end"
        elif not self._left:
            self.ended = "limit"
        else:
            text = text[: len(text) - self._unsure(text)]
        self._given += len(text)
        self._forget()
        return self._without_blank(text)

    def _unsure(self, text: str) -> int:
        """How many of the last characters may still change, or become a stop."""
        begun = [
            size
            for stop in self._stop
            for size in range(1, min(len(stop), len(text) + 1))
            if text.endswith(stop[:size])
        ]
        return max([len(text) - len(text.rstrip(BROKEN)), *begun])

    def _forget(self) -> None:
        """Spell only the last symbols again, where the text is long and all of it is out."""
        if len(self._symbols) > LONGEST:
            is_out = self._given == len(str(self._task.decode(self._symbols)))
            if is_out:
                self._symbols = self._symbols[-OVERLAP:]
                self._given = len(str(self._task.decode(self._symbols)))

    def _without_blank(self, text: str) -> str:
        if self._has_blank and text:
            self._has_blank = False
            return text.removeprefix(" ")
        return text


def _must_be_known(task: Task, prompt: str) -> None:
    known = task.is_known(task.question(prompt))
    if known and not any(known):
        raise UsageError(
            "U031",
            f"nothing of the prompt {prompt!r} is known",
            notes=["Training showed none of its symbols, so the model would read only <unk>."],
            help=["write it in symbols of the training text, or leave it out"],
        )
