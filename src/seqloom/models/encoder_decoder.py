"""An encoder reads the source, a decoder writes the target, attention joins them."""

from functools import partial
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..decoding import cannot_look
from ..decoding import search as find
from ..errors import ModelError
from ..model import Prediction, Search, State, Still
from ..nn.attention import ATTENTIONS, ATTENTIVE, Attending, Found, Scores, Seen, Weights, shares
from ..nn.cells import CellName
from ..nn.cells.options import PLAIN, Wiring
from ..nn.convolution import ConvolutionEncoder
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer, tensors
from ..nn.rnn import Recurrence
from ..nn.seq2seq import (
    PLAIN_PRACTICE,
    SUMMARIES,
    Advance,
    Answers,
    BridgeName,
    Drop,
    Drops,
    Guessing,
    Moving,
    Practice,
    Read,
    Source,
    Walk,
    Written,
    along,
    fixed,
    on_foot,
    pointer_for,
    summary,
)
from ..nn.seq2seq import bridge as bridge_layer
from ..signature import BEGIN, Form, Signature
from .neural import Neural

Looks = Float[Tensor, "sources *heads candidates place"] | None


class EncoderDecoder(Neural):
    """A recurrent encoder and decoder, with or without attention (Bahdanau, 2015; Luong, 2015).

    m_s = encoder(x)_s                       a memory of the source, a place for each symbol
    h_0 = tanh(B v)                          v: the source as one vector, as the bridge says
    h_t = decoder(y_{t-1}, h_{t-1})
    c_t = attention(h_t, m)                  left out where attention is "none"
    a_t = tanh(A [c_t; h_t])                 attentional state
    p(y_t | y_<t, x) = softmax(W a_t + b)

    Where the previous state asks, c_t = attention(h_{t-1}, m) and h_t = decoder([y_{t-1}; c_t],
    h_{t-1}). With input feeding the decoder reads a_{t-1} too. Without attention the source can
    come in once, as h_0, or at every step (Cho et al., 2014): v then stands for c_t, and the
    decoder reads [y_{t-1}; v]. What does not feed back is computed for a whole target at once.

    Args:
        cell: The kind of recurrence on both sides.
        width: The width of the vector that stands for a symbol.
        hidden: The width of the states on both sides.
        encoder: What reads the source: the cell, or residual convolutions.
        encoder_layers: How many cells, or blocks of convolutions, are stacked in the encoder.
        decoder_layers: How many cells are stacked in the decoder.
        directions: The encoder reads from the left alone, or from both sides.
        kernel: For a convolution: how many places each sees.
        bridge: What the decoder starts from: where the encoder's reading ended on both sides, its
            last place, the mean of all, the same learned state for all sources, or zeros.
        context: Without attention: whether the source's vector is given once, as the first state,
            or also read and joined to the state at every step.
        attending: How the decoder looks back at the source.
        practice: What the decoder reads while it learns.
        dropout: The share of numbers dropped between layers while training.
        smoothing: How much of each right answer's weight is spread over all symbols in training;
            the training loss then reads higher than the same loss on validation.
        wiring: How the cells of both sides are made and joined.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(  # noqa: PLR0913 - options are keyword-only
        self,
        signature: Signature,
        *,
        cell: CellName = "lstm",
        width: int = 128,
        hidden: int = 256,
        encoder: Literal["recurrent", "convolution"] = "recurrent",
        encoder_layers: int = 1,
        decoder_layers: int = 1,
        directions: Literal["forward", "both"] = "both",
        kernel: int = 3,
        bridge: BridgeName = "ends",
        context: Literal["once", "every-step"] = "once",
        attending: Attending = ATTENTIVE,
        practice: Practice = PLAIN_PRACTICE,
        dropout: float = 0.2,
        smoothing: float = 0.1,
        wiring: Wiring = PLAIN,
    ) -> None:
        super().__init__(signature)
        layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
        _refuse_impossible(layers, bridge, context, attending)
        self.smoothing, self.attending, self.vector = smoothing, attending, bridge
        self.source_input = input_layer(signature.source, width, dropout)
        self.target_input = input_layer(signature.target, width, dropout)
        both = directions == "both"
        self.encoder = (
            Recurrence(
                cell,
                width,
                hidden,
                layers=encoder_layers,
                both=both,
                dropout=dropout,
                wiring=wiring,
            )
            if encoder == "recurrent"
            else ConvolutionEncoder(
                width, hidden, layers=encoder_layers, kernel=kernel, both=both, dropout=dropout
            )
        )
        self.joins = context == "every-step"
        self.asks_before = attending.query == "previous"
        beside = hidden if self.joins or attending.attention != "none" else 0
        self.outputs = outputs = hidden if attending.attentional else hidden + beside
        self.known = width + (hidden if self.joins else 0)  # inputs of the decoder known beforehand
        fed = (hidden if self.asks_before else 0) + (outputs if attending.input_feeding else 0)
        self.decoder = Recurrence(
            cell, self.known + fed, hidden, layers=decoder_layers, dropout=dropout, wiring=wiring
        )
        self.bridge = bridge_layer(bridge, hidden, self.decoder.own_tensors)
        kind = ATTENTIONS.get(attending.attention)
        self.attention = kind.made(hidden, hidden, attending) if kind else None
        self.join = nn.Linear(beside + hidden, hidden) if attending.attentional else None
        self.dropout = SequenceDropout(dropout)
        pointer = pointer_for(signature, outputs) if attending.copy else None
        self.answers = Answers(signature.target, outputs, pointer)
        self.guessing = Guessing(practice) if practice.scheduled_sampling else None
        self.feeds_back = fed > 0
        self.follows = self.attention is not None and self.attention.follows
        self.weighs = self.follows or attending.copy or attending.coverage > 0

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        source, start = self._begin(batch.source)
        written = self._written(batch, source, start)
        return self.answers.log_probs(written, source, batch.target).sum(-1)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Nats per target symbol; while training with what smoothing and coverage add."""
        source, start = self._begin(batch.source)
        own = None
        if self.guessing is not None and self.training:
            own = self.guessing.drawn(*batch.target.values.shape)
            own = own if own.any() else None  # then there is no need to walk
        written = self._written(batch, source, start, own)
        again = self.attending.coverage if self.training else 0.0
        return self.answers.loss(
            written, source, batch.target, smoothing=self.smoothing, again=again
        )

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search)

    def begin(self, source: Sequences) -> State:
        """What is known of the sources; then where it looked, what is fed back, the cells."""
        known, start = self._begin(source)
        parts = (*known.seen, known.vector, known.symbols)
        return (*(Still(part) for part in parts if part is not None), *_flat(start))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state, _ = self._step(symbols, state)
        return log_probs, state

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        """As `step`, and how much it looked at each place of the source."""
        log_probs, state, weights = self._step(symbols, state, weighed=True)
        if weights is None:
            raise cannot_look("a model without attention")
        return log_probs, state, shares(weights).flatten(0, 1).numpy()

    def _step(
        self, symbols: Int[np.ndarray, " batch"], state: State, *, weighed: bool = False
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Looks]:
        """A step, and where each candidate of a source looked in it."""
        source, now = self._parted(state)
        candidates = torch.from_numpy(symbols).unflatten(0, (len(source.seen.memory), -1))
        x = self._inputs(candidates, source).flatten(0, 1)

        def advance(fed: list[Tensor], cells: State) -> tuple[Tensor, State]:
            return self.decoder.step(torch.cat([x, *fed], dim=-1) if fed else x, cells)

        drops = Drops(self.dropout, self.dropout)
        written, now = self._next(advance, source, now, drops, weighed=weighed)
        if self.attention is not None:
            self.attention.show(written.weights)
        log_probs = self.answers(written, source).flatten(0, 1)
        known = tuple(part for part in state if isinstance(part, Still))
        return log_probs.numpy(), (*known, *_flat(now)), written.weights

    def _begin(self, source: Sequences) -> tuple[Source, Moving]:
        """What is known of the sources, and the state before the first step."""
        values, lengths = tensors(source)
        memory, ends = self.encoder.read(self.source_input(values), lengths)
        read = Read(memory, ends, torch.from_numpy(source.mask), lengths)
        vector = self.dropout(summary(self.vector, read)) if self.vector in SUMMARIES else ends
        cells = self.decoder.begin(self.bridge(vector))
        memory = self.dropout(memory)
        keys = memory if self.attention is None else self.attention.keys(memory)
        symbols = values if self.attending.copy else None
        known = Source(Seen(memory, keys, read.real), vector if self.joins else None, symbols)
        looked = memory.new_zeros(read.real.shape) if self.follows else None
        feeds = self.attending.input_feeding
        fed = memory.new_zeros(len(memory), self.outputs) if feeds else None
        return known, Moving(looked, fed, cells)

    def _parted(self, state: State) -> tuple[Source, Moving]:
        """A state as `begin` and `step` hand it out, in its parts."""
        known = [part.values for part in state if isinstance(part, Still)]
        rest = state[len(known) :]
        vector = known[3] if self.joins else None
        source = Source(Seen(*known[:3]), vector, known[-1] if self.attending.copy else None)
        weights, rest = (rest[0], rest[1:]) if self.follows else (None, rest)
        fed, cells = (rest[0], rest[1:]) if self.attending.input_feeding else (None, rest)
        return source, Moving(weights, fed, cells)

    def _inputs(
        self, symbols: Int[Tensor, "batch time"], source: Source
    ) -> Float[Tensor, "batch time known"]:
        """What the decoder reads that is known beforehand."""
        y = self.target_input(symbols)
        return y if source.vector is None else torch.cat([y, along(source.vector, y)], dim=-1)

    def _written(
        self,
        batch: Batch,
        source: Source,
        start: Moving,
        own: Bool[Tensor, "batch time"] | None = None,
    ) -> Written:
        """The attentional state at every place of the target: all at once where it can be."""
        symbols, lengths = tensors(batch.target.late(BEGIN))
        if self.feeds_back or own is not None:
            written = self._walked(symbols, source, start, own)
        else:
            h = self.dropout(self.decoder(self._inputs(symbols, source), lengths, start.cells))
            context, weights = self._look(h, source, None, self.weighs)
            written = Written(self._joined(h, context, self.dropout), weights)
        if self.attention is not None:
            self.attention.show(written.weights)
        return written

    def _walked(
        self,
        symbols: Int[Tensor, "batch time"],
        source: Source,
        now: Moving,
        own: Bool[Tensor, "batch time"] | None,
    ) -> Written:
        """The same step by step, a guess of its own being read where `own` says so."""
        rows = len(symbols)
        widths = self.decoder.stack[-1].cell.hidden, self.outputs
        drops = Drops(*(fixed(self.dropout.drawn(rows, width)) for width in widths))
        walk = Walk(self.decoder, rows, self.known)
        given = walk.products(self._inputs(symbols, source)).unbind(1) if own is None else ()
        steps: list[Written] = []
        for place, right in enumerate(symbols.split(1, dim=1)):
            if own is None:
                a = given[place]
            else:
                mine = own[:, place : place + 1]
                read = self._guessed(mine, right, steps[-1], source) if place else right
                a = walk.products(self._inputs(read, source)[:, 0])
            written, now = self._next(on_foot(walk, a), source, now, drops)
            steps.append(written)
        weights = [step.weights for step in steps if step.weights is not None]
        states = torch.cat([step.states for step in steps], dim=1)
        return Written(states, torch.cat(weights, dim=-2) if weights else None)

    def _next(
        self, advance: Advance, source: Source, now: Moving, drops: Drops, *, weighed: bool = False
    ) -> tuple[Written, Moving]:
        """One step: of the targets, or of several candidates for each, as places of one target.

        It tells where it looked if the model needs that itself, or where it is to be `weighed`.
        """
        fold = partial(torch.unflatten, dim=0, sizes=(len(source.seen.memory), -1))
        before = None if now.weights is None else fold(now.weights)
        context, weights = None, None
        if self.asks_before:
            asks = fold(drops.state(self.decoder.end(now.cells)))
            context, weights = self._look(asks, source, before, weighed or self.weighs)
        read = None if context is None else context.flatten(0, 1)
        fed = [part for part in (read, now.fed) if part is not None]
        h, cells = advance(fed, now.cells)
        h = fold(drops.state(h))
        if not self.asks_before:
            context, weights = self._look(h, source, before, weighed or self.weighs)
        a = self._joined(h, context, lambda joined: fold(drops.joined(joined.flatten(0, 1))))
        looked = None
        if self.follows and weights is not None:
            looked = shares(weights).flatten(0, 1)
        fed_next = None if now.fed is None else a.flatten(0, 1)
        return Written(a, weights), Moving(looked, fed_next, cells)

    def _look(
        self,
        queries: Float[Tensor, "batch time hidden"],
        source: Source,
        before: Scores | None,
        weighed: bool,
    ) -> tuple[Tensor | None, Weights | None]:
        """What stands beside the state: what attention finds, the source's vector, or nothing."""
        if self.attention is not None:
            found: Found = self.attention(queries, source.seen, before, weighed)
            return found
        vector = source.vector
        return None if vector is None else along(vector, queries), None

    def _joined(
        self,
        h: Float[Tensor, "batch time hidden"],
        context: Float[Tensor, "batch time hidden"] | None,
        drop: Drop,
    ) -> Float[Tensor, "batch time outputs"]:
        """The attentional state."""
        both = h if context is None else torch.cat([context, h], dim=-1)
        return both if self.join is None else drop(self.join(both).tanh())

    def _guessed(
        self, own: Bool[Tensor, "batch 1"], right: Tensor, last: Written, source: Source
    ) -> Int[Tensor, "batch 1"]:
        """What is read next: the best guess where `own` says so, the right symbol elsewhere."""
        with torch.no_grad():
            return torch.where(own, self.answers(last, source).argmax(-1), right)


def _flat(now: Moving) -> State:
    """The parts that are there, as part of a state."""
    return (*(part for part in (now.weights, now.fed) if part is not None), *now.cells)


def _refuse_impossible(
    layers: dict[str, int], bridge: str, context: str, attending: Attending
) -> None:
    """Say what cannot be, and what can."""
    for name, count in layers.items():
        if count < 1:
            raise ModelError(
                "M203",
                f"{name} = {count}: expected 1 or more",
                help=[f"--set model.{name}=1"],
            )
    attends = attending.attention != "none"
    if attends and context == "every-step":
        raise ModelError(
            "M203",
            "context = every-step is for a decoder without attention, which brings its own",
            help=["--set model.attention=none", "--set model.context=once"],
        )
    if not attends and bridge not in SUMMARIES:
        raise ModelError(
            "M203",
            f"bridge = {bridge} without attention: the decoder would learn nothing of its source",
            help=["--set model.bridge=ends", "--set model.attention=additive"],
        )
