"""Which sentences of a document count, and which words of each: a line for every sentence."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import MUTED, ON_SHADE, PAGE, shade
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Lettering, Picture
from .draw.text import column_width, to_ascii, visible
from .draw.text_heatmap import BLOCKS

_WIDE, _PITCH, _LEFT, _GAP = 760, 26, 62, 6
_WORDS = Lettering(13, ON_SHADE)
_ASCII_BAR = ".:-=+*#%@"


@final
class HierarchyView(View):
    """How much each sentence of a document counts, and each word in its sentence.

    Args:
        sentences: the words of each sentence.
        sentence_weights: from 0 to 1, one for each sentence; together 1.
        word_weights: from 0 to 1, for each sentence one for each word; together 1 in each.
        model: name of the model.
        notes: how the weights came about.
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
        super().__init__(model, self._said(), data, notes)

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
        found = zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
        for words, weight, weights in found:
            pairs = zip(words, weights, strict=True)
            rows += [[visible(word), f"{own:.2f}", f"{weight:.2f}"] for word, own in pairs]
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """A sentence in a few lines: its weight, then its words, each with its own before it."""
        lines = []
        found = zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
        for words, weight, weights in found:
            line, indent = f"{100 * weight:3.0f} % ", 6
            for word, own in zip(words, weights, strict=True):
                shown = to_ascii(visible(word)) if ascii else visible(word)
                piece = f"{_block(float(own), ascii)}{shown} "
                if column_width(line + piece) > width + 1 and len(line) > indent:
                    lines.append(line.rstrip())
                    line = " " * indent
                line += piece
            lines.append(line.rstrip())
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            f"What {self.model} looks at",
            "left: how much a sentence counts; blue: how much a word counts in its sentence",
            self.caption,
            self.notes,
        )
        top, placed = words.head_height(), self._placed()
        foot = top + _PITCH * sum(len(lines) for lines in placed) + 14
        picture = Picture(_WIDE, foot + words.foot_height(_WIDE), PAGE, self.caption)
        for lines, weight in zip(placed, self.sentence_weights, strict=True):
            box = MARGIN, top + 2, _LEFT - MARGIN - 8, _PITCH * len(lines) - 4
            picture.rectangle(box, shade(float(weight)), title=f"the sentence: {weight:.3f}")
            number = Lettering(11, ON_SHADE, "middle")
            picture.text(f"{weight:.2f}", (MARGIN + box[2] / 2, top + 17), number)
            for line in lines:
                for x, word, own in line:
                    size = _WORDS.length(word) + 4, _PITCH - 6.0
                    title = f"{word}: {own:.3f} of {weight:.3f}"
                    picture.rectangle((x, top + 3, *size), shade(own), title=title)
                    picture.text(word, (x + 2, top + 18), _WORDS)
                top += _PITCH
            picture.line((MARGIN, top), (_WIDE - MARGIN, top), MUTED, 0.5)
        words.draw(picture, foot)
        return picture

    def _placed(self) -> list[list[list[tuple[float, str, float]]]]:
        """For each sentence its lines, of each word where it begins and its weight."""
        found = []
        for words, weights in zip(self.sentences, self.word_weights, strict=True):
            lines: list[list[tuple[float, str, float]]] = [[]]
            x = float(_LEFT)
            for word, own in zip(map(visible, words), weights, strict=True):
                if x + _WORDS.length(word) > _WIDE - MARGIN and lines[-1]:
                    lines.append([])
                    x = float(_LEFT)
                lines[-1].append((x, word, float(own)))
                x += _WORDS.length(word) + _GAP
            found.append(lines)
        return found

    def _said(self) -> str:
        """The sentence that counts most, and its word that does."""
        if not self.sentences:
            return "There is nothing to look at: the document is empty."
        first = int(self.sentence_weights.argmax())
        weights, words = self.word_weights[first], self.sentences[first]
        word = f', in it "{visible(words[int(weights.argmax())])}" ({weights.max():.2f})'
        return (
            f"Sentence {first + 1} of {len(self.sentences)} counts most"
            f" ({self.sentence_weights[first]:.2f}){word if words else ''}."
        )


def _checked(weights: ArrayLike, count: int) -> NDArray[np.float64]:
    found = np.array(weights, dtype=np.float64)
    if found.shape != (count,):
        raise ValueError(f"expected {count} weights, got {found.shape}")
    if not ((found > -1e-6) & (found < 1 + 1e-4)).all():
        raise ValueError("expected weights from 0 to 1, found some that are not")
    return found.clip(0, 1)


def _block(weight: float, ascii: bool) -> str:
    blocks = _ASCII_BAR if ascii else BLOCKS
    return blocks[min(int(weight * len(blocks)), len(blocks) - 1)]
