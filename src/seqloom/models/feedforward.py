"""Feed-forward neural networks over a fixed context window of the last tokens."""

from ..config import LayersOrZero, Rate, Size, Steps
from ..nn.feedforward import NGramMLP
from ..nn.forecast.options import DEFAULT_FORECAST_OPTIONS, ForecastOptions
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.pooling import PoolingName
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..signature import Form, Signature
from .backbone import BackboneModel


class Feedforward(BackboneModel):
    """Feed-forward network over a window of the last n tokens (NPLM; Bengio et al., 2003).

    z_t = [E x_{t-n+1}; …; E x_t]      embeddings of the last n tokens, concatenated
    h_t = tanh(H z_t + d)              one hidden layer or more
    y_t = softmax(U h_t + W z_t + b)   W only with direct connections

    On real numbers it is a time-delay network; without hidden layers an autoregression,
    ŷ_t = Σ_k W_k x_{t-k}. To classify a sequence, all h_t are pooled into one.

    Args:
        context: Context size: number of tokens read, the current one included. An n-gram model of
            the same context has order n + 1.
        embedding_size: Embedding size.
        hidden_size: Hidden size.
        num_layers: Number of stacked layers. Without any, 0, the network is linear.
        direct: Direct connections from the embeddings to the output layer, W above.
        dropout: Dropout rate between layers.
        pooling: Pooling of all states into one to classify a sequence: their mean, their maximum,
            the last state, the final states of all directions (ends), or attention pooling.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
        forecast_options: Options of forecasts.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        context: Steps = 4,
        embedding_size: Size = 128,
        hidden_size: Size = 128,
        num_layers: LayersOrZero = 1,
        direct: bool = False,
        dropout: Rate = 0.0,
        pooling: PoolingName = "mean",
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        forecast_options: ForecastOptions = DEFAULT_FORECAST_OPTIONS,
    ) -> None:
        body = NGramMLP(
            embedding_size,
            hidden_size,
            context=context,
            num_layers=num_layers,
            direct=direct,
            dropout=dropout,
        )
        super().__init__(
            signature,
            body,
            embedding_size=embedding_size,
            hidden_size=body.outputs,
            dropout=dropout,
            pooling=pooling,
            token_options=token_options,
            loss_options=loss_options,
            forecast_options=forecast_options,
            context=context,
        )
        self.context_length = context  # tokens that are read: nothing before them has an effect
