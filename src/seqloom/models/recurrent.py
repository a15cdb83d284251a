"""A recurrent network of any cell."""

from typing import Literal

from ..nn.cells import CellName
from ..nn.cells.options import PLAIN, Wiring
from ..nn.forecast.options import PLAIN_OUTLOOK, Outlook
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.pooling import PoolingName
from ..nn.rnn import Recurrence
from ..nn.token_options import PLAIN_ENDS, Ends
from ..signature import Form, Signature
from .backbone import Reader, refuse_to_see_what_is_next


class Recurrent(Reader):
    """Reads from left to right, or both ways, carrying a state.

    h_t = cell(E x_t, h_{t-1})
    y_t = softmax(W h_t + b)      at each position; of all h_t pooled into one for one label

    Args:
        cell: The kind of recurrence.
        width: The width of the vector that stands for a symbol.
        hidden: The width of the state.
        layers: How many cells are stacked.
        directions: Read from the left alone, or from both sides.
        dropout: The share of numbers dropped between layers while training.
        pooling: How all states become one for a label of the whole: their mean, the largest of
            each number, the last, both ends joined, or a learned mean.
        wiring: How the cells are made and joined.
        ends: How symbols come in and go out.
        aims: What descent aims at beside the right answer.
        outlook: How a series is forecast.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        cell: CellName = "lstm",
        width: int = 128,
        hidden: int = 128,
        layers: int = 1,
        directions: Literal["forward", "both"] = "forward",
        dropout: float = 0.0,
        pooling: PoolingName = "mean",
        wiring: Wiring = PLAIN,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
        outlook: Outlook = PLAIN_OUTLOOK,
    ) -> None:
        both = directions == "both"
        if both:
            refuse_to_see_what_is_next(signature)
        body = Recurrence(
            cell, width, hidden, layers=layers, both=both, dropout=dropout, wiring=wiring
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
