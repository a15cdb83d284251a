"""Recurrent neural networks: RNN, LSTM, GRU and other cells, in one direction or both."""

from ..config import Layers, Rate, Size
from ..nn.cells import CellName
from ..nn.cells.options import DEFAULT_RNN_OPTIONS, RNNOptions
from ..nn.forecast.options import DEFAULT_FORECAST_OPTIONS, ForecastOptions
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.pooling import PoolingName
from ..nn.rnn import RNN
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..signature import Form, Signature
from .backbone import BackboneModel, require_causal


class Recurrent(BackboneModel):
    """Recurrent neural network: LSTM, GRU and other cells, in one direction or both (BiLSTM).

    h_t = cell(E x_t, h_{t-1})
    y_t = softmax(W h_t + b)      at each position; of pooled h_t to classify a sequence

    Args:
        cell: Recurrent cell.
        embedding_size: Embedding size.
        hidden_size: Hidden size.
        num_layers: Number of stacked layers.
        bidirectional: Bidirectional: use the context on both sides of each position.
        dropout: Dropout rate between layers.
        pooling: Pooling of all states into one to classify a sequence: their mean, their maximum,
            the last state, the final states of all directions (ends), or attention pooling.
        rnn_options: Options of the recurrent cells and layers.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
        forecast_options: Options of forecasts.
    """

    forms = frozenset({Form.NEXT, Form.EACH, Form.WHOLE, Form.FORECAST})

    def __init__(
        self,
        signature: Signature,
        *,
        cell: CellName = "lstm",
        embedding_size: Size = 128,
        hidden_size: Size = 128,
        num_layers: Layers = 1,
        bidirectional: bool = False,
        dropout: Rate = 0.0,
        pooling: PoolingName = "mean",
        rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        forecast_options: ForecastOptions = DEFAULT_FORECAST_OPTIONS,
    ) -> None:
        if bidirectional:
            require_causal(signature)
        body = RNN(
            cell,
            embedding_size,
            hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            dropout=dropout,
            rnn_options=rnn_options,
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
