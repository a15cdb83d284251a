"""Baselines: the model of the recipe `pronounce` in plain PyTorch, in two implementations.

Both are the encoder-decoder of `seqloom.models.encoder_decoder`: bidirectional LSTM, bridge,
LSTM decoder, additive attention, attentional state, label smoothing, and variational dropout with
one mask per sequence (`nn.Dropout` samples one per step). With the same weights they compute the
same loss and gradients, which `pronounce_throughput.py` checks.

Plain      cells in a Python loop; attention keys and logits computed at every step
Careful    nn.LSTM over whole sequences, keys once, all queries at once, one product for all logits
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.nn.cells import Cell
from seqloom.nn.rnn import RNNLayer

PAD, BEGIN = 0, 1
State = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Shape:
    """Sizes of the model, named as in the recipe."""

    letters: int
    sounds: int
    embedding_size: int
    hidden_size: int
    encoder_layers: int
    decoder_layers: int
    attention_width: int
    dropout: float
    label_smoothing: float

    def inputs(self, layers: int) -> list[int]:
        """What each of so many stacked layers reads."""
        return [self.embedding_size] + [self.hidden_size] * (layers - 1)


class Example(NamedTuple):
    """A padded batch: (batch, place), (batch,) and (batch, time)."""

    source: Tensor
    lengths: Tensor
    target: Tensor


class Rival(nn.Module, ABC):
    """The layers that are the same in every implementation."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        hidden = shape.hidden_size
        self.letters = nn.Embedding(shape.letters, shape.embedding_size, padding_idx=PAD)
        self.sounds = nn.Embedding(shape.sounds, shape.embedding_size, padding_idx=PAD)
        self.bridge = nn.Linear(hidden, 2 * shape.decoder_layers * hidden)
        self.key = nn.Linear(hidden, shape.attention_width)
        self.query = nn.Linear(hidden, shape.attention_width, bias=False)
        self.score = nn.Linear(shape.attention_width, 1, bias=False)
        self.join = nn.Linear(2 * hidden, hidden)
        self.output = nn.Linear(hidden, shape.sounds)

    @abstractmethod
    def loss(self, batch: Example) -> Tensor:
        """Smoothed nats per real target symbol."""

    @abstractmethod
    def take_cells(self, encoder: list[list[Cell]], decoder: list[Cell]) -> None:
        """Copy the weights of the cells; the encoder's directions are its two lists."""

    def take(self, model: EncoderDecoder) -> None:
        """Copy all weights of Seqloom's model."""
        attention = model.attention
        if attention is None:
            raise ValueError("the rivals attend: a model without attention cannot be copied")
        pairs: list[tuple[nn.Module, nn.Module]] = [
            (self.letters, model.source_input.table),
            (self.sounds, model.target_input.table),
            (self.bridge, model.bridge.give),
            (self.key, attention.key),
            (self.query, attention.query),
            (self.score, attention.score),
            (self.join, model.join),
            (self.output, model.answers.output.scores),
        ]
        for own, other in pairs:
            own.load_state_dict(other.state_dict())
        encoder, decoder = model.encoder, model.decoder
        sides = [_cells(encoder.layers), _cells(encoder.backward_layers)]
        self.take_cells(sides, _cells(decoder.layers))

    def mask(self, batch: int, width: int) -> Tensor:
        """What dropout multiplies a whole sequence by."""
        if not self.training:
            return torch.ones(batch, width)
        return (torch.rand(batch, width) >= self.shape.dropout) / (1 - self.shape.dropout)

    def cost(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits of (batch, time), padding left out."""
        return cross_entropy(
            logits.flatten(0, 1),
            target.flatten(),
            ignore_index=PAD,
            label_smoothing=self.shape.label_smoothing,
        )


class Plain(Rival):
    """As one writes the equations down: a Python loop over cells on both sides."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        half = shape.hidden_size // 2
        inputs = shape.inputs(shape.encoder_layers)
        self.onward = nn.ModuleList(nn.LSTMCell(size, half) for size in inputs)
        self.backward_ = nn.ModuleList(nn.LSTMCell(size, half) for size in inputs)
        self.decoder = nn.ModuleList(
            nn.LSTMCell(size, shape.hidden_size) for size in shape.inputs(shape.decoder_layers)
        )

    def loss(self, batch: Example) -> Tensor:
        rows, hidden = len(batch.source), self.shape.hidden_size
        real = batch.source != PAD
        memory, ends = self._read(batch.source, real)
        first = self.bridge(ends * self.mask(rows, hidden)).tanh().chunk(len(self.decoder) * 2, -1)
        states = list(zip(first[::2], first[1::2], strict=True))
        memory = memory * self.mask(rows, hidden)[:, None]
        between = [self.mask(rows, hidden) for _ in self.decoder]
        for_query, for_join = self.mask(rows, hidden), self.mask(rows, hidden)
        vectors = (
            self.sounds(_late(batch.target)) * self.mask(rows, self.shape.embedding_size)[:, None]
        )
        logits = []
        for x in vectors.unbind(1):
            for number, cell in enumerate(self.decoder):
                x = x * between[number] if number else x
                states[number] = cell(x, states[number])
                x = states[number][0]
            query = x * for_query
            context = self._attend(query, memory, real)
            joined = self.join(torch.cat([context, query], -1)).tanh() * for_join
            logits.append(self.output(joined))
        return self.cost(torch.stack(logits, 1), batch.target)

    def take_cells(self, encoder: list[list[Cell]], decoder: list[Cell]) -> None:
        for own, others in ((self.onward, encoder[0]), (self.backward_, encoder[1])):
            _take_each(own, others)
        _take_each(self.decoder, decoder)

    def _read(self, source: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The memory, and the last state of each direction."""
        x = self.letters(source) * self.mask(len(source), self.shape.embedding_size)[:, None]
        ends: list[Tensor] = []
        for number, (onward, back) in enumerate(zip(self.onward, self.backward_, strict=True)):
            x = x * self.mask(len(source), self.shape.hidden_size)[:, None] if number else x
            places = range(source.shape[1])
            left, last = _scan(onward, x, real, places)
            right, first = _scan(back, x, real, reversed(places))
            x, ends = torch.cat([left, right], -1), [last, first]
        return x, torch.cat(ends, -1)

    def _attend(self, query: Tensor, memory: Tensor, real: Tensor) -> Tensor:
        mixed = torch.tanh(self.key(memory) + self.query(query)[:, None])
        scores = self.score(mixed).squeeze(-1).masked_fill(~real, -torch.inf)
        return (scores.softmax(-1)[:, None] @ memory).squeeze(1)


class Careful(Rival):
    """Whole sequences at once: nn.LSTM, keys once, attention and logits of all steps together.

    Packed, the encoder is one nn.LSTM in two directions over a packed sequence. Padded, it is two,
    and the second reads every sequence turned round by its length, so that padding is read last.
    """

    def __init__(self, shape: Shape, packed: bool) -> None:
        super().__init__(shape)
        half, self.packed = shape.hidden_size // 2, packed
        self.encoder = nn.ModuleList(
            nn.LSTM(size, half, batch_first=True, bidirectional=packed)
            for size in shape.inputs(shape.encoder_layers)
        )
        self.turned = nn.ModuleList(
            nn.LSTM(size, half, batch_first=True)
            for size in ([] if packed else shape.inputs(shape.encoder_layers))
        )
        self.decoder = nn.ModuleList(
            nn.LSTM(size, shape.hidden_size, batch_first=True)
            for size in shape.inputs(shape.decoder_layers)
        )

    def loss(self, batch: Example) -> Tensor:
        rows, hidden = len(batch.source), self.shape.hidden_size
        x = self.letters(batch.source) * self.mask(rows, self.shape.embedding_size)[:, None]
        memory, ends = (self._read_packed if self.packed else self._read_padded)(x, batch.lengths)
        first = self.bridge(ends * self.mask(rows, hidden)).tanh().chunk(len(self.decoder) * 2, -1)
        memory = memory * self.mask(rows, hidden)[:, None]
        x = self.sounds(_late(batch.target)) * self.mask(rows, self.shape.embedding_size)[:, None]
        for number, layer in enumerate(self.decoder):
            x = x * self.mask(rows, hidden)[:, None] if number else x
            h, c = first[2 * number][None], first[2 * number + 1][None]
            x, _ = layer(x, (h.contiguous(), c.contiguous()))
        x = x * self.mask(rows, hidden)[:, None]
        x = torch.cat([self._attend(x, memory, batch.source != PAD), x], -1)
        x = self.join(x).tanh() * self.mask(rows, hidden)[:, None]
        return self.cost(self.output(x), batch.target)

    def take_cells(self, encoder: list[list[Cell]], decoder: list[Cell]) -> None:
        ends = ("_l0", "_l0_reverse")
        for number, layer in enumerate(self.encoder):
            _take(layer, encoder[0][number], ends[0])
            other = (layer, ends[1]) if self.packed else (self.turned[number], ends[0])
            _take(other[0], encoder[1][number], other[1])
        for layer, cell in zip(self.decoder, decoder, strict=True):
            _take(layer, cell, ends[0])

    def _read_packed(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        ends = x
        for number, layer in enumerate(self.encoder):
            x = x * self.mask(len(x), self.shape.hidden_size)[:, None] if number else x
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            outputs, (last, _) = layer(packed)
            x, _ = pad_packed_sequence(outputs, batch_first=True)
            ends = torch.cat([last[0], last[1]], -1)
        return x, ends

    def _read_padded(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(x.shape[1])
        order = lengths[:, None] - 1 - places
        order = torch.where(order >= 0, order, places)[..., None]
        for number, (onward, turned) in enumerate(zip(self.encoder, self.turned, strict=True)):
            x = x * self.mask(len(x), self.shape.hidden_size)[:, None] if number else x
            left, _ = onward(x)
            right, _ = turned(x.gather(1, order.expand_as(x)))
            x = torch.cat([left, right.gather(1, order.expand_as(right))], -1)
        half = self.shape.hidden_size // 2
        last = x[torch.arange(len(x)), lengths - 1, :half]
        return x, torch.cat([last, x[:, 0, half:]], -1)

    def _attend(self, queries: Tensor, memory: Tensor, real: Tensor) -> Tensor:
        mixed = torch.tanh(self.key(memory)[:, None] + self.query(queries)[:, :, None])
        scores = self.score(mixed).squeeze(-1).masked_fill(~real[:, None], -torch.inf)
        return scores.softmax(-1) @ memory


def _scan(cell: nn.Module, x: Tensor, real: Tensor, places: Iterable[int]) -> tuple[Tensor, Tensor]:
    """A cell over the places in this order; where there is padding the state stays as it is."""
    vectors, kept = x.unbind(1), real[..., None].unbind(1)
    h = c = x.new_zeros(len(x), cell.hidden_size)
    outputs = [h] * len(vectors)
    for place in places:
        new = cell(vectors[place], (h, c))
        h, c = (torch.where(kept[place], now, old) for now, old in zip(new, (h, c), strict=True))
        outputs[place] = h
    return torch.stack(outputs, 1), h


def _late(target: Tensor) -> Tensor:
    """What the decoder reads: the target one step late."""
    return torch.cat([torch.full_like(target[:, :1], BEGIN), target[:, :-1]], 1)


def _cells(modules: nn.ModuleList) -> list[Cell]:
    return [layer.cell for layer in modules if isinstance(layer, RNNLayer)]


def _take_each(own: nn.ModuleList, others: list[Cell]) -> None:
    for cell, other in zip(own, others, strict=True):
        _take(cell, other, "")


def _take(own: nn.Module, cell: Cell, end: str) -> None:
    """Copy a cell; torch's LSTM has a second bias, which is nothing here."""
    weights = {"weight_ih": cell.read.weight, "weight_hh": cell.recur.weight}
    weights |= {"bias_ih": cell.read.bias, "bias_hh": torch.zeros_like(cell.read.bias)}
    with torch.no_grad():
        for name, weight in weights.items():
            getattr(own, name + end).copy_(weight)
