"""Attribution (saliency): how much each input token contributes to each part of the output."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import PAGE, signed
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText
from .draw.svg import Picture, TextStyle
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import ASCII_BLOCKS, BLOCKS, block_levels, text_grid
from .draw.text_rail import TokenStrip, draw_signed_legend

Matrix = NDArray[np.float64]
Unit = Literal["nats", "share", "number", "weight"]
NAMED = 3  # tokens that a sentence names on either side
LEAST = 0.02  # of the largest attribution: a sentence names no smaller ones
NOISE = 1e-5  # nats: attributions that are all smaller are rounding errors of a model
MOST = 0.9  # the fraction of the total attribution that defines the reach
_BORDERS = ("<s>", "</s>", "<unk>")
FOR, AGAINST = BLOCKS[1:], "░▒▓"
_ASCII_FOR, _ASCII_AGAINST = "123456789", "abcdefghi"
_MEANING: dict[Unit, str] = {
    "nats": "contribution to the log-probability, in nats; blue: for the output, orange: against",
    "share": "fraction of the attention",
    "number": "contribution to the predicted value; blue: increase, orange: decrease",
    "weight": "increase of the forecast when an observation increases by 1",
}


_VERBS: dict[Unit, tuple[str, str]] = {
    "nats": ("supported", "opposed"),
    "number": ("raised", "lowered"),
}
_SIDES: dict[Unit, tuple[str, str]] = {
    "nats": ("For", "Against"),
    "number": ("Up", "Down"),
    "weight": ("Up", "Down"),
}


@dataclass(frozen=True)
class AttributionTarget:
    """The part of an output that is explained: a label, an output token or a predicted value.

    Args:
        output: the label, token or value.
        position: counted from 1, in the input or in the output sequence.
        token: the input token that has this label, in sequence labelling.
        probability: of the output; None for real values.
    """

    output: str
    position: int
    token: str = ""
    probability: float | None = None

    def name(self) -> str:
        """The label of a row: cat/N=0.98."""
        output = visible(self.output)
        name = f"{visible(self.token)}/{output}" if self.token else output
        return name if self.probability is None else f"{name}={self.probability:.2f}"

    def in_words(self) -> str:
        """In a sentence: "N" at "cat" (p=0.98)."""
        name = f'"{visible(self.output)}"'
        name += f' at "{visible(self.token)}"' if self.token else ""
        if self.probability is None:
            return name
        if self.probability > 0.99:
            return f"{name} (p>0.99)"
        return f"{name} (p={self.probability:.2g})"


@final
class AttributionView(View):
    """Attribution: how much each input token contributes to each part of an output.

    Args:
        source: the input tokens.
        targets: the parts of the output; one is drawn as a token strip, several as a heat map.
        attributions: targets × source; positive for evidence for the target, negative for evidence
            against it, NaN where it could not be computed.
        model: name of the model.
        by: the attribution method, such as "occlusion".
        unit: what the numbers are.
        distance: whether the caption tells how far back the attribution reaches.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "influence"

    def __init__(  # noqa: PLR0913 - the data, and what describes it
        self,
        source: Sequence[str],
        targets: Sequence[AttributionTarget],
        attributions: ArrayLike,
        model: str,
        *,
        by: str,
        unit: Unit = "nats",
        distance: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.targets, self.by, self.unit = list(source), list(targets), by, unit
        self.attributions = _checked(attributions, (len(self.targets), len(self.source)))
        sizes = abs(self.attributions[np.isfinite(self.attributions)])
        self.scale = float(sizes.max(initial=0.0)) or 1.0  # of a full bar
        data = {
            "source": self.source,
            "targets": self.targets,
            "attributions": self.attributions,
        }
        super().__init__(model, self._caption(distance), data, notes)

    def content(self) -> dict[str, Any]:
        probabilities = [
            None if one.probability is None else round(one.probability, 6) for one in self.targets
        ]
        return {
            "by": self.by,
            "unit": self.unit,
            "tokens": {"src": self.source, "tgt": [one.output for one in self.targets]},
            "places": [one.position for one in self.targets],
            "chances": probabilities,
            "influence": [[_plain(value) for value in row] for row in self.attributions],
            "reach": [reach_of(row) for row in self.attributions],
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.targets, self.attributions, strict=True)
        body = [[one.name(), *map(self._shown, values)] for one, values in rows]
        return [["", *map(visible, self.source)], *body]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        if len(self.targets) == 1:
            head = f"{self.targets[0].in_words()}, by {self.by}"
            lines = text_grid(*self._bars(ascii), width, ascii)
        else:
            head = f"by {self.by}"
            names = [one.name() for one in self.targets]
            lines = text_grid(names, self.source, self._cells(ascii), width, ascii)
        key = self._key(ascii)
        lines += ["", *fold(key, width)] if key else []
        return [*fold(to_ascii(head) if ascii else head, width), "", *lines]

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Attribution for {self.model}",
            f"by {self.by}: {_MEANING[self.unit]}",
            self.caption,
            self.notes,
        )
        return self._strip(text) if len(self.targets) == 1 else self._heat_map(text)

    def _levels(self) -> Matrix:
        """The attributions scaled to -1 … 1; NaN is 0."""
        values = np.nan_to_num(self.attributions / self.scale, nan=0.0, posinf=1.0, neginf=-1.0)
        return np.asarray(values.clip(-1, 1))

    def _bars(self, ascii: bool) -> tuple[list[str], list[str], list[list[str]]]:
        """The attributions of one target as two rows of bars, for and against; attention as one."""
        levels = self._levels()
        if self.unit == "share":
            return ["fraction"], self.source, block_levels(levels, ascii=ascii, show_largest=True)
        sides = np.concatenate([levels, -levels]).clip(0, 1)
        names = ["for", "against"] if self.unit == "nats" else ["more", "less"]
        return names, self.source, block_levels(sides, ascii=ascii, show_largest=True)

    def _cells(self, ascii: bool) -> list[list[str]]:
        """A character for each number: bars for the target, shades against it."""
        above, below = (_ASCII_FOR, _ASCII_AGAINST) if ascii else (FOR, AGAINST)
        nothing = ASCII_BLOCKS[1] if ascii else BLOCKS[0]

        def cell(value: float) -> str:
            marks = above if value > 0 else below
            level = math.ceil(abs(value) * (len(marks) + 0.5) - 0.5)
            return marks[level - 1] if level > 0 else nothing

        return [[cell(value) for value in row] for row in self._levels()]

    def _key(self, ascii: bool) -> str:
        """What the characters of the heat map mean."""
        if len(self.targets) == 1 or self.unit == "share":
            return ""
        full = self._shown(self.scale)
        if ascii:
            return f"1 to 9 for it, a to i against it; 9 is {full}"
        return f"▁ to █ for it, ░ to ▓ against it; █ is {full}"

    def _strip(self, text: FigureText) -> Picture:
        levels = self._levels()[0]
        rows = zip(self.attributions[0], abs(levels) >= LEAST, strict=True)
        # Numbers too small to see get no label, but what is not a number (value != value) gets "?".
        labels = [self._shown(value) if large or value != value else "" for value, large in rows]
        strip = TokenStrip.of([visible(token) for token in self.source], labels)
        top = text.head_height() + 20
        width = max(strip.width() + 2 * MARGIN, _least_width(text))
        legend = top + strip.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        picture.text(self.targets[0].in_words(), (MARGIN, top - 6), TextStyle(13))
        strip.draw(picture, (MARGIN, top), levels, self._title)
        ends = self._ends()
        draw_signed_legend(picture, (MARGIN, legend), ends, self._legend(), behind_text=True)
        text.draw(picture, foot)
        return picture

    def _heat_map(self, text: FigureText) -> Picture:
        pitch = _pitch(max(len(self.source), len(self.targets)))
        above = AxisLabels.of(self.source, pitch)
        beside = AxisLabels.of([one.name() for one in self.targets], pitch)
        left, top = MARGIN + beside.length() + 8, text.head_height() + above.height()
        right = left + len(self.source) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, _least_width(text), left + 220)
        legend = top + len(self.targets) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        side = pitch - 1 if pitch >= 18 else pitch
        for (row, column), level in np.ndenumerate(self._levels()):
            box = left + column * pitch, top + row * pitch, side, side
            picture.rectangle(box, signed(float(level)), title=self._title(column, row))
        ends = self._ends()
        draw_signed_legend(picture, (left, legend), ends, self._legend(), behind_text=False)
        text.draw(picture, foot)
        return picture

    def _title(self, column: int, row: int = 0) -> str:
        value = self._shown(self.attributions[row, column])
        return f"{visible(self.source[column])} for {self.targets[row].name()}: {value}"

    def _ends(self) -> tuple[str, str]:
        low = "0" if self.unit == "share" else self._shown(-self.scale)
        return low, self._shown(self.scale)

    def _legend(self) -> str:
        labels = {"nats": "nats", "share": "fraction", "number": "contribution", "weight": "weight"}
        return labels[self.unit]

    def _shown(self, value: float) -> str:
        if math.isnan(value):
            return "?"
        # As many digits as the largest needs: small numbers are compared with each other, too.
        digits = max(2, 1 - math.floor(math.log10(self.scale)))
        text = f"{value:.{digits}f}" if self.unit == "share" else f"{value:+.{digits}f}"
        return text.replace("-0.", "+0.") if not float(text) else text

    def _caption(self, distance: bool) -> str:
        if not self.attributions.size:
            return "There is nothing to explain: the input or the output is empty."
        known = np.where(np.isnan(self.attributions), 0.0, self.attributions)
        if self.unit == "nats" and self.scale < NOISE:
            known = np.zeros_like(known)
        if self.unit == "weight":
            return self._forecast_weights(known)
        if len(self.targets) > 1:
            return " ".join(filter(None, [self._strongest(known), self._own(known)]))
        sentence = self._sides(known[0])
        return f"{self._reach(known[0])} {sentence}".strip() if distance else sentence

    def _reach(self, values: NDArray[np.float64]) -> str:
        """How many of the last tokens have nearly all of the attribution."""
        if not (count := reach_of(values)):
            return ""
        is_characters = all(len(token) == 1 or token in _BORDERS for token in self.source)
        unit = "character" if is_characters else "token"
        last = f"the last {unit}" if count == 1 else f"the last {count} {unit}s"
        return f"The next {unit} depends on {last} ({100 * MOST:.0f} % of the attribution)."

    def _forecast_weights(self, known: Matrix) -> str:
        """What the first step of the horizon depends on, and the last where there are more."""
        sentences = []
        for row in dict.fromkeys([0, len(self.targets) - 1]):
            best = int(abs(known[row]).argmax())
            if not known[row, best]:
                sentences.append(
                    f"No observation affects the forecast of {self.targets[row].output}."
                )
                continue
            count = reach_of(known[row])
            last = "the last step" if count == 1 else f"the last {count} of {len(known[row])} steps"
            sentences.append(
                f"The forecast of {self.targets[row].output} depends on {last}"
                f" ({100 * MOST:.0f} % of the attribution), most on {self.source[best]}"
                f" ({self._shown(known[row, best])})."
            )
        return " ".join(sentences)

    def _sides(self, values: NDArray[np.float64]) -> str:
        """The tokens with the largest attributions on either side."""
        target = self.targets[0].in_words()
        best, worst = self._named(values), self._named(-values)
        if not best and not worst:
            return f"No token affects {target}."
        if self.unit == "share":
            return f"{target} attends most to {best}."
        above, below = _SIDES[self.unit]
        nothing = f"No token {'raises' if self.unit == 'number' else 'supports'} {target}."
        sides = [f"{above} {target}: {best}." if best else nothing]
        return " ".join([*sides, *([f"{below}: {worst}."] if worst else [])])

    def _named(self, values: NDArray[np.float64]) -> str:
        """The tokens with the largest values that are not negligible, with their numbers."""
        order = np.argsort(-values, kind="stable")[:NAMED]
        large = [position for position in order if values[position] >= LEAST * self.scale]
        return ", ".join(
            f'"{visible(self.source[position])}" {self._shown(self.attributions[0, position])}'
            for position in large
        )

    def _strongest(self, known: Matrix) -> str:
        row, column = divmod(int(abs(known).argmax()), len(self.source))
        if not known[row, column]:
            return "No token affects any part of the output."
        token = f'"{visible(self.source[column])}" ({self._shown(known[row, column])})'
        target = self.targets[row].in_words()
        if self.unit == "share":
            return f"Largest: {target} attends to {token}."
        verb = _VERBS[self.unit][int(known[row, column] < 0)]
        return f"Largest: {target} is {verb} by {token}."

    def _own(self, known: Matrix) -> str:
        """In sequence labelling: how many labels depend most on the token that they label."""
        if not all(one.token for one in self.targets):
            return ""
        own = sum(
            int(abs(row).argmax()) == one.position - 1 and bool(row.any())
            for one, row in zip(self.targets, known, strict=True)
        )
        return f"{own} of {len(self.targets)} depend most on their own token."


def _checked(attributions: ArrayLike, shape: tuple[int, int]) -> Matrix:
    matrix = np.array(attributions, dtype=np.float64)
    if matrix.size == 0 and 0 in shape:
        matrix = matrix.reshape(shape)
    if matrix.shape != shape:
        raise ValueError(
            f"expected attributions of shape targets × source {shape}, got {matrix.shape}"
        )
    return matrix


def reach_of(values: NDArray[np.float64]) -> int:
    """How many of the last positions have 90 % of the absolute attribution; 0 if there is none."""
    sizes = np.where(np.isfinite(values), abs(values), 0.0)[::-1]
    if not (total := sizes.sum()) > 0:
        return 0
    return min(int(np.searchsorted(np.cumsum(sizes), MOST * total)) + 1, len(sizes))


def _least_width(text: FigureText) -> float:
    """Pixels that keep the title and the subtitle each on one line."""
    return max(text.width(), TextStyle(12).length(text.subtitle) + 2 * MARGIN)


def _pitch(longest: int) -> float:
    """Pixels of a cell: large for short sequences, small but labelled for long ones."""
    for limit, pitch in ((12, 32), (24, 24), (40, 18), (100, 12)):
        if longest <= limit:
            return pitch
    return max(3, 1200 // longest)


def _plain(value: float) -> float | None:
    """JSON has no NaN and no infinity: null."""
    return round(float(value), 6) if math.isfinite(value) else None
