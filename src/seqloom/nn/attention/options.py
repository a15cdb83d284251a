"""How a decoder looks back at its source: the options of attention."""

from dataclasses import dataclass
from typing import Literal

from ...errors import ModelError

AttentionName = Literal[
    "none", "dot", "general", "additive", "scaled", "location", "local", "multi-head"
]


@dataclass(frozen=True, kw_only=True)
class Attending:
    """How a decoder looks back at its source.

    Args:
        attention: How places of the source are scored; "none" leaves only what the bridge and the
            context bring.
        attention_width: The width of the small network that scores the places, for additive and
            location.
        attention_window: How many places to either side local sees of the one it expects, and how
            many location sees of the weights before.
        heads: For multi-head: in how many ways at once it looks.
        query: What asks: the state after reading the last symbol (Luong et al., 2015), or the one
            before it, the context then being read with that symbol (Bahdanau et al., 2015).
        attentional: Whether context and state are mixed, tanh(A [c; h]), before symbols are scored.
        input_feeding: Whether the attentional state is read with the next symbol (Luong et al.,
            2015), so that the decoder knows where it has looked.
        coverage: How much looking twice at a place costs in training (See et al., 2017); 0 is
            nothing.
        copy: Whether symbols of the source can be copied, also those the vocabulary lacks (See et
            al., 2017).
    """

    attention: AttentionName = "additive"
    attention_width: int = 128
    attention_window: int = 10
    heads: int = 4
    query: Literal["current", "previous"] = "current"
    attentional: bool = True
    input_feeding: bool = False
    coverage: float = 0.0
    copy: bool = False

    def __post_init__(self) -> None:
        for name in ("attention_width", "attention_window", "heads"):
            if getattr(self, name) < 1:
                raise ModelError(
                    "M200",
                    f"{name} = {getattr(self, name)}: expected 1 or more",
                    help=[f"leave {name} out"],
                )
        if self.coverage < 0:
            raise ModelError(
                "M200",
                f"coverage = {self.coverage:g}: to look twice would be rewarded",
                help=["--set model.coverage=1   See et al. took 1; 0 is no penalty"],
            )
        if self.attention == "none":
            self._refuse_without_attention()
        if self.input_feeding and not self.attentional:
            raise ModelError(
                "M201",
                "input_feeding hands on the attentional state, and attentional is false",
                help=["--set model.attentional=true", "--set model.input_feeding=false"],
            )

    def _refuse_without_attention(self) -> None:
        needs = {
            "query": self.query == "previous",
            "input_feeding": self.input_feeding,
            "coverage": self.coverage > 0,
            "copy": self.copy,
        }
        if chosen := [name for name, needed in needs.items() if needed]:
            raise ModelError(
                "M201",
                f"{' and '.join(chosen)} cannot be had without attention: nobody looks anywhere",
                help=["--set model.attention=additive", f"leave {' and '.join(chosen)} out"],
            )


ATTENTIVE = Attending()
