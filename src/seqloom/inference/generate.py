"""Text generation: continues prompts by sampling, streaming the text token by token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..decoding import GenerativeModel, SampledTokens, Sampling, output_limit, sample_steps
from ..errors import UsageError
from ..signature import END
from ..task import Task

EndReason = Literal["end", "stop", "limit"]
BROKEN = "\N{REPLACEMENT CHARACTER}"  # shown for an incomplete UTF-8 sequence
LONGEST, OVERLAP = 256, 16  # tokens that are decoded again with each new one; kept after a cut


@dataclass(frozen=True)
class TextChunk:
    """The text that one sampled token adds to a row, and the reason if the row has ended.

    `log_probs` are those of the whole vocabulary, from which `token` was sampled.
    """

    row: int
    text: str
    ended: EndReason | None = None
    token: int = END
    log_probs: Float[np.ndarray, " vocabulary"] | None = None


def stream_generate(  # noqa: PLR0913 - the last three may be left out
    model: GenerativeModel,
    task: Task,
    prompts: Sequence[str],
    sampling: Sampling,
    stop: Sequence[str] = (),
    streams: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
) -> Iterator[TextChunk]:
    """Continue all prompts in one batch, yielding a chunk of text for each sampled token.

    A text ends at the end token, if the task has one; before the first of the `stop` texts; or at
    the length limit.
    """
    for prompt in prompts:
        _require_known(task, prompt)
    prefix = Sequences.pad([task.encode_source(task.question(prompt)) for prompt in prompts])
    limit = output_limit(model, sampling.limit)
    texts = [_GrowingText(task, prompt, limit, stop) for prompt in prompts]
    return _chunks(
        texts,
        sample_steps(
            model,
            prefix,
            sampling,
            prefix,
            rngs=streams,
            allow=allow,
            is_last=lambda row, token: texts[row].ended is not None,
        ),
    )


def _chunks(texts: list["_GrowingText"], steps: Iterator[SampledTokens]) -> Iterator[TextChunk]:
    for step in steps:
        sampled = zip(step.rows.tolist(), step.tokens.tolist(), step.log_probs, strict=True)
        for row, token, log_probs in sampled:
            text = texts[row].add(token)
            yield TextChunk(row, text, texts[row].ended, token, log_probs)


class _GrowingText:
    """Incremental detokenization: emits the text that is final and holds back what may change.

    Tokens are decoded together, since words need spaces between them and a character may have
    several bytes. Held back are incomplete characters and a possible beginning of a stop text.
    """

    def __init__(self, task: Task, prompt: str, limit: int, stop: Sequence[str]) -> None:
        self._task, self._left, self._stop = task, limit, [text for text in stop if text]
        self._tokens = [int(i) for i in task.encode_source(task.question(prompt))]
        decoded = str(task.decode(self._tokens))
        self._emitted = len(decoded)  # number of characters that have been emitted
        # The prompt ends with a space that is no token: the next word must not add another.
        self._has_blank = prompt[-1:].isspace() and not decoded[-1:].isspace()
        self._ends_at_end = not getattr(task, "continuous", False)
        self.ended: EndReason | None = None

    def add(self, token: int) -> str:
        """The text that has become final after one more token."""
        self._tokens.append(token)
        self._left -= 1
        text = str(self._task.decode(self._tokens))[self._emitted :]
        found = [place for stop in self._stop if (place := text.find(stop)) >= 0]
        if found:
            text, self.ended = text[: min(found)], "stop"
        elif token == END and self._ends_at_end:
            self.ended = "end"
        elif not self._left:
            self.ended = "limit"
        else:
            text = text[: len(text) - self._unsure(text)]
        self._emitted += len(text)
        self._forget()
        return self._without_blank(text)

    def _unsure(self, text: str) -> int:
        """The number of last characters that may still change, or begin a stop text."""
        begun = [
            size
            for stop in self._stop
            for size in range(1, min(len(stop), len(text) + 1))
            if text.endswith(stop[:size])
        ]
        return max([len(text) - len(text.rstrip(BROKEN)), *begun])

    def _forget(self) -> None:
        """Keep only the last tokens of a long text, so that decoding stays linear in its length."""
        if len(self._tokens) > LONGEST:
            is_emitted = self._emitted == len(str(self._task.decode(self._tokens)))
            if is_emitted:
                self._tokens = self._tokens[-OVERLAP:]
                self._emitted = len(str(self._task.decode(self._tokens)))

    def _without_blank(self, text: str) -> str:
        if self._has_blank and text:
            self._has_blank = False
            return text.removeprefix(" ")
        return text


def _require_known(task: Task, prompt: str) -> None:
    known = task.is_known(task.question(prompt))
    if known and not any(known):
        raise UsageError(
            "U031",
            f"all tokens of the prompt {prompt!r} are unknown",
            notes=["None of its tokens is in the vocabulary, so the model would read only <unk>."],
            help=["use tokens of the training text, or leave it out"],
        )
