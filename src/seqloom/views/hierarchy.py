"""Hierarchical attention (Yang et al., 2016): the weights of sentences, and of words in each."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import MUTED, ON_SHADE, PAGE, shade
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Picture, TextStyle
from .draw.text import column_width, to_ascii, visible
from .draw.text_heatmap import BLOCKS

_WIDTH, _PITCH, _LEFT, _GAP = 760, 26, 62, 6
_WORD = TextStyle(13, ON_SHADE)
_ASCII_BAR = ".:-=+*#%@"


@final
class HierarchyView(View):
    """Hierarchical attention: the weight of each sentence, and of each word in its sentence.

    Args:
        sentences: the words of each sentence.
        sentence_weights: attention over sentences, from 0 to 1; sums to 1.
        word_weights: for each sentence the attention over its words, from 0 to 1; sums to 1.
        model: name of the model.
        notes: how the weights were computed.
    """

    kind: ClassVar[str] = "hierarchy"

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        sentence_weights: ArrayLike,
        word_weights: Sequence[ArrayLike],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.sentences = [list(words) for words in sentences]
        self.sentence_weights = _checked(sentence_weights, len(self.sentences))
        self.word_weights = [
            _checked(weights, len(words))
            for weights, words in zip(word_weights, self.sentences, strict=True)
        ]
        data = {
            "sentences": self.sentences,
            "sentence_weights": self.sentence_weights,
            "word_weights": self.word_weights,
        }
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        rows = zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
        return {
            "sentences": [
                {"weight": round(float(w), 6), "words": words, "weights": ws.round(6).tolist()}
                for words, w, ws in rows
            ]
        }

    def to_table(self) -> list[list[str]]:
        rows = [["word", "in its sentence", "sentence"]]
        sentences = zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
        for words, weight, weights in sentences:
            pairs = zip(words, weights, strict=True)
            rows += [[visible(word), f"{own:.2f}", f"{weight:.2f}"] for word, own in pairs]
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """A few lines for each sentence: its weight, then its words, each after its own weight."""
        lines = []
        rows = zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
        for words, weight, weights in rows:
            line, indent = f"{100 * weight:3.0f} % ", 6
            for word, own in zip(words, weights, strict=True):
                shown = to_ascii(visible(word)) if ascii else visible(word)
                cell = f"{_block(float(own), ascii)}{shown} "
                if column_width(line + cell) > width + 1 and len(line) > indent:
                    lines.append(line.rstrip())
                    line = " " * indent
                line += cell
            lines.append(line.rstrip())
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Hierarchical attention of {self.model}",
            "left: weight of the sentence; blue: weight of the word in its sentence",
            self.caption,
            self.notes,
        )
        top, placed = text.head_height(), self._placed()
        foot = top + _PITCH * sum(len(lines) for lines in placed) + 14
        picture = Picture(_WIDTH, foot + text.foot_height(_WIDTH), PAGE, self.caption)
        for lines, weight in zip(placed, self.sentence_weights, strict=True):
            box = MARGIN, top + 2, _LEFT - MARGIN - 8, _PITCH * len(lines) - 4
            picture.rectangle(box, shade(float(weight)), title=f"sentence: {weight:.3f}")
            number = TextStyle(11, ON_SHADE, "middle")
            picture.text(f"{weight:.2f}", (MARGIN + box[2] / 2, top + 17), number)
            for line in lines:
                for x, word, own in line:
                    size = _WORD.length(word) + 4, _PITCH - 6.0
                    title = f"{word}: {own:.3f}, sentence: {weight:.3f}"
                    picture.rectangle((x, top + 3, *size), shade(own), title=title)
                    picture.text(word, (x + 2, top + 18), _WORD)
                top += _PITCH
            picture.line((MARGIN, top), (_WIDTH - MARGIN, top), MUTED, 0.5)
        text.draw(picture, foot)
        return picture

    def _placed(self) -> list[list[list[tuple[float, str, float]]]]:
        """For each sentence its lines; for each word its left edge, its text and its weight."""
        placed = []
        for words, weights in zip(self.sentences, self.word_weights, strict=True):
            lines: list[list[tuple[float, str, float]]] = [[]]
            x = float(_LEFT)
            for word, own in zip(map(visible, words), weights, strict=True):
                if x + _WORD.length(word) > _WIDTH - MARGIN and lines[-1]:
                    lines.append([])
                    x = float(_LEFT)
                lines[-1].append((x, word, float(own)))
                x += _WORD.length(word) + _GAP
            placed.append(lines)
        return placed

    def _caption(self) -> str:
        """The sentence with the largest weight, and its word with the largest weight."""
        if not self.sentences:
            return "There are no attention weights: the document is empty."
        first = int(self.sentence_weights.argmax())
        weights, words = self.word_weights[first], self.sentences[first]
        word = ""
        if words:
            word = f', in it "{visible(words[int(weights.argmax())])}" ({weights.max():.2f})'
        return (
            f"Sentence {first + 1} of {len(self.sentences)} has the largest weight"
            f" ({self.sentence_weights[first]:.2f}){word}."
        )


def _checked(weights: ArrayLike, count: int) -> NDArray[np.float64]:
    vector = np.array(weights, dtype=np.float64)
    if vector.shape != (count,):
        raise ValueError(f"expected {count} weights, got {vector.shape}")
    if not ((vector > -1e-6) & (vector < 1 + 1e-4)).all():
        raise ValueError("expected weights from 0 to 1, found some that are not")
    return vector.clip(0, 1)


def _block(weight: float, ascii: bool) -> str:
    blocks = _ASCII_BAR if ascii else BLOCKS
    return blocks[min(int(weight * len(blocks)), len(blocks) - 1)]
