"""All that a search looked at: which candidates grew, which were dropped, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from ..prediction import Fate
from .base import View
from .draw.colours import BLUE, INK, MUTED, PAGE, mix
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Lettering, Picture
from .draw.text import shorten, to_ascii, visible

_COLUMN, _ROW, _MOST_STEPS = 86.0, 26.0, 40


@dataclass(frozen=True)
class Candidate:
    """One symbol after those of its parent: how likely all of them are, and what became of it."""

    parent: int
    step: int
    symbol: str
    log_prob: float
    fate: Fate
    why: str
    score: float | None = None


@dataclass(frozen=True)
class Written:
    """An answer: its text, and the natural log-probability of it."""

    text: str
    log_prob: float


@final
class BeamView(View):
    """A tree from left to right, the winning path drawn thick.

    Args:
        source: what was read.
        nodes: all candidates, parents before their children.
        answers: the nodes with which answers end, the best first.
        written: these answers.
        greedy: what is found by taking the likeliest symbol each time.
        model: name of the model.
        beam: how many candidates were kept.
        notes: how the search went.
    """

    kind: ClassVar[str] = "beam"

    def __init__(  # noqa: PLR0913 - what is drawn and what is said of it
        self,
        source: Sequence[str],
        nodes: Sequence[Candidate],
        answers: Sequence[int],
        written: Sequence[Written],
        greedy: Written,
        model: str,
        *,
        beam: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.nodes, self.answers = list(source), list(nodes), list(answers)
        self.written, self.greedy, self.beam = list(written), greedy, beam
        data = {"nodes": self.nodes, "answers": self.answers}
        super().__init__(model, self._caption(), data, notes)

    def path(self, node: int) -> list[int]:
        """The nodes from the first symbol to this one."""
        found = []
        while node >= 0:
            found.append(node)
            node = self.nodes[node].parent
        return found[::-1]

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.source},
            "beam": self.beam,
            "nodes": [
                {
                    "parent": node.parent,
                    "step": node.step,
                    "symbol": node.symbol,
                    "log_prob": round(node.log_prob, 6),
                    "fate": node.fate,
                    "why": node.why,
                    "score": None if node.score is None else round(node.score, 6),
                }
                for node in self.nodes
            ],
            "answers": self.answers,
            "written": [one.text for one in self.written],
            "log_probs": [round(one.log_prob, 6) for one in self.written],
            "greedy": {"text": self.greedy.text, "log_prob": round(self.greedy.log_prob, 6)},
        }

    def to_table(self) -> list[list[str]]:
        rows = [["step", "so far", "log-probability", "what became of it"]]
        for number, node in enumerate(self.nodes):
            so_far = " ".join(visible(self.nodes[one].symbol) for one in self.path(number))
            rows.append([str(node.step), so_far, f"{node.log_prob:.2f}", node.why])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        best = set(self.path(self.answers[0])) if self.answers else set()
        lines = []
        for step, row in enumerate(self._columns()):
            told = []
            for number in row:
                node = self.nodes[number]
                mark = "*" if number in best else {"dropped": "-", "ended": "."}.get(node.fate, "")
                told.append(f"{mark}{visible(node.symbol)} {node.log_prob:.1f}")
            line = f"{step:3}  " + "  ".join(told)
            lines.append(shorten(to_ascii(line) if ascii else line, width))
        key = "* on the way to the best answer, - dropped, . ended"
        return [*lines, "", *(key[i : i + width] for i in range(0, len(key), width))]

    def to_picture(self) -> Picture:
        columns = self._columns()[:_MOST_STEPS]
        words = Wording(
            f"Search by {self.model}",
            "left to right, step by step; thick: the best answer; grey: dropped",
            self.caption,
            self.notes,
        )
        top = words.head_height() + 8
        tall = max([len(column) for column in columns] or [1])
        width = max(words.width(), 2 * MARGIN + _COLUMN * max(1, len(columns)) + 20, 520.0)
        foot = top + tall * _ROW + 12
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        places = {
            number: (MARGIN + 10 + step * _COLUMN, top + rank * _ROW + 12)
            for step, column in enumerate(columns)
            for rank, number in enumerate(column)
        }
        best = set(self.path(self.answers[0])) if self.answers else set()
        for number, (x, y) in places.items():
            parent = places.get(self.nodes[number].parent)
            if parent is not None:
                is_best = number in best
                colour = BLUE if is_best else mix(PAGE, MUTED, 0.5)
                picture.line((parent[0] + 48, parent[1]), (x - 4, y), colour, 3 if is_best else 1)
        for number, place in places.items():
            self._draw(picture, number, place, number in best)
        words.draw(picture, foot)
        return picture

    def _draw(
        self, picture: Picture, number: int, place: tuple[float, float], is_best: bool
    ) -> None:
        node, (x, y) = self.nodes[number], place
        title = f"{visible(node.symbol)}: {node.log_prob:.3f} nats; {node.why}"
        ground = mix(PAGE, BLUE, 0.25) if is_best else PAGE
        outline = BLUE if node.fate == "ended" else mix(PAGE, MUTED, 0.4)
        box = (x - 4, y - 11, 56.0, 22.0)
        picture.rectangle(box, ground, outline=outline, thickness=1, title=title)
        colour = mix(PAGE, MUTED, 0.8) if node.fate == "dropped" else INK
        picture.text(shorten(visible(node.symbol), 6), (x, y + 1), Lettering(11, colour))
        picture.text(f"{node.log_prob:.1f}", (x, y + 10), Lettering(8, colour))

    def _columns(self) -> list[list[int]]:
        """The nodes of each step, the likeliest first."""
        steps = max([node.step for node in self.nodes] or [-1]) + 1
        found: list[list[int]] = [[] for _ in range(steps)]
        for number, node in enumerate(self.nodes):
            found[node.step].append(number)
        for column in found:
            column.sort(key=lambda number: -self.nodes[number].log_prob)
        return found

    def _caption(self) -> str:
        if not self.written:
            return "Nothing was found: no symbol can follow."
        steps = len(self._columns())
        best = self.written[0]
        said = (
            f"{self.beam} candidate{'s' * (self.beam != 1)}, {steps} steps,"
            f" {len(self.nodes)} looked at:"
            f' "{_line(best.text)}" ({best.log_prob:.2f} nats).'
        )
        if best.text == self.greedy.text:
            return f"{said} Greedy search finds the same."
        gain = best.log_prob - self.greedy.log_prob
        verb = "loses by" if gain >= 0 else "would be likelier, by"
        return (
            f'{said} Greedy search finds "{_line(self.greedy.text)}"'
            f" and {verb} {abs(gain):.2f} nats."
        )


def _line(text: str) -> str:
    """A text in a sentence: short, and on one line."""
    return shorten(" ".join(text.split("\n")), 60)
