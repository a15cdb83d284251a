"""The feed-forward network over the last few symbols."""

from ..nn.feedforward import Window
from ..nn.forecast.options import PLAIN_OUTLOOK, Outlook
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.pooling import PoolingName
from ..nn.token_options import PLAIN_ENDS, Ends
from ..signature import Form, Signature
from .backbone import Reader


class WindowNetwork(Reader):
    """Sees the last n symbols at once, and none before them (Bengio et al., 2003).

    z_t = [E x_{t-n+1}; …; E x_t]      the vectors of the last n symbols, joined
    h_t = tanh(H z_t + d)              one hidden layer, or more of them
    y_t = softmax(U h_t + W z_t + b)   W only with direct connections

    Of real numbers it is a network with delay taps: without hidden layers ŷ_t = Σ_k W_k x_{t-k}.
    After the window nothing is remembered. For one label of the whole all h_t are pooled into one.

    Args:
        context: How many symbols are seen, the one just read among them: an n-gram of this network
            has one more.
        width: The width of the vector that stands for a symbol.
        hidden: The width of the hidden layers.
        layers: How many hidden layers there are; without any the joined vectors are multiplied
            once.
        direct: Whether the joined vectors also lead straight to the output.
        dropout: The share of numbers dropped between layers while training.
        pooling: How all states become one for a label of the whole: their mean, the largest of
            each number, the last, or a learned mean.
        ends: How symbols come in and go out.
        aims: What descent aims at beside the right answer.
        outlook: How a series is forecast.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        context: int = 4,
        width: int = 128,
        hidden: int = 128,
        layers: int = 1,
        direct: bool = False,
        dropout: float = 0.0,
        pooling: PoolingName = "mean",
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
        outlook: Outlook = PLAIN_OUTLOOK,
    ) -> None:
        body = Window(width, hidden, context=context, layers=layers, direct=direct, dropout=dropout)
        super().__init__(
            signature,
            body,
            width=width,
            hidden=body.outputs,
            dropout=dropout,
            pooling=pooling,
            ends=ends,
            aims=aims,
            outlook=outlook,
            context=context,
        )
