"""Backbone models: an input layer, a body, and an output layer.

Most neural models have this shape and differ in their body alone: an RNN, a feed-forward network
over a context window, convolutions, a stack of Transformer layers.
"""

from abc import ABC
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from ..batch import Batch, Sequences, begin_value
from ..data.text.word_vectors import read_embeddings
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Prediction, Search, State
from ..nn.dropout import SequenceDropout
from ..nn.embedding import Embedding, input_layer, to_tensors, word_embedding
from ..nn.forecast.distributions import DISTRIBUTIONS
from ..nn.forecast.heads import DirectOutput, NextStepOutput
from ..nn.forecast.options import DEFAULT_FORECAST_OPTIONS, ForecastOptions
from ..nn.forecast.windows import ForecastBatch, patched_space, patches
from ..nn.output.heads import OutputLayer, SoftmaxOutput, output_layer
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.pooling import Body, HasFinalState, Pooling, PoolingName
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..prediction import BernoulliLogits, Hypothesis
from ..signature import TARGET_SPACES, Bits, Form, Labels, Series, Signature
from .forecaster import (
    DirectForecaster,
    Forecaster,
    ForecastStepper,
    RecursiveForecaster,
    series_spaces,
)
from .neural import Neural
from .streaming import BackboneStepper, SteppableBody


@runtime_checkable
class StatefulBody(Protocol):
    """A causal body that can go on from a state, with the same result as on the whole."""

    in_order: bool

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]: ...


class BackboneModel(Neural, ABC):
    """Input layer, body, output layer; subclasses only build the body."""

    target_spaces = TARGET_SPACES
    output: OutputLayer  # forecasters have an output layer of their own, `head`

    def __init__(
        self,
        signature: Signature,
        body: Body,
        *,
        embedding_size: int,
        hidden_size: int,
        dropout: float,
        pooling: PoolingName = "mean",
        looks_ahead: bool = False,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        forecast_options: ForecastOptions = DEFAULT_FORECAST_OPTIONS,
        context: int = 0,
    ) -> None:
        super().__init__(signature)
        if token_options.crf:
            require_crf_labels(signature)
        self.looks_ahead, self.hidden = looks_ahead, hidden_size  # looks_ahead: it is not causal
        self.token_options, self.loss_options = token_options, loss_options
        patch = forecast_options.patch if signature.form is Form.FORECAST else 1
        source = patched_space(signature.source, patch)
        self.input = input_layer(source, embedding_size, dropout, token_options)
        self.body = body
        self.pooling = Pooling(pooling, hidden_size) if signature.form is Form.WHOLE else None
        self.dropout = SequenceDropout(dropout)
        self.forecaster: Forecaster | None = None
        if isinstance(signature.target, Series):
            self.forecaster = self._forecaster(signature, forecast_options, context)
            return
        self.output = output_layer(signature.target, hidden_size, token_options, loss_options)
        if token_options.tie_embeddings:
            tie_weights(self.input, self.output, embedding_size, hidden_size)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        if self.forecaster is not None:
            return self.forecaster.log_prob(batch)
        return self.output.log_prob(self._states(batch.source), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        if self.forecaster is not None:
            return self.forecaster.loss(batch)
        states = self._states(batch.source)
        return self.output.loss(states, batch.target, self.loss_options.label_smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The most probable labels; for the form NEXT, the best continuation by beam search."""
        if self.forecaster is not None:
            return self.forecaster.predict(source, search)
        if self.signature.form is Form.NEXT:
            require_tokens(self.signature)
            return beam_search(self, source, search, prefix=source)
        states = self._states(source)
        lengths = np.minimum(source.lengths, states.shape[1])
        if search.nbest > 1:
            ranked = self.output.n_best(states, lengths, search.nbest)
            return Prediction.of([tuple(Hypothesis(p, s, s) for p, s in few) for few in ranked])
        best, log_probs = self.output.best(states, lengths)
        probabilities = self.output.probabilities(states, lengths) if search.probabilities else None
        return Prediction(Sequences(best.numpy(), lengths), log_probs, probabilities=probabilities)

    def class_log_probs(self, source: Sequences) -> Float[Tensor, "batch position classes"]:
        states = self._states(source)
        return self.output.class_log_probs(states, np.minimum(source.lengths, states.shape[1]))

    def bit_logits(self, source: Sequences) -> list[BernoulliLogits]:
        """The logits of each row of bits, given the rows before it (teacher forcing)."""
        logits = self.output(self._states(source)).double().numpy()
        lengths = source.lengths.tolist()
        return [
            BernoulliLogits(rows[:length]) for rows, length in zip(logits, lengths, strict=True)
        ]

    def begin(self, source: Sequences) -> State:
        return self._steppable().initial(len(source))

    def step(
        self,
        tokens: Int[np.ndarray, " batch"] | Float[np.ndarray, "batch size"],
        state: State,
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        hidden, state = self._steppable().step(self.input(torch.from_numpy(tokens)), state)
        return self.output(hidden).numpy(), state

    @property
    def in_order(self) -> bool:
        """Whether training carries the body's state from segment to segment (truncated BPTT)."""
        return self._stateful().in_order

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[Tensor, "batch time"], State]:
        states, state = self._carried(segment, state)
        return self.output.log_probs(states, segment.target), state

    def loss_from(self, segment: Batch, state: State) -> tuple[Float[Tensor, ""], State]:
        states, state = self._carried(segment, state)
        loss = self.output.loss(states, segment.target, self.loss_options.label_smoothing)
        return loss, state

    @property
    def segment_length(self) -> int:
        """The context of a Transformer, whose later positions shorter segments never have."""
        carries = getattr(self.body, "in_order", True)
        return 0 if carries else int(getattr(self.body, "context", 0))

    def load_embeddings(self, tokens: Sequence[str]) -> str:
        """Load pretrained embeddings, if a file is named; a note on how many were found."""
        return load_embeddings(self.input, self.token_options, tokens)

    @property
    def look_back(self) -> int:
        """Length of the look-back window, in steps."""
        if self.forecaster is None:
            raise AttributeError(f"{type(self).__name__} does not forecast here")
        return self.forecaster.look_back

    @property
    def patch(self) -> int:
        """Patch size: the number of time steps read as one."""
        return 1 if self.forecaster is None else self.forecaster.forecast_options.patch

    def embedding_layer(self) -> nn.Module | None:
        """None for forecasts: they read windows, not all positions of the source."""
        return super().embedding_layer() if self.forecaster is None else None

    def distribution_parameters(
        self, window: ForecastBatch
    ) -> Float[Tensor, "batch ahead width count"]:
        """Direct forecast of all steps of the horizon, from the last state of the past."""
        rows, lengths = window.inputs()[:, : int(window.pasts.max())], window.pasts
        if self.forecaster is not None and self.patch > 1:
            rows, lengths = patches(rows, lengths, self.forecaster.width, self.patch)
        embedded = self.input(rows)
        if self.looks_ahead and isinstance(self.body, HasFinalState):
            last = self.body.encode(embedded, lengths)[1]  # the final states of both directions
        else:
            states = self.body(embedded, lengths)
            last = states[torch.arange(len(states)), lengths - 1]
        p: Tensor = self.head(self.dropout(last[:, None])[:, 0], window.future(window.covariates))
        return p

    def stepper(self) -> BackboneStepper | ForecastStepper:
        """Streaming inference, with the NumPy fast path if the body has one."""
        if self.forecaster is not None:
            return ForecastStepper(self, self.forecaster)
        if self.token_options.crf:
            raise ModelError(
                "M303",
                "a model with a CRF cannot stream: it scores all labels of a sequence jointly",
                help=["train one that labels each position by itself: model.crf=false"],
            )
        if self.looks_ahead or not isinstance(self.body, SteppableBody):
            raise ModelError(
                "M130",
                "bidirectional models cannot stream: they need the whole sequence",
                help=["train a causal one: recurrent, with model.bidirectional=false"],
            )
        return BackboneStepper(self.input, self.body, self.pooling, self.output, self.hidden)

    def _forecaster(
        self, signature: Signature, forecast_options: ForecastOptions, context: int
    ) -> Forecaster:
        """A direct or recursive forecaster over this body."""
        if self.loss_options != DEFAULT_LOSS_OPTIONS:
            raise ModelError(
                "M324",
                "label_smoothing, balance and max_norm are for tokens and labels, not for series",
                help=["leave them out"],
            )
        source, target = series_spaces(signature)
        count = DISTRIBUTIONS[forecast_options.output].num_parameters
        look_back = forecast_options.look_back_steps(target, context)
        if forecast_options.ahead == "direct":
            self.head: nn.Module = DirectOutput(self.hidden, source, target.horizon, count)
            return DirectForecaster(signature, forecast_options, look_back, self)
        if self.looks_ahead:
            raise ModelError(
                "M461",
                "recursive forecasts need a causal model: a bidirectional one would see the step"
                " it must forecast",
                help=[
                    "--set model.bidirectional=false",
                    "--set model.ahead=direct   all steps at once, from the whole past",
                ],
            )
        head = self.head = NextStepOutput(self.hidden, target.width, count)
        return RecursiveForecaster(
            signature, forecast_options, look_back, self.input, self.body, self.dropout, head
        )

    def _states(self, source: Sequences) -> Float[Tensor, "batch position hidden"]:
        """A state for each position, or a pooled one for the whole sequence."""
        is_next = self.signature.form is Form.NEXT
        read = source.shift_right(begin_value(self.signature.source)) if is_next else source
        values, lengths = to_tensors(read)
        embedded = self.input(values)
        if self.pooling is None:
            return self.dropout(self.body(embedded, lengths))
        return self.dropout(self.pooling(self.body, embedded, lengths)[:, None])

    def _carried(
        self, segment: Batch, state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """A state for each position of a segment, and the body's state after it."""
        embedded = self.input(torch.from_numpy(segment.source.values))
        states, state = self._stateful().carry(embedded, state)
        return self.dropout(states), state

    def _stateful(self) -> StatefulBody:
        if not isinstance(self.body, StatefulBody):
            # An AttributeError, so that `isinstance(model, Stateful)` is False and not an error.
            raise AttributeError(f"{type(self).__name__} cannot read segment by segment")
        return self.body

    def _steppable(self) -> SteppableBody:
        if not isinstance(self.body, SteppableBody):
            raise TypeError(f"{type(self).__name__} cannot be stepped")
        return self.body


def require_causal(signature: Signature) -> None:
    """Raise an error for a bidirectional language model, which would see the next token."""
    if signature.form is Form.NEXT:
        raise ModelError(
            "M121",
            "a language model cannot be bidirectional: it would see the token it must predict",
            help=["--set model.bidirectional=false"],
        )


def require_tokens(signature: Signature) -> None:
    """Raise an error for a search over rows of bits: they have no vocabulary and no end."""
    if isinstance(signature.target, Bits):
        raise ModelError(
            "M480",
            "rows of bits are sampled, not searched for: there are too many to rank",
            help=["seqloom compose RUN -o piece.mid   samples a continuation"],
        )


def require_crf_labels(signature: Signature) -> None:
    """Raise an error for a CRF without a label at each position."""
    if signature.form is not Form.EACH or not isinstance(signature.target, Labels):
        raise ModelError(
            "M303",
            "crf = true: a CRF needs a label at each position",
            notes=["It is for sequence labelling, as in the task tag."],
            help=["--set model.crf=false"],
        )


def tie_weights(
    input_layer: nn.Module, output: OutputLayer, embedding_size: int, hidden_size: int
) -> None:
    """Share the embedding matrix with the output layer (Press & Wolf, 2017)."""
    if not isinstance(input_layer, Embedding) or not isinstance(output, SoftmaxOutput):
        raise ModelError("M124", "tie_embeddings needs token input and token output")
    if embedding_size != hidden_size:
        raise ModelError(
            "M124",
            f"tie_embeddings: embedding_size is {embedding_size} and hidden_size {hidden_size};"
            " they must be the same",
            help=[f"--set model.embedding_size={hidden_size}"],
        )
    if is_parametrized(output.scores):
        raise ModelError("M324", "max_norm and tie_embeddings exclude each other: leave one out")
    if input_layer.table.num_embeddings != output.scores.out_features:
        raise ModelError("M124", "tie_embeddings: input and output have different vocabularies")
    output.scores.weight = input_layer.table.weight


def load_embeddings(
    input_layer: nn.Module, token_options: TokenOptions, tokens: Sequence[str]
) -> str:
    """Load pretrained embeddings from the file of `token_options`; a note if there is one."""
    if not token_options.pretrained_embeddings:
        return ""
    if (words := word_embedding(input_layer)) is None:
        raise ModelError("M124", "pretrained_embeddings needs token input, not numbers")
    path, table = Path(token_options.pretrained_embeddings), words.table.weight
    found = read_embeddings(path, tokens, table.shape[1])
    with torch.no_grad():
        table[torch.tensor(list(found))] = torch.from_numpy(np.stack(list(found.values())))
    return f"{len(found):,} of {len(tokens):,} tokens start from {path.name}"
