"""What of the inside is shown, and how: the options of all views in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..config import problems
from ..decoding import Sampling
from ..errors import UsageError
from ..prediction import Search

LAST = -1  # a number that leaves the choice to the view
NUMBERED = ("layer", "head", "cell", "at")
CANDIDATES = 4  # that a tree has, where nobody says how many


@dataclass(frozen=True, kw_only=True)
class Inspecting:
    """What of the inside is shown, and how.

    Args:
        view: The kind of picture, such as attention; empty takes the first that a run has.
        layer: Which of the layers that a view lists, the first being 0; -1 takes the last.
        head: Which head of the layer, the first being 0; -1 takes the mean of all.
        cell: Which cell of the layer, the first being 0; -1 takes the one with the clearest story.
        at: Which place of what is read, or of what is written, the first being 0; -1 takes the
            last, or all of them.
        by: How influence is found out: posterior, occlusion, gradient or attention; empty takes the
            best there is.
        temperature: Below 1 the likely becomes likelier, above 1 the choice becomes wilder; 0
            always takes the likeliest.
        top_k: Only so many of the likeliest symbols are drawn from; 0 draws from all.
        top_p: Only the likeliest symbols that have this share of the probability together are
            drawn from; 1 draws from all.
        min_p: Only symbols that have at least this share of the likeliest one's probability are
            drawn from; 0 draws from all.
        beam: How many candidates are kept where an answer is searched for; 0 keeps one, and in the
            view beam as many as 4.
        length_penalty: Scores are divided by length to this power; 0 favours short answers.
        prefix: The text that every answer of the view beam begins with.
        limit: The most symbols an answer has in the view beam; 0 allows 100, and 12 where a text
            goes on.
        edit: What is changed inside, or in what is read, and compared with before: mute layer=0
            head=1, clamp layer=0 cell=5 value=0, or replace at=3 by=word; several one after
            another.
    """

    view: str = ""
    layer: int = LAST
    head: int = LAST
    cell: int = LAST
    at: int = LAST
    by: str = ""
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    beam: int = 0
    length_penalty: float = 1.0
    prefix: str = ""
    limit: int = 0
    edit: str = ""

    def __post_init__(self) -> None:
        for name in (*NUMBERED, "beam", "limit"):
            least = LAST if name in NUMBERED else 0
            if (value := getattr(self, name)) < least:
                raise UsageError(
                    "U350", f"{name} {value}: expected a whole number of at least {least}"
                )
        self.sampling()
        self.search()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Inspecting":
        """From options by name; all that is wrong with them is told at once."""
        if wrong := problems(cls, given):
            raise UsageError("U350", wrong[0], notes=wrong[1:])
        return cls(**{name: _number(cls, name, value) for name, value in given.items()})

    def given(self) -> list[str]:
        """The options that are not as they would be by themselves, but for the view."""
        return [
            field.name
            for field in fields(self)
            if field.name != "view" and getattr(self, field.name) != field.default
        ]

    def sampling(self) -> Sampling:
        """How a symbol would be drawn."""
        return Sampling(
            temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, min_p=self.min_p
        )

    def search(self) -> Search:
        """How an answer is looked for."""
        return Search(beam=self.beam or 1, length_penalty=self.length_penalty)


def _number(kind: type, name: str, value: Any) -> Any:
    """A whole number where a number is wanted is one."""
    is_real = any(field.name == name and field.type is float for field in fields(kind))
    return float(value) if is_real else value
