"""Next-token probabilities before and after top-k, top-p and temperature; label probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.bars import Bar, bars_picture, bars_text, percent
from .draw.heatmap import FigureText
from .draw.svg import Picture
from .draw.text import visible

MAX_LABELS = 40  # that are drawn
MAX_TOKENS = 20  # that are listed
HALF = 0.5


@final
class LabelProbabilitiesView(View):
    """Label probabilities of a sequence, the most probable label first.

    Args:
        tokens: the input.
        labels: all labels.
        probabilities: of each label.
        model: name of the model.
        several: multi-label: each label has a probability of its own; else they sum to 1.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "choices"

    def __init__(  # noqa: PLR0913 - the data, and what describes it
        self,
        tokens: Sequence[str],
        labels: Sequence[str],
        probabilities: ArrayLike,
        model: str,
        *,
        several: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.labels, self.several = list(tokens), list(labels), several
        self.probabilities = np.array(probabilities, dtype=np.float64)
        if self.probabilities.shape != (len(self.labels),) or not self.labels:
            raise ValueError("expected a probability for each label, and at least one label")
        self.order = np.argsort(-self.probabilities, kind="stable").tolist()
        if len(self.labels) > MAX_LABELS:
            drawn = f"the {MAX_LABELS} most probable of {len(self.labels)} labels are drawn"
            self.drawn_notes = (drawn,)
        data = {"labels": self.labels, "probabilities": self.probabilities}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        choices = [{"label": self.labels[n], "p": round(self._p(n), 8)} for n in self.order]
        return {"tokens": {"src": self.tokens}, "choices": choices, "several": self.several}

    def to_table(self) -> list[list[str]]:
        rows = [[visible(self.labels[n]), percent(self._p(n))] for n in self.order]
        return [["label", "probability"], *rows]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        return bars_text(self._bars(), width, ascii)

    def to_picture(self) -> Picture:
        kind = "multi-label: each label has a probability of its own"
        subtitle = kind if self.several else "probability of each label"
        title = f"Label probabilities of {self.model}"
        notes = (*self.notes, *self.drawn_notes)
        return bars_picture(self._bars(), FigureText(title, subtitle, self.caption, notes))

    def _bars(self) -> list[Bar]:
        return [
            Bar(self.labels[n], self._p(n), percent(self._p(n)), self._is_predicted(n))
            for n in self.order[:MAX_LABELS]
        ]

    def _p(self, label: int) -> float:
        return float(self.probabilities[label])

    def _is_predicted(self, label: int) -> bool:
        if self.several:
            return self._p(label) > HALF
        return bool(label == self.order[0])

    def _caption(self) -> str:
        predicted = [n for n in self.order if self._is_predicted(n)]
        others = [n for n in self.order if not self._is_predicted(n)]
        if not predicted:
            return f"No label has more than 50 %; highest: {self._named(others[:1])}."
        following = f", next {self._named(others[:1])}" if others else ""
        return f"{self._named(predicted[:5])}{following}."

    def _named(self, labels: Sequence[int]) -> str:
        return ", ".join(f'"{visible(self.labels[n])}" with {percent(self._p(n))}' for n in labels)


@dataclass(frozen=True)
class SamplingDistribution:
    """The distribution that tokens are sampled from: probabilities after temperature and cuts.

    Args:
        probabilities: of each token; 0 where it is cut off.
        temperature: the logits are divided by it.
        top_k: keep the k most probable tokens; 0 keeps all.
        top_p: keep the smallest set of tokens with at least this probability (nucleus).
        min_p: keep tokens with at least this fraction of the largest probability.
    """

    probabilities: NDArray[np.float64]
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether it is the distribution of the model, unchanged."""
        return (self.temperature, self.top_k, self.top_p, self.min_p) == (1.0, 0, 1.0, 0.0)


@final
class NextTokenView(View):
    """Next-token probabilities at one position, and the probabilities of being sampled.

    Args:
        context: the tokens before: of a language model the input, of an encoder-decoder the output.
        at: the position in the context after which the token is predicted.
        names: of all tokens of the vocabulary.
        probabilities: of each of them.
        sampling: the distribution that tokens are sampled from.
        model: name of the model.
        actual: the id of the actual next token, where it is known.
        source: of an encoder-decoder: the input tokens.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "next"

    def __init__(  # noqa: PLR0913 - the data, and what describes it
        self,
        context: Sequence[str],
        at: int,
        names: Sequence[str],
        probabilities: NDArray[np.float64],
        sampling: SamplingDistribution,
        model: str,
        *,
        actual: int | None = None,
        source: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.context, self.at, self.source = list(context), at, source
        self.names, self.probabilities = list(names), probabilities
        self.sampling, self.actual = sampling, actual
        self.order = np.argsort(-probabilities, kind="stable")[:MAX_TOKENS].tolist()
        self.rest = max(0.0, 1.0 - float(probabilities[self.order].sum()))
        data = {
            "probabilities": probabilities,
            "sampling": sampling.probabilities,
            "order": self.order,
        }
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        tokens = {"src": self.context}
        if self.source is not None:
            tokens = {"src": list(self.source), "tgt": self.context}
        sampling, actual = self.sampling, self.actual
        return {
            "tokens": tokens,
            "rail": "src" if self.source is None else "tgt",
            "at": self.at,
            "choices": [
                {
                    "symbol": self.names[number],
                    "p": round(float(self.probabilities[number]), 8),
                    "after": round(float(sampling.probabilities[number]), 8),
                    "kept": not self._is_cut(number),
                }
                for number in self.order
            ],
            "rest": round(self.rest, 8),
            "kept": int((sampling.probabilities > 0).sum()),
            "cut": round(float(self.probabilities[sampling.probabilities == 0].sum()), 8),
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            "came": None
            if actual is None
            else {
                "symbol": self.names[actual],
                "p": round(float(self.probabilities[actual]), 8),
                "rank": self._rank(actual),
            },
        }

    def to_table(self) -> list[list[str]]:
        rows = [["token", "probability", "sampled with"]]
        after = self.sampling.probabilities
        for number in self.order:
            p = percent(float(self.probabilities[number]))
            sampled = "cut" if self._is_cut(number) else percent(float(after[number]))
            rows.append([visible(self.names[number]), p, sampled])
        rest = float(after.sum() - after[self.order].sum())
        return [*rows, ["all others", percent(self.rest), percent(max(0.0, rest))]]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        return bars_text(self._bars(), width, ascii)

    def to_picture(self) -> Picture:
        subtitle = "probability of each token"
        if not self.sampling.is_plain:
            subtitle = "bar: probability; outline: probability of being sampled; grey: cut off"
        title = f"Next-token probabilities of {self.model}"
        text = FigureText(title, subtitle, self.caption, self.notes)
        return bars_picture(self._bars(), text)

    def _bars(self) -> list[Bar]:
        bars = []
        for number in self.order:
            p, after = float(self.probabilities[number]), float(self.sampling.probabilities[number])
            label, is_cut = percent(p), self._is_cut(number)
            if not self.sampling.is_plain:
                label += ", cut" if is_cut else f", sampled with {percent(after)}"
            label += " (actual)" if number == self.actual else ""
            outline = None if self.sampling.is_plain or after == 0 else after
            bars.append(Bar(self.names[number], p, label, not is_cut, outline))
        return bars

    def _is_cut(self, number: int) -> bool:
        """Whether sampling cuts the token off: it is possible, and is not sampled."""
        return bool(self.sampling.probabilities[number] == 0 < self.probabilities[number])

    def _caption(self) -> str:
        best, *others = self.order
        token = visible(self.context[self.at]) if 0 <= self.at < len(self.context) else ""
        after = f'After "{token}"' if token else "At the start"
        sentence = f"{after}: {self._named(best)}"
        if others and self.probabilities[others[0]] > 0:
            sentence += f", then {self._named(others[0])}"
        sentences = [f"{sentence}; perplexity {self._perplexity():.1f}."]
        if self.actual is not None and self.actual != best:
            name, p = visible(self.names[self.actual]), float(self.probabilities[self.actual])
            rank = self._rank(self.actual)
            sentences.append(f'The actual token "{name}" has rank {rank} with {percent(p)}.')
        if not self.sampling.is_plain:
            sentences.append(self._cut())
        return " ".join(sentences)

    def _named(self, number: int) -> str:
        p = percent(float(self.probabilities[number]))
        return f'"{visible(self.names[number])}" with {p}'

    def _rank(self, number: int) -> int:
        return int((self.probabilities > self.probabilities[number]).sum()) + 1

    def _perplexity(self) -> float:
        """exp(-Σ p log p): the model is as uncertain as between so many equally likely tokens."""
        some = self.probabilities[self.probabilities > 0]
        return float(np.exp(-(some * np.log(some)).sum()))

    def _cut(self) -> str:
        kept = self.sampling.probabilities > 0
        if kept.all():
            return "No token is cut off."
        lost = percent(float(self.probabilities[~kept].sum()))
        count = int(kept.sum())
        tokens = "One token" if count == 1 else f"{count} tokens"
        return f"{tokens} of {len(kept)} can be sampled; {lost} of the probability is cut off."
