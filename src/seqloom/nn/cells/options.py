"""Options of recurrent layers, shared by all models with a recurrent cell."""

from dataclasses import dataclass, fields
from typing import Literal

from ...config import SizeOrZero
from ...errors import ModelError


@dataclass(frozen=True, kw_only=True)
class RNNOptions:
    """Options of the recurrent cells and of how they are stacked.

    Args:
        activation: Activation function of `elman` and `context` cells.
        forget_bias: Initial bias of the forget gate of an LSTM or the update gate of a GRU; 1.0 is
            common, and helps to remember from the start; 0 initialises it at random.
        span: Chrono initialisation (Tallec & Ollivier, 2018): the longest time dependency, in
            steps. The forget-gate biases start at log u, u uniform up to the span, the input-gate
            biases of an LSTM at -log u; 0 disables it.
        peepholes: Peephole connections of `lstm-peephole`: a full matrix for each gate, or
            diagonal, each unit seeing its own cell state alone.
        reset: Whether a GRU applies its reset gate after or before the product with U.
        start: Initialisation of the recurrent matrices: uniform, orthogonal, or the identity with
            small input weights and no bias (Le et al., 2015).
        join: How the outputs of two directions are merged: concatenated, each half as wide, or
            summed.
        initial_state: Whether the initial state is zero or learned.
        first_bias: Whether the first step has a bias of its own.
        skip: Skip connection through time: each step also reads the output of so many steps
            before, by a matrix of its own; 0 disables it.
        residual: Residual connections: each layer above the first adds its input to its output.
        recurrent_dropout: Dropout rate of the state before the product with U, one mask for all
            steps of a sequence (Gal & Ghahramani, 2016).
        zoneout: Zoneout rate (Krueger et al., 2017): the fraction of units that keep their state,
            sampled at every step.
        layer_norm: Layer normalisation of the products W x and U h, each gate by itself (Ba et
            al., 2016).
        tied: Share one cell among all layers of the same shape.
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
    skip: SizeOrZero = 0
    residual: bool = False
    recurrent_dropout: float = 0.0
    zoneout: float = 0.0
    layer_norm: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        for name in ("recurrent_dropout", "zoneout"):
            if not 0 <= getattr(self, name) < 1:
                raise ModelError("M124", f"{name} must be in [0, 1) (got {getattr(self, name):g})")
        if self.span and (self.span < 3 or self.forget_bias):
            raise ModelError(
                "M124",
                f"span = {self.span}: expected 3 or more, with forget_bias = 0",
                help=["--set model.span=0   no chrono initialisation"],
            )
        if self.skip == 1 or self.skip < 0:
            raise ModelError(
                "M124",
                f"skip = {self.skip}: a skip connection spans two steps or more",
                help=["--set model.skip=0   no skip connection"],
            )

    def non_default(self) -> set[str]:
        """The options that differ from their defaults."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}


DEFAULT_RNN_OPTIONS = RNNOptions()
CELL_OPTIONS = frozenset(
    {"activation", "forget_bias", "span", "peepholes", "reset"}
)  # of some cells only: a cell lists those it has in `own_options`


def check_cell_options(
    name: str, own: frozenset[str], unsupported: dict[str, str], rnn_options: RNNOptions
) -> None:
    """Raise an error for an option that the cell does not have, with the reason."""
    for option in sorted(rnn_options.non_default()):
        reason = unsupported.get(option)
        if option in CELL_OPTIONS - own:
            reason = f"it has no {option.replace('_', ' ')}"
        if reason:
            raise ModelError(
                "M124",
                f"{name!r} cannot have {option} = {getattr(rnn_options, option)}: {reason}",
                help=[f"leave {option} out, or choose another cell"],
            )
