"""The Transformer: every place looks at every other."""

from torch import nn

from ..nn.embedding import words_of
from ..nn.forecast.options import PLAIN_OUTLOOK, Outlook
from ..nn.output.heads import Output, Symbols
from ..nn.output.options import PLAIN_AIMS, Aims, learned
from ..nn.pooling import PoolingName
from ..nn.token_options import PLAIN_ENDS, Ends
from ..nn.transformer.encoder import TransformerStack
from ..nn.transformer.layers import PLAIN, Assembly
from ..nn.transformer.positions import START
from ..signature import PAD, Form, Signature
from .backbone import Reader


class Transformer(Reader):
    """Layers of attention: each place looks at those it may see (Vaswani et al., 2017).

    x_t     = E w_t + P_t                       symbol and position; √width E w_t with sinusoids
    q, k, v = W x                               in each layer, for every head a share of the numbers
    a_t     = Σ_s softmax_s(q_t · k_s / √d) v_s     d numbers for each head
    x       ← x + A [a₁; …; a_H]                    what the heads found, joined
    x       ← x + V gelu(U x)                       a small network at each place

    Each of the two sums is normalised, before it is read or after it is taken. To predict the next
    symbol a place sees only itself and what came before; for labels it sees the whole sequence.

    What is longer than the context of C symbols is read in blocks that overlap by half, H = C/2:
    the symbol at position p sees those from max(0, ⌊p/H⌋ - 1)·H on, between H and C of them. It is
    so however a text is cut into windows, and for single steps, which keep keys and values.

    Args:
        width: The width of the vector that stands for a symbol, and of all layers.
        layers: How many layers are stacked.
        context: How many symbols back can be seen at most; an even number.
        dropout: The share of numbers dropped while training: of the first vectors, and of what
            each part of a layer adds.
        pooling: How all states become one for a label of the whole: their mean, the largest of
            each number, the last, or a learned mean.
        assembly: How the layers are made.
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
        layers: int = 4,
        context: int = 256,
        dropout: float = 0.0,
        pooling: PoolingName = "mean",
        assembly: Assembly = PLAIN,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
        outlook: Outlook = PLAIN_OUTLOOK,
    ) -> None:
        causal = signature.form in (Form.NEXT, Form.FORECAST)
        body = TransformerStack(
            width,
            layers=layers,
            context=context,
            causal=causal,
            dropout=dropout,
            assembly=assembly,
        )
        super().__init__(
            signature,
            body,
            width=width,
            hidden=width,
            dropout=0.0,  # the body drops what it needs to
            pooling=pooling,
            looks_ahead=not causal,
            ends=ends,
            aims=aims,
            outlook=outlook,
        )
        if signature.form is Form.FORECAST:  # of real numbers the size matters, so they stay
            return
        # Sinusoids are as large as one, and vectors are multiplied by √width before they meet them;
        # but tied vectors that large would at first expect every symbol to come again.
        large = assembly.positions == "sinusoid" and not ends.tie_vectors
        spread = ends.spread or (width**-0.5 if large else START)
        start_ends(self.input, self.output, spread)


def start_ends(read: nn.Module, output: Output, spread: float) -> None:
    """Small numbers at both ends, so that at first all symbols are about as likely."""
    if isinstance(output, Symbols):
        nn.init.normal_(learned(output.scores), std=START)
        nn.init.zeros_(output.scores.bias)
    if (words := words_of(read)) is not None:  # of real numbers the size matters, so they stay
        nn.init.normal_(words.table.weight, std=spread)
        words.table.weight.data[PAD] = 0
