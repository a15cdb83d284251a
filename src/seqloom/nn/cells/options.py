"""How the cells of a recurrence are made and joined: the options every recurrent model shares."""

from dataclasses import dataclass, fields
from typing import Literal

from ...errors import ModelError


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """How the cells of a recurrence are made and joined.

    Args:
        activation: The bend of elman and of context.
        forget_bias: What the bias of the gate that keeps the state starts at, the forget gate of an
            LSTM or the update gate of a GRU: high, it remembers from the first day; 0 leaves it to
            chance like the other biases.
        span: Up to how many steps the units of a gated cell remember at first, spread from two on:
            the biases of the gate that keeps are drawn for it, those of an LSTM's input gate
            against it (Tallec & Ollivier, 2018); 0 leaves it to forget_bias.
        peepholes: What the gates of lstm-peephole see of the memory: all of it, or their own unit.
        reset: Whether a GRU's reset gate works before or after the product with U.
        start: Where the recurrent matrices start: small random numbers, a rotation, or the identity
            with small input weights and no bias (Le et al., 2015).
        join: How two directions become one: side by side, each half as wide, or as a sum.
        initial_state: Whether the first state is zero or learned.
        first_bias: Whether the first step has biases of its own.
        skip: Over how many steps a shortcut through time reaches, with a matrix of its own; 0 is
            none.
        residual: Whether each layer above the first adds its input to its output.
        recurrent_dropout: The share of numbers dropped from the state before the product with U,
            the same ones at every step of a sequence.
        zoneout: The share of numbers of a state that stay as they were, drawn at every step.
        layer_norm: Whether the products W x and U h are normalised, each gate by itself.
        tied: Whether all layers of the same shape share one cell.
    """

    activation: Literal["tanh", "sigmoid", "relu"] = "tanh"
    forget_bias: float = 0.0
    span: int = 0
    peepholes: Literal["full", "diagonal"] = "full"
    reset: Literal["after", "before"] = "after"
    start: Literal["uniform", "orthogonal", "identity"] = "uniform"
    join: Literal["concatenate", "sum"] = "concatenate"
    initial_state: Literal["zero", "learned"] = "zero"
    first_bias: bool = False
    skip: int = 0
    residual: bool = False
    recurrent_dropout: float = 0.0
    zoneout: float = 0.0
    layer_norm: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        for name in ("recurrent_dropout", "zoneout"):
            if not 0 <= getattr(self, name) < 1:
                raise ModelError("M124", f"{name} must be at least 0 and below 1")
        if self.span and (self.span < 3 or self.forget_bias):
            raise ModelError(
                "M124",
                f"span = {self.span}: it must be 3 or more, and forget_bias 0",
                help=["--set model.span=0   leave it to forget_bias"],
            )
        if self.skip == 1 or self.skip < 0:
            raise ModelError(
                "M124",
                f"skip = {self.skip}: a shortcut must reach over two steps or more",
                help=["--set model.skip=0   no shortcut"],
            )

    def chosen(self) -> set[str]:
        """The options that differ from their defaults."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}


PLAIN = Wiring()
SPECIAL = frozenset(
    {"activation", "forget_bias", "span", "peepholes", "reset"}
)  # only some cells have it


def refuse_impossible(
    name: str, takes: frozenset[str], refuses: dict[str, str], wiring: Wiring
) -> None:
    """Say which chosen option a cell cannot have, and why."""
    for option in sorted(wiring.chosen()):
        reason = refuses.get(option)
        if option in SPECIAL - takes:
            reason = f"it has no {option.replace('_', ' ')}"
        if reason:
            raise ModelError(
                "M124",
                f"{name!r} cannot have {option} = {getattr(wiring, option)}: {reason}",
                help=[f"leave {option} out, or choose another cell"],
            )
