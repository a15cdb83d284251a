"""A network of convolutions over time."""

from typing import Literal

from ..errors import ModelError
from ..nn.convolution import TemporalConvolution
from ..nn.forecast.options import PLAIN_OUTLOOK, Outlook
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.pooling import Body, PoolingName
from ..nn.text_cnn import PLAIN_FILTERS, FilterBank, Filters
from ..nn.token_options import PLAIN_ENDS, Ends
from ..signature import Form, Signature
from .backbone import Reader, refuse_to_see_what_is_next


class Convolutional(Reader):
    """Residual convolutions, each block reaching twice as far as the one below (Bai et al., 2018).

    c_t = b + Σ_k W_k x_{t-k·d}                k = 0 … kernel-1;  d = 1, 2, 4, … from block to block
    F   = relu(c²(relu(c¹(x))))                two convolutions in a block
    x'  = relu(x + F(x))                       and a way around them
    y_t = softmax(V x_t + c)                   at each position; of all pooled into one for a label

    It sees the last 1 + 2 (kernel-1) (2^layers - 1) symbols. All places of a sequence are computed
    side by side, which makes it quicker to train than a recurrent network.

    For labels there are filters instead, of one size or several side by side (Kim, 2014):

    c^K_t = relu(b + Σ_k W_k x_{t+k})          k = 0 … K-1, for each size K; stacked, if you like
    y     = softmax(V [max_t c³_t; max_t c⁴_t; max_t c⁵_t] + c)      with pooling = max

    Args:
        width: The width of the vector that stands for a symbol.
        hidden: How many channels each convolution has.
        layers: How many residual blocks are stacked; each doubles how far is seen.
        kernel: How many places each convolution of a residual block sees.
        directions: See only what came before, or as far to both sides.
        dropout: The share of numbers dropped between layers while training.
        pooling: How all states become one for a label of the whole: their mean, the largest of
            each number, the last, or a learned mean.
        convolutions: Filters instead of residual blocks.
        ends: How symbols come in and go out.
        aims: What descent aims at beside the right answer.
        outlook: How a series is forecast.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

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
        convolutions: Filters = PLAIN_FILTERS,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
        outlook: Outlook = PLAIN_OUTLOOK,
    ) -> None:
        both = directions == "both"
        if both:
            refuse_to_see_what_is_next(signature)
        body: Body
        if convolutions.filters:
            _refuse_filters(signature, convolutions, layers, pooling)
            body = FilterBank(
                width, hidden, convolutions, layers=layers, both=both, dropout=dropout
            )
        else:
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
            aims=aims,
            outlook=outlook,
        )


def _refuse_filters(signature: Signature, made: Filters, layers: int, pooling: PoolingName) -> None:
    """Say what filters cannot do."""
    if signature.form in (Form.NEXT, Form.FORECAST):
        raise ModelError(
            "M321",
            "filters give labels; what comes next is what residual blocks predict",
            help=["--set model.filters=''   residual blocks, which never look ahead"],
        )
    if signature.form is Form.EACH and not made.keeps_length(layers):
        raise ModelError(
            "M321",
            "each position needs an answer of its own, and these filters leave some out",
            help=["--set model.padding=same --set model.stride=1 --set model.pool=none"],
        )
    if pooling == "attentive" and made.padding == "valid" and len(set(made.sizes())) > 1:
        raise ModelError(
            "M321",
            "pooling = attentive looks at whole places, and filters of several sizes end at"
            " different ones",
            help=["--set model.padding=same", "--set model.pooling=max"],
        )
