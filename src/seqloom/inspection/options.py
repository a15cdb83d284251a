"""Options of all views: which one, of which layer, head, cell or position, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..config import problems
from ..decoding import Sampling
from ..errors import UsageError
from ..prediction import Search

LAST = -1  # leaves the choice to the view
NUMBERED = ("layer", "head", "cell", "at")
DEFAULT_BEAM = 4  # of the view beam


@dataclass(frozen=True, kw_only=True)
class InspectionOptions:
    """Which view of a model is made, and how.

    Args:
        view: The kind of view, such as attention; empty takes the first that a run has.
        layer: Which of the layers that a view lists, the first being 0; -1 takes the last.
        head: Which attention head of the layer, the first being 0; -1 takes the mean of all.
        cell: Which cell of the layer, the first being 0; -1 takes the one that follows a feature
            of the input most clearly.
        at: Which position of the input, or of the output, the first being 0; -1 takes the last, or
            all of them.
        by: Attribution method: posterior, occlusion, gradient or attention; empty takes the best
            that applies.
        temperature: Sampling temperature; below 1 is more conservative, above 1 more diverse; 0
            always takes the most probable token.
        top_k: Sample among the k most probable tokens only; 0 disables it.
        top_p: Sample among the fewest most probable tokens whose probabilities sum to this
            (nucleus sampling); 1 disables it.
        min_p: Sample among tokens that are at least this fraction as probable as the most probable
            one; 0 disables it.
        beam: Beam size of the search for a prediction; 0 is 1, and up to 4 in the view beam.
        length_penalty: Log-probabilities are divided by length to this power; 0 favours short
            outputs.
        prefix: Text that every output of the view beam begins with.
        limit: Maximum number of tokens of an output; 0 is half as many again as the longest target
            in training has, and at least 100; 12 for the continuation of a text in the view beam.
        edit: Interventions, to compare with the model as it is: mute layer=0 head=1, clamp layer=0
            cell=5 value=0, or replace at=3 by=word; several one after another.
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
    def of(cls, given: Mapping[str, Any]) -> "InspectionOptions":
        """From options by name; one error reports all that are wrong."""
        if wrong := problems(cls, given):
            raise UsageError("U350", wrong[0], notes=wrong[1:])
        return cls(**{name: _number(cls, name, value) for name, value in given.items()})

    def changed(self) -> list[str]:
        """The options that differ from their defaults, except for the view."""
        return [
            field.name
            for field in fields(self)
            if field.name != "view" and getattr(self, field.name) != field.default
        ]

    def sampling(self) -> Sampling:
        """The sampling options."""
        return Sampling(
            temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, min_p=self.min_p
        )

    def search(self) -> Search:
        """The search options."""
        return Search(beam=self.beam or 1, length_penalty=self.length_penalty, limit=self.limit)


def _number(kind: type, name: str, value: Any) -> Any:
    """The value, as a float where the option is one: JSON has whole numbers for both."""
    is_real = any(field.name == name and field.type is float for field in fields(kind))
    return float(value) if is_real else value
