"""A network of convolutions over time."""

from typing import Literal

from ..forms import Form, Signature
from ..nn.convolution import TemporalConvolution
from ..nn.ends import PLAIN_ENDS, Ends
from ..nn.pooling import PoolingName
from .reader import Reader, refuse_to_see_what_is_next


class Convolutional(Reader):
    """Residual convolutions, each block reaching twice as far as the one below (Bai et al., 2018).

    c_t = b + Σ_k W_k x_{t-k·d}                k = 0 … kernel-1;  d = 1, 2, 4, … from block to block
    F   = relu(c²(relu(c¹(x))))                two convolutions in a block
    x'  = relu(x + F(x))                       and a way around them
    y_t = softmax(V x_t + c)                   at each position; of all pooled into one for a label

    It sees the last 1 + 2 (kernel-1) (2^layers - 1) symbols. All places of a sequence are computed
    side by side, which makes it quicker to train than a recurrent network.

    Args:
        width: The width of the vector that stands for a symbol.
        hidden: How many channels each convolution has.
        layers: How many residual blocks are stacked; each doubles how far is seen.
        kernel: How many places each convolution sees.
        directions: See only what came before, or as far to both sides.
        dropout: The share of numbers dropped between layers while training.
        pooling: How all states become one for a label of the whole: their mean, the largest of
            each number, the last, or a learned mean.
        ends: How symbols come in and go out.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE})

    def __init__(
        self,
        signature: Signature,
        *,
        width: int = 128,
        hidden: int = 128,
        layers: int = 4,
        kernel: int = 3,
        directions: Literal["forward", "both"] = "forward",
        dropout: float = 0.0,
        pooling: PoolingName = "mean",
        ends: Ends = PLAIN_ENDS,
    ) -> None:
        both = directions == "both"
        if both:
            refuse_to_see_what_is_next(signature)
        body = TemporalConvolution(
            width, hidden, layers=layers, kernel=kernel, both=both, dropout=dropout
        )
        super().__init__(
            signature,
            body,
            width=width,
            hidden=hidden,
            dropout=dropout,
            pooling=pooling,
            looks_ahead=both,
            ends=ends,
        )
