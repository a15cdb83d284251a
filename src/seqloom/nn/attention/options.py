"""Options of a decoder's attention: score function, input feeding, coverage, copying."""

from dataclasses import dataclass
from typing import Literal

from ...config import Size
from ...errors import ModelError

AttentionName = Literal[
    "none", "dot", "general", "additive", "scaled", "location", "local", "multi-head"
]


@dataclass(frozen=True, kw_only=True)
class AttentionOptions:
    """Attention of a recurrent decoder over the encoder outputs.

    Args:
        attention: Score function of the attention; "none" leaves only what the bridge and the
            context bring.
        attention_width: Hidden size of the score function, for additive and location.
        attention_window: Half the window size, in positions: for local around the position it
            expects, for location over the previous attention weights.
        num_heads: Number of attention heads, for multi-head.
        query: Decoder state used as the query: the current one (Luong et al., 2015), or the
            previous one, whose context is then an input of the step (Bahdanau et al., 2015).
        attentional: Combine context and state into an attentional state, tanh(A [c; h]), before
            the softmax.
        input_feeding: Input feeding: the attentional state is an input of the next step (Luong et
            al., 2015), so that the decoder knows which positions it has attended to.
        coverage: Weight of the coverage loss, which penalises attending to a position twice (See
            et al., 2017); 0 disables it.
        copy: Copy tokens of the source, also those outside the vocabulary: a pointer-generator
            (See et al., 2017).
    """

    attention: AttentionName = "additive"
    attention_width: Size = 128
    attention_window: int = 10
    num_heads: int = 4
    query: Literal["current", "previous"] = "current"
    attentional: bool = True
    input_feeding: bool = False
    coverage: float = 0.0
    copy: bool = False

    def __post_init__(self) -> None:
        for name in ("attention_width", "attention_window", "num_heads"):
            if getattr(self, name) < 1:
                raise ModelError(
                    "M200",
                    f"{name} = {getattr(self, name)}: expected 1 or more",
                    help=[f"leave {name} out"],
                )
        if self.coverage < 0:
            raise ModelError(
                "M200",
                f"coverage = {self.coverage:g}: expected 0 or more; below 0 repetition is rewarded",
                help=["--set model.coverage=1   as See et al. (2017); 0 disables it"],
            )
        if self.attention == "none":
            self._require_attention()
        if self.input_feeding and not self.attentional:
            raise ModelError(
                "M201",
                "input_feeding needs the attentional state, and attentional is false",
                help=["--set model.attentional=true", "--set model.input_feeding=false"],
            )

    def _require_attention(self) -> None:
        needs = {
            "query": self.query == "previous",
            "input_feeding": self.input_feeding,
            "coverage": self.coverage > 0,
            "copy": self.copy,
        }
        if chosen := [name for name, needed in needs.items() if needed]:
            raise ModelError(
                "M201",
                f"{' and '.join(chosen)} cannot be had without attention",
                help=["--set model.attention=additive", f"leave {' and '.join(chosen)} out"],
            )


DEFAULT_ATTENTION_OPTIONS = AttentionOptions()
