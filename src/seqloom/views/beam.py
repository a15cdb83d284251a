"""Beam search tree: every candidate of a search, which were kept, which dropped, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from ..prediction import NodeStatus
from .base import View
from .draw.colours import BLUE, INK, MUTED, PAGE, mix
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Picture, TextStyle
from .draw.text import shorten, to_ascii, visible

_COLUMN, _ROW, _MOST_STEPS = 86.0, 26.0, 40


@dataclass(frozen=True)
class BeamNode:
    """A node of the search tree: a token that extends the hypothesis of its parent.

    Args:
        parent: the number of the parent node; -1 for a first token.
        step: the position of the token in the output.
        token: the token.
        log_prob: log-probability of the hypothesis up to and including it.
        status: whether it was extended, dropped, cut off, or ended a hypothesis.
        reason: the status in words.
        score: of a finished hypothesis, after length and coverage penalties.
    """

    parent: int
    step: int
    token: str
    log_prob: float
    status: NodeStatus
    reason: str
    score: float | None = None


@dataclass(frozen=True)
class DecodedText:
    """An output of a search: its text, and its natural log-probability."""

    text: str
    log_prob: float


@final
class BeamView(View):
    """Beam search: a tree from left to right, the path of the best output drawn thick.

    Args:
        source: the input tokens.
        nodes: all candidates, parents before their children.
        final_nodes: the last nodes of the finished outputs, the best first.
        outputs: these outputs.
        greedy: the output of greedy search.
        model: name of the model.
        beam: beam size.
        notes: settings of the search.
    """

    kind: ClassVar[str] = "beam"

    def __init__(  # noqa: PLR0913 - the data, and what describes it
        self,
        source: Sequence[str],
        nodes: Sequence[BeamNode],
        final_nodes: Sequence[int],
        outputs: Sequence[DecodedText],
        greedy: DecodedText,
        model: str,
        *,
        beam: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.nodes, self.final_nodes = list(source), list(nodes), list(final_nodes)
        self.outputs, self.greedy, self.beam = list(outputs), greedy, beam
        data = {"nodes": self.nodes, "final_nodes": self.final_nodes}
        super().__init__(model, self._caption(), data, notes)

    def path(self, node: int) -> list[int]:
        """The nodes from the first token to this one."""
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = self.nodes[node].parent
        return nodes[::-1]

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.source},
            "beam": self.beam,
            "nodes": [
                {
                    "parent": node.parent,
                    "step": node.step,
                    "symbol": node.token,
                    "log_prob": round(node.log_prob, 6),
                    "fate": node.status,
                    "why": node.reason,
                    "score": None if node.score is None else round(node.score, 6),
                }
                for node in self.nodes
            ],
            "answers": self.final_nodes,
            "written": [one.text for one in self.outputs],
            "log_probs": [round(one.log_prob, 6) for one in self.outputs],
            "greedy": {"text": self.greedy.text, "log_prob": round(self.greedy.log_prob, 6)},
        }

    def to_table(self) -> list[list[str]]:
        rows = [["step", "hypothesis", "log-probability", "status"]]
        for number, node in enumerate(self.nodes):
            hypothesis = " ".join(visible(self.nodes[one].token) for one in self.path(number))
            rows.append([str(node.step), hypothesis, f"{node.log_prob:.2f}", node.reason])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        best = set(self.path(self.final_nodes[0])) if self.final_nodes else set()
        lines = []
        for step, row in enumerate(self._columns()):
            cells = []
            for number in row:
                node = self.nodes[number]
                mark = {"dropped": "-", "ended": "."}.get(node.status, "")
                mark = "*" if number in best else mark
                cells.append(f"{mark}{visible(node.token)} {node.log_prob:.1f}")
            line = f"{step:3}  " + "  ".join(cells)
            lines.append(shorten(to_ascii(line) if ascii else line, width))
        key = "* on the path of the best output, - dropped, . ended"
        return [*lines, "", *(key[i : i + width] for i in range(0, len(key), width))]

    def to_picture(self) -> Picture:
        columns, notes = self._columns(), self.notes
        if len(columns) > _MOST_STEPS:
            notes = (*notes, f"the first {_MOST_STEPS} of {len(columns)} steps are drawn")
            columns = columns[:_MOST_STEPS]
        text = FigureText(
            f"Beam search of {self.model}",
            "left to right: steps; thick: path of the best output; grey: dropped",
            self.caption,
            notes,
        )
        top = text.head_height() + 8
        tall = max([len(column) for column in columns] or [1])
        width = max(text.width(), 2 * MARGIN + _COLUMN * max(1, len(columns)) + 20, 520.0)
        foot = top + tall * _ROW + 12
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        positions = {
            number: (MARGIN + 10 + step * _COLUMN, top + rank * _ROW + 12)
            for step, column in enumerate(columns)
            for rank, number in enumerate(column)
        }
        best = set(self.path(self.final_nodes[0])) if self.final_nodes else set()
        for number, (x, y) in positions.items():
            parent = positions.get(self.nodes[number].parent)
            if parent is not None:
                is_best = number in best
                colour = BLUE if is_best else mix(PAGE, MUTED, 0.5)
                picture.line((parent[0] + 48, parent[1]), (x - 4, y), colour, 3 if is_best else 1)
        for number, position in positions.items():
            self._draw(picture, number, position, number in best)
        text.draw(picture, foot)
        return picture

    def _draw(
        self, picture: Picture, number: int, position: tuple[float, float], is_best: bool
    ) -> None:
        node, (x, y) = self.nodes[number], position
        title = f"{visible(node.token)}: {node.log_prob:.3f} nats; {node.reason}"
        ground = mix(PAGE, BLUE, 0.25) if is_best else PAGE
        outline = BLUE if node.status == "ended" else mix(PAGE, MUTED, 0.4)
        box = (x - 4, y - 11, 56.0, 22.0)
        picture.rectangle(box, ground, outline=outline, thickness=1, title=title)
        colour = mix(PAGE, MUTED, 0.8) if node.status == "dropped" else INK
        picture.text(shorten(visible(node.token), 6), (x, y + 1), TextStyle(11, colour))
        picture.text(f"{node.log_prob:.1f}", (x, y + 10), TextStyle(8, colour))

    def _columns(self) -> list[list[int]]:
        """The nodes of each step, the most probable first."""
        steps = max([node.step for node in self.nodes] or [-1]) + 1
        columns: list[list[int]] = [[] for _ in range(steps)]
        for number, node in enumerate(self.nodes):
            columns[node.step].append(number)
        for column in columns:
            column.sort(key=lambda number: -self.nodes[number].log_prob)
        return columns

    def _caption(self) -> str:
        if not self.outputs:
            return "No output was found: no token can follow."
        steps = len(self._columns())
        best = self.outputs[0]
        sentence = (
            f"Beam size {self.beam}, {steps} steps, {len(self.nodes)} candidates:"
            f' "{_line(best.text)}" ({best.log_prob:.2f} nats).'
        )
        if best.text == self.greedy.text:
            return f"{sentence} Greedy search finds the same."
        gain = best.log_prob - self.greedy.log_prob
        compared = f"{abs(gain):.2f} nats {'less' if gain >= 0 else 'more'} probable"
        if compared.startswith("0.00"):
            compared = "about equally probable"
        return f'{sentence} Greedy search finds "{_line(self.greedy.text)}", which is {compared}.'


def _line(text: str) -> str:
    """A text in a sentence: short, and on one line."""
    return shorten(" ".join(text.split("\n")), 60)
