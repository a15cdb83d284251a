"""Recurrent encoder-decoder (sequence-to-sequence), with or without attention."""

from functools import partial
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..config import Layers, Rate, Size
from ..decoding import beam_search, no_attention_error
from ..errors import ModelError
from ..model import Constant, Prediction, Search, State
from ..nn.attention import (
    ATTENTIONS,
    DEFAULT_ATTENTION_OPTIONS,
    AttentionOptions,
    AttentionOutput,
    KeyValues,
    Scores,
    Weights,
    mean_over_heads,
)
from ..nn.cells import CellName
from ..nn.cells.options import DEFAULT_RNN_OPTIONS, RNNOptions
from ..nn.convolution import ConvolutionEncoder
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer, to_tensors
from ..nn.rnn import RNN
from ..nn.seq2seq import (
    DEFAULT_SCHEDULED_SAMPLING_OPTIONS,
    SOURCE_VECTORS,
    Advance,
    BridgeName,
    DecoderDropout,
    DecoderOutput,
    DecoderOutputLayer,
    DecoderSource,
    DecoderState,
    Drop,
    EncoderOutput,
    ScheduledSampling,
    ScheduledSamplingOptions,
    StepwiseRNN,
    bridge_layer,
    fixed_dropout,
    pointer_generator,
    repeat_over_time,
    source_vector,
    stepwise_advance,
)
from ..signature import BEGIN, Form, Signature
from .neural import Neural

StepWeights = Float[Tensor, "sources *heads candidates position"] | None


class EncoderDecoder(Neural):
    """Attention encoder-decoder (Bahdanau et al., 2015; Luong et al., 2015), or without attention.

    m_s = encoder(x)_s                       encoder outputs, one for each source token
    h_0 = tanh(B v)                          bridge; v is the source as one vector
    h_t = decoder(y_{t-1}, h_{t-1})
    c_t = attention(h_t, m)                  context; left out if attention is "none"
    a_t = tanh(A [c_t; h_t])                 attentional state
    p(y_t | y_<t, x) = softmax(W a_t + b)

    With the previous state as query (Bahdanau), c_t = attention(h_{t-1}, m) and
    h_t = decoder([y_{t-1}; c_t], h_{t-1}). With input feeding (Luong) the decoder reads a_{t-1},
    too. Without attention the source comes in once, as h_0 (Sutskever et al., 2014), or at every
    step (Cho et al., 2014): v then replaces c_t, and the decoder reads [y_{t-1}; v]. Without
    feedback into the decoder a whole target is computed at once (teacher forcing).

    Args:
        cell: Recurrent cell.
        embedding_size: Embedding size.
        hidden_size: Hidden size.
        encoder: Encoder: a recurrent network of the same cell, or residual convolutions.
        encoder_layers: Number of stacked layers of the encoder.
        decoder_layers: Number of stacked layers of the decoder.
        bidirectional: Bidirectional: use the context on both sides of each position. Of the
            encoder.
        kernel: Kernel size of a convolutional encoder.
        bridge: Initial state of the decoder: from the encoder's final states of both directions
            (ends), its last or its mean output; a learned constant; or zeros.
        context: Without attention: the source's vector is the initial state alone, or also an input
            at every step.
        attention_options: Options of attention.
        scheduled_sampling_options: Options of scheduled sampling.
        dropout: Dropout rate between layers.
        label_smoothing: Label smoothing (Szegedy et al., 2016): the fraction of each target's
            probability that is spread over all tokens in training; the training loss includes it.
        rnn_options: Options of the recurrent cells and layers.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(  # noqa: PLR0913 - options are keyword-only
        self,
        signature: Signature,
        *,
        cell: CellName = "lstm",
        embedding_size: Size = 128,
        hidden_size: Size = 256,
        encoder: Literal["recurrent", "convolution"] = "recurrent",
        encoder_layers: Layers = 1,
        decoder_layers: Layers = 1,
        bidirectional: bool = True,
        kernel: Size = 3,
        bridge: BridgeName = "ends",
        context: Literal["once", "every-step"] = "once",
        attention_options: AttentionOptions = DEFAULT_ATTENTION_OPTIONS,
        scheduled_sampling_options: ScheduledSamplingOptions = DEFAULT_SCHEDULED_SAMPLING_OPTIONS,
        dropout: Rate = 0.2,
        label_smoothing: Rate = 0.1,
        rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS,
    ) -> None:
        super().__init__(signature)
        layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
        _check_options(layers, bridge, context, attention_options)
        self.label_smoothing, self.attention_options = label_smoothing, attention_options
        self.bridge_name = bridge
        self.source_input = input_layer(signature.source, embedding_size, dropout)
        self.target_input = input_layer(signature.target, embedding_size, dropout)
        self.encoder = (
            RNN(
                cell,
                embedding_size,
                hidden_size,
                num_layers=encoder_layers,
                bidirectional=bidirectional,
                dropout=dropout,
                rnn_options=rnn_options,
            )
            if encoder == "recurrent"
            else ConvolutionEncoder(
                embedding_size,
                hidden_size,
                num_layers=encoder_layers,
                kernel=kernel,
                bidirectional=bidirectional,
                dropout=dropout,
            )
        )
        self.source_every_step = context == "every-step"
        self.query_previous = attention_options.query == "previous"
        attends = attention_options.attention != "none"
        context_size = hidden_size if self.source_every_step or attends else 0
        outputs = hidden_size if attention_options.attentional else hidden_size + context_size
        self.outputs = outputs
        # Decoder inputs known before its steps (tokens, the source's vector), and those fed back.
        self.known_inputs = embedding_size + (hidden_size if self.source_every_step else 0)
        feedback = hidden_size if self.query_previous else 0
        feedback += outputs if attention_options.input_feeding else 0
        self.decoder = RNN(
            cell,
            self.known_inputs + feedback,
            hidden_size,
            num_layers=decoder_layers,
            dropout=dropout,
            rnn_options=rnn_options,
        )
        self.bridge = bridge_layer(bridge, hidden_size, self.decoder.cell_tensors)
        kind = ATTENTIONS.get(attention_options.attention)
        self.attention = (
            kind.from_options(hidden_size, hidden_size, attention_options) if kind else None
        )
        joined = context_size + hidden_size
        self.join = nn.Linear(joined, hidden_size) if attention_options.attentional else None
        self.dropout = SequenceDropout(dropout)
        pointer = pointer_generator(signature, outputs) if attention_options.copy else None
        self.answers = DecoderOutputLayer(signature.target, outputs, pointer)
        self.guessing: ScheduledSampling | None = None
        if scheduled_sampling_options.scheduled_sampling:
            self.guessing = ScheduledSampling(scheduled_sampling_options)
        self.has_feedback = feedback > 0
        self.needs_previous_weights = (
            self.attention is not None and self.attention.needs_previous_weights
        )
        self.needs_weights = (
            self.needs_previous_weights or attention_options.copy or attention_options.coverage > 0
        )

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        source, start = self._begin(batch.source)
        decoded = self._decode(batch, source, start)
        return self.answers.log_probs(decoded, source, batch.target).sum(-1)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Nats per target token, in training with label smoothing and coverage loss."""
        source, start = self._begin(batch.source)
        sampled = None
        if self.guessing is not None and self.training:
            sampled = self.guessing.sample(*batch.target.values.shape)
            sampled = sampled if sampled.any() else None  # else the fast path of teacher forcing
        decoded = self._decode(batch, source, start, sampled)
        coverage = self.attention_options.coverage if self.training else 0.0
        return self.answers.loss(
            decoded, source, batch.target, smoothing=self.label_smoothing, coverage=coverage
        )

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search)

    def begin(self, source: Sequences) -> State:
        """Constant parts of the source; then attention weights, input feed and cell states."""
        constant, start = self._begin(source)
        parts = (*constant.keys_values, constant.vector, constant.tokens)
        return (*(Constant(part) for part in parts if part is not None), *_flat(start))

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state, _ = self._step(tokens, state)
        return log_probs, state

    def step_with_attention(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch position"]]:
        """As `step`, with the attention weights over source positions."""
        log_probs, state, weights = self._step(tokens, state, need_weights=True)
        if weights is None:
            raise no_attention_error("a model without attention")
        return log_probs, state, mean_over_heads(weights).flatten(0, 1).numpy()

    def _step(
        self, tokens: Int[np.ndarray, " batch"], state: State, *, need_weights: bool = False
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, StepWeights]:
        """One step, and its attention weights for each candidate of a source."""
        source, now = self._unpacked(state)
        candidates = torch.from_numpy(tokens).unflatten(0, (len(source.keys_values.values), -1))
        x = self._inputs(candidates, source).flatten(0, 1)

        def advance(fed: list[Tensor], cells: State) -> tuple[Tensor, State]:
            return self.decoder.step(torch.cat([x, *fed], dim=-1) if fed else x, cells)

        dropout = DecoderDropout(self.dropout, self.dropout)
        decoded, now = self._next(advance, source, now, dropout, need_weights=need_weights)
        if self.attention is not None:
            self.attention.record_weights(decoded.weights)
        log_probs = self.answers(decoded, source).flatten(0, 1)
        constant = tuple(part for part in state if isinstance(part, Constant))
        return log_probs.numpy(), (*constant, *_flat(now)), decoded.weights

    def _begin(self, source: Sequences) -> tuple[DecoderSource, DecoderState]:
        """The encoded sources, and the decoder state before the first step."""
        values, lengths = to_tensors(source)
        outputs, final = self.encoder.encode(self.source_input(values), lengths)
        encoded = EncoderOutput(outputs, final, torch.from_numpy(source.mask), lengths)
        vector = final
        if self.bridge_name in SOURCE_VECTORS:
            vector = self.dropout(source_vector(self.bridge_name, encoded))
        cells = self.decoder.begin(self.bridge(vector))
        outputs = self.dropout(outputs)
        keys = outputs if self.attention is None else self.attention.keys(outputs)
        keys_values = KeyValues(outputs, keys, encoded.mask)
        tokens = values if self.attention_options.copy else None
        constant = DecoderSource(keys_values, vector if self.source_every_step else None, tokens)
        weights, input_feed = None, None
        if self.needs_previous_weights:
            weights = outputs.new_zeros(encoded.mask.shape)
        if self.attention_options.input_feeding:
            input_feed = outputs.new_zeros(len(outputs), self.outputs)
        return constant, DecoderState(weights, input_feed, cells)

    def _unpacked(self, state: State) -> tuple[DecoderSource, DecoderState]:
        """The named parts of a state from `begin` or `step`."""
        constant = [part.values for part in state if isinstance(part, Constant)]
        rest = state[len(constant) :]
        vector = constant[3] if self.source_every_step else None
        tokens = constant[-1] if self.attention_options.copy else None
        source = DecoderSource(KeyValues(*constant[:3]), vector, tokens)
        weights, rest = (rest[0], rest[1:]) if self.needs_previous_weights else (None, rest)
        has_input_feed = self.attention_options.input_feeding
        input_feed, cells = (rest[0], rest[1:]) if has_input_feed else (None, rest)
        return source, DecoderState(weights, input_feed, cells)

    def _inputs(
        self, tokens: Int[Tensor, "batch time"], source: DecoderSource
    ) -> Float[Tensor, "batch time known"]:
        """Decoder inputs that are known before its steps."""
        y = self.target_input(tokens)
        if source.vector is None:
            return y
        return torch.cat([y, repeat_over_time(source.vector, y)], dim=-1)

    def _decode(
        self,
        batch: Batch,
        source: DecoderSource,
        start: DecoderState,
        sampled: Bool[Tensor, "batch time"] | None = None,
    ) -> DecoderOutput:
        """Attentional states at all target positions: in parallel if nothing feeds back."""
        tokens, lengths = to_tensors(batch.target.shift_right(BEGIN))
        if self.has_feedback or sampled is not None:
            decoded = self._unrolled(tokens, source, start, sampled)
        else:
            h = self.dropout(self.decoder(self._inputs(tokens, source), lengths, start.cells))
            context, weights = self._context(h, source, None, self.needs_weights)
            decoded = DecoderOutput(self._attentional(h, context, self.dropout), weights)
        if self.attention is not None:
            self.attention.record_weights(decoded.weights)
        return decoded

    def _unrolled(
        self,
        tokens: Int[Tensor, "batch time"],
        source: DecoderSource,
        now: DecoderState,
        sampled: Bool[Tensor, "batch time"] | None,
    ) -> DecoderOutput:
        """The same step by step, with the model's own predictions as input where `sampled`."""
        rows = len(tokens)
        sizes = self.decoder.forward_layers[-1].cell.hidden, self.outputs
        # One mask for all steps, as in the parallel path.
        dropout = DecoderDropout(
            *(fixed_dropout(self.dropout.sample_mask(rows, size)) for size in sizes)
        )
        rnn = StepwiseRNN(self.decoder, rows, self.known_inputs)
        products = rnn.products(self._inputs(tokens, source)).unbind(1) if sampled is None else ()
        steps: list[DecoderOutput] = []
        for position, right in enumerate(tokens.split(1, dim=1)):
            if sampled is None:
                a = products[position]
            else:
                token = right
                if position:
                    is_sampled = sampled[:, position : position + 1]
                    token = self._next_input(is_sampled, right, steps[-1], source)
                a = rnn.products(self._inputs(token, source)[:, 0])
            decoded, now = self._next(stepwise_advance(rnn, a), source, now, dropout)
            steps.append(decoded)
        weights = [step.weights for step in steps if step.weights is not None]
        states = torch.cat([step.states for step in steps], dim=1)
        return DecoderOutput(states, torch.cat(weights, dim=-2) if weights else None)

    def _next(
        self,
        advance: Advance,
        source: DecoderSource,
        now: DecoderState,
        dropout: DecoderDropout,
        *,
        need_weights: bool = False,
    ) -> tuple[DecoderOutput, DecoderState]:
        """One decoder step: of targets, or of several candidates for each source.

        The candidates of a source are laid out as time steps of one target, so that its keys and
        values are not copied for each. Attention weights are returned if the model itself needs
        them, or with `need_weights`.
        """
        need_weights = need_weights or self.needs_weights
        fold = partial(torch.unflatten, dim=0, sizes=(len(source.keys_values.values), -1))
        previous = None if now.weights is None else fold(now.weights)
        context, weights = None, None
        if self.query_previous:
            query = fold(dropout.state(self.decoder.final_output(now.cells)))
            context, weights = self._context(query, source, previous, need_weights)
        context_input = None if context is None else context.flatten(0, 1)
        fed = [part for part in (context_input, now.input_feed) if part is not None]
        h, cells = advance(fed, now.cells)
        h = fold(dropout.state(h))
        if not self.query_previous:
            context, weights = self._context(h, source, previous, need_weights)
        a = self._attentional(
            h, context, lambda joined: fold(dropout.attentional(joined.flatten(0, 1)))
        )
        next_weights = None
        if self.needs_previous_weights and weights is not None:
            next_weights = mean_over_heads(weights).flatten(0, 1)
        input_feed = None if now.input_feed is None else a.flatten(0, 1)
        return DecoderOutput(a, weights), DecoderState(next_weights, input_feed, cells)

    def _context(
        self,
        queries: Float[Tensor, "batch time hidden"],
        source: DecoderSource,
        previous: Scores | None,
        need_weights: bool,
    ) -> tuple[Tensor | None, Weights | None]:
        """The context vector: of attention, or the source's vector, or none."""
        if self.attention is not None:
            attended: AttentionOutput = self.attention(
                queries, source.keys_values, previous, need_weights
            )
            return attended
        vector = source.vector
        return None if vector is None else repeat_over_time(vector, queries), None

    def _attentional(
        self,
        h: Float[Tensor, "batch time hidden"],
        context: Float[Tensor, "batch time hidden"] | None,
        drop: Drop,
    ) -> Float[Tensor, "batch time outputs"]:
        """The attentional state tanh(A [c; h])."""
        both = h if context is None else torch.cat([context, h], dim=-1)
        return both if self.join is None else drop(self.join(both).tanh())

    def _next_input(
        self,
        is_sampled: Bool[Tensor, "batch 1"],
        right: Tensor,
        last: DecoderOutput,
        source: DecoderSource,
    ) -> Int[Tensor, "batch 1"]:
        """Scheduled sampling: the model's own best token where `is_sampled`, else the right one."""
        with torch.no_grad():
            return torch.where(is_sampled, self.answers(last, source).argmax(-1), right)


def _flat(now: DecoderState) -> State:
    """The parts of a decoder state that are not None."""
    return (*(part for part in (now.weights, now.input_feed) if part is not None), *now.cells)


def _check_options(
    layers: dict[str, int], bridge: str, context: str, attention_options: AttentionOptions
) -> None:
    """Raise an error for options that exclude each other."""
    for name, count in layers.items():
        if count < 1:
            raise ModelError(
                "M203",
                f"{name} = {count}: expected 1 or more",
                help=[f"--set model.{name}=1"],
            )
    attends = attention_options.attention != "none"
    if attends and context == "every-step":
        raise ModelError(
            "M203",
            "context = every-step is for a decoder without attention, which has its own context",
            help=["--set model.attention=none", "--set model.context=once"],
        )
    if not attends and bridge not in SOURCE_VECTORS:
        raise ModelError(
            "M203",
            f"bridge = {bridge} without attention: the decoder would get nothing of its source",
            help=["--set model.bridge=ends", "--set model.attention=additive"],
        )
