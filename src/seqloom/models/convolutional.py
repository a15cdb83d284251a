"""Convolutional networks over time: TCN (Bai et al., 2018) and TextCNN (Kim, 2014)."""

from ..config import Layers, Rate, Size
from ..errors import ModelError
from ..nn.convolution import TemporalConvolution
from ..nn.forecast.options import DEFAULT_FORECAST_OPTIONS, ForecastOptions
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.pooling import Body, PoolingName
from ..nn.text_cnn import DEFAULT_TEXT_CNN_OPTIONS, TextCNN, TextCNNOptions
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..signature import Form, Signature
from .backbone import BackboneModel, require_causal


class Convolutional(BackboneModel):
    """Temporal convolutional network (TCN; Bai et al., 2018), or a CNN with filters (Kim, 2014).

    c_t = b + Σ_k W_k x_{t-k·d}                k = 0 … kernel-1;  dilation d = 1, 2, 4, … by block
    F   = relu(c²(relu(c¹(x))))                two convolutions in a block
    x'  = relu(x + F(x))                       and a residual connection
    y_t = softmax(V x_t + c)                   at each position; of pooled x' to classify a sequence

    The receptive field is the last 1 + 2 (kernel-1) (2^layers - 1) tokens. All positions are
    computed in parallel, so it trains faster than a recurrent network.

    For labels there are also filters, of one size or of several in parallel (TextCNN; Kim, 2014):

    c^K_t = relu(b + Σ_k W_k x_{t+k})          k = 0 … K-1, for each size K; in one layer or more
    y     = softmax(V [max_t c³_t; max_t c⁴_t; max_t c⁵_t] + c)      with pooling = max

    Args:
        embedding_size: Embedding size.
        hidden_size: Hidden size. The number of channels of each convolution.
        num_layers: Number of stacked layers. Each residual block doubles the receptive field.
        kernel: Kernel size of the convolutions in residual blocks.
        bidirectional: Bidirectional: use the context on both sides of each position.
        dropout: Dropout rate between layers.
        pooling: Pooling of all states into one to classify a sequence: their mean, their maximum,
            the last state, the final states of all directions (ends), or attention pooling.
        text_cnn_options: Options of the filters, which replace residual blocks.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
        forecast_options: Options of forecasts.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        embedding_size: Size = 128,
        hidden_size: Size = 128,
        num_layers: Layers = 4,
        kernel: Size = 3,
        bidirectional: bool = False,
        dropout: Rate = 0.0,
        pooling: PoolingName = "mean",
        text_cnn_options: TextCNNOptions = DEFAULT_TEXT_CNN_OPTIONS,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        forecast_options: ForecastOptions = DEFAULT_FORECAST_OPTIONS,
    ) -> None:
        if bidirectional:
            require_causal(signature)
        body: Body
        if text_cnn_options.filters:
            _check_filters(signature, text_cnn_options, num_layers, pooling)
            body = TextCNN(
                embedding_size,
                hidden_size,
                text_cnn_options,
                num_layers=num_layers,
                bidirectional=bidirectional,
                dropout=dropout,
            )
        else:
            body = TemporalConvolution(
                embedding_size,
                hidden_size,
                num_layers=num_layers,
                kernel=kernel,
                bidirectional=bidirectional,
                dropout=dropout,
            )
        super().__init__(
            signature,
            body,
            embedding_size=embedding_size,
            hidden_size=hidden_size,
            dropout=dropout,
            pooling=pooling,
            looks_ahead=bidirectional,
            token_options=token_options,
            loss_options=loss_options,
            forecast_options=forecast_options,
        )


def _check_filters(
    signature: Signature, text_cnn_options: TextCNNOptions, num_layers: int, pooling: PoolingName
) -> None:
    """Raise an error for what filters cannot do."""
    if signature.form in (Form.NEXT, Form.FORECAST):
        raise ModelError(
            "M321",
            "filters see both sides of a position, so they cannot predict what comes next",
            help=["--set model.filters=''   residual blocks, which are causal"],
        )
    if signature.form is Form.EACH and not text_cnn_options.keeps_length(num_layers):
        raise ModelError(
            "M321",
            "each position needs an output of its own, and these filters shorten the sequence",
            help=["--set model.padding=same --set model.stride=1 --set model.pool=none"],
        )
    if (
        pooling == "attentive"
        and text_cnn_options.padding == "valid"
        and len(set(text_cnn_options.sizes())) > 1
    ):
        raise ModelError(
            "M321",
            "pooling = attentive needs outputs of the same length, and filters of several sizes"
            " have different ones",
            help=["--set model.padding=same", "--set model.pooling=max"],
        )
