"""The Transformer: layers of multi-head self-attention (Vaswani et al., 2017)."""

from torch import nn

from ..config import Layers, Rate, Size, Steps
from ..nn.embedding import word_embedding
from ..nn.forecast.options import DEFAULT_FORECAST_OPTIONS, ForecastOptions
from ..nn.output.heads import OutputLayer, SoftmaxOutput
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions, unconstrained_weight
from ..nn.pooling import PoolingName
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..nn.transformer.encoder import TransformerStack
from ..nn.transformer.layers import DEFAULT_TRANSFORMER_OPTIONS, TransformerOptions
from ..nn.transformer.positions import INIT_STD
from ..signature import PAD, Form, Signature
from .backbone import BackboneModel


class Transformer(BackboneModel):
    """Transformer: self-attention layers, causal for language models (Vaswani et al., 2017).

    x_t     = E w_t + P_t                       embeddings; √hidden_size E w_t with sinusoids
    q, k, v = W x                               in each layer, split into heads
    a_t     = Σ_s softmax_s(q_t · k_s / √d) v_s     attention; heads have d components
    x       ← x + A [a₁; …; a_H]                    all heads, concatenated
    x       ← x + V gelu(U x)                       position-wise feed-forward network

    Each of the two sublayers has layer normalisation, before it or after its residual sum. To
    predict the next token, attention is causal; for labels each position attends to all.

    Texts longer than the context of C tokens are read in blocks that overlap by half, H = C/2: the
    token at position p attends to those from max(0, ⌊p/H⌋ - 1)·H on, between H and C of them. This
    does not depend on how a text is cut into segments; single steps keep keys and values (KV
    cache).

    Args:
        hidden_size: Hidden size. Embeddings have the same size.
        num_layers: Number of stacked layers.
        context: Context size: the most tokens attended to; an even number.
        dropout: Dropout rate between layers: of embeddings, and of the output of each sublayer.
        pooling: Pooling of all states into one to classify a sequence: their mean, their maximum,
            the last state, the final states of all directions (ends), or attention pooling.
        transformer_options: Options of Transformer layers.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
        forecast_options: Options of forecasts.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        hidden_size: Size = 128,
        num_layers: Layers = 4,
        context: Steps = 256,
        dropout: Rate = 0.0,
        pooling: PoolingName = "mean",
        transformer_options: TransformerOptions = DEFAULT_TRANSFORMER_OPTIONS,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        forecast_options: ForecastOptions = DEFAULT_FORECAST_OPTIONS,
    ) -> None:
        causal = signature.form in (Form.NEXT, Form.FORECAST)
        body = TransformerStack(
            hidden_size,
            num_layers=num_layers,
            context=context,
            causal=causal,
            dropout=dropout,
            transformer_options=transformer_options,
        )
        super().__init__(
            signature,
            body,
            embedding_size=hidden_size,
            hidden_size=hidden_size,
            dropout=0.0,  # the body has its own dropout
            pooling=pooling,
            looks_ahead=not causal,
            token_options=token_options,
            loss_options=loss_options,
            forecast_options=forecast_options,
        )
        if signature.form is Form.FORECAST:  # real numbers keep the initialisation of their layer
            return
        # Sinusoids have components up to 1, and embeddings are multiplied by √hidden_size before
        # they are added. Tied embeddings must stay small: as output weights, large ones would at
        # first predict every input token to be repeated.
        large = transformer_options.positions == "sinusoid" and not token_options.tie_embeddings
        std = token_options.spread or (hidden_size**-0.5 if large else INIT_STD)
        init_embeddings(self.input, self.output, std)


def init_embeddings(input_layer: nn.Module, output: OutputLayer, std: float) -> None:
    """Small normal weights at both ends: at first all tokens are about equally probable."""
    if isinstance(output, SoftmaxOutput):
        nn.init.normal_(unconstrained_weight(output.scores), std=INIT_STD)
        nn.init.zeros_(output.scores.bias)
    words = word_embedding(input_layer)
    if words is not None:  # layers of real numbers keep their own initialisation
        nn.init.normal_(words.table.weight, std=std)
        words.table.weight.data[PAD] = 0
