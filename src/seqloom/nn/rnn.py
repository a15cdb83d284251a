"""Recurrent neural networks: a cell unrolled over time, stacked, in one direction or two."""

from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function

from ..errors import ModelError
from ..trace import is_watched, record
from .cells import CELLS, Cell, State
from .cells.base import AllProducts, Mask, Outputs, Products, RecurrentProduct, with_dropout
from .cells.options import DEFAULT_RNN_OPTIONS, RNNOptions, check_cell_options
from .dropout import SequenceDropout

_STATES = ("state.hidden", "state.memory")  # names of a state's first two tensors in a trace


class GateLayerNorm(nn.Module):
    """Layer normalisation (Ba et al., 2016) of each gate: s ⊙ (v - mean v) / deviation v."""

    def __init__(self, blocks: int, hidden: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(blocks, hidden))

    def forward(self, v: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        scale = self.scale[first:last]
        parts = v.unflatten(-1, scale.shape)
        centred = parts - parts.mean(-1, keepdim=True)
        rstd = (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        return (centred * rstd * scale).flatten(-2)


class RNNLayer(nn.Module):
    """One recurrent layer in one direction, with the options that any cell can have.

    a_t  = N(W x_t) + b + S h_{t-k} + (d if t = 0)      N: layer_norm, S: skip = k, d: first_bias
    s'_t = cell(a_t, s_{t-1}), where U h is N(U (m ⊙ h))    m: mask of recurrent dropout
    s_t  = z ⊙ s_{t-1} + (1 - z) ⊙ s'_t                 z: zoneout, 0 or 1 in training, its mean
                                                        in evaluation

    A state is the cell's own tensors, then an indicator of the first step (with `first_bias`), then
    the last k outputs, oldest first (with `skip`).
    """

    def __init__(self, cell: str, inputs: int, hidden: int, rnn_options: RNNOptions) -> None:
        super().__init__()
        kind = CELLS[cell]
        check_cell_options(cell, kind.own_options, kind.unsupported, rnn_options)
        self.cell: Cell = kind(inputs, hidden, rnn_options)
        self.rnn_options = rnn_options
        learned = rnn_options.initial_state == "learned"
        carried = kind.tensors - kind.output_only
        self.first_state = nn.Parameter(torch.zeros(carried, hidden)) if learned else None
        width = kind.products * hidden
        self.first_bias = nn.Parameter(torch.zeros(width)) if rnn_options.first_bias else None
        self.shortcut = nn.Linear(hidden, width, bias=False) if rnn_options.skip else None
        self.read_norm = GateLayerNorm(kind.products, hidden) if rnn_options.layer_norm else None
        recurrent = kind.products if kind.recurrent is None else kind.recurrent
        normalises = rnn_options.layer_norm and recurrent
        self.recur_norm = GateLayerNorm(recurrent, hidden) if normalises else None

    def initial(self, batch: int) -> State:
        """The initial state."""
        return self.begin(self.cell.initial(batch))

    def begin(self, own: State) -> State:
        """The initial state of a layer whose cell starts from `own`, plus what was learned."""
        batch = len(own[0])
        if self.first_state is not None:
            skipped = self.cell.output_only
            learned = zip(own[skipped:], self.first_state, strict=True)
            own = own[:skipped] + tuple(start + first for start, first in learned)
        is_first = (own[0].new_ones(batch, 1),) if self.first_bias is not None else ()
        if self.shortcut is None:
            return own + is_first
        past = own[0].new_zeros(batch, self.rnn_options.skip, own[0].shape[-1])
        return (*own, *is_first, past)

    @property
    def tensors(self) -> int:
        """Number of tensors in a state."""
        return self.cell.tensors + (self.first_bias is not None) + (self.shortcut is not None)

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> State:
        """The next state, from one input."""
        return self.step_products(self.products(x), state)

    def step_products(self, a: Products, state: State, mask: Mask = None) -> State:
        """The next state from the products W x + b of one step."""
        return self._next_state(a, state, self._recur(mask))

    def jacobian_bound(self) -> float | None:
        """An upper bound of ‖∂s_t/∂s_{t-1}‖ (Pascanu et al., 2013); None where none is known.

        With zoneout z in evaluation s_t = z s_{t-1} + (1 - z) s'_t, so γ becomes z + (1 - z) γ.
        """
        own = self.cell.jacobian_bound()
        if own is None or self.shortcut is not None or self.recur_norm is not None:
            return None
        return self.rnn_options.zoneout + (1 - self.rnn_options.zoneout) * own

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """All outputs and the last state."""
        outputs: Outputs = self(x, state)  # as a call, so that forward hooks run
        return outputs

    def forward(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """All outputs and the last state, by the fastest implementation that the options allow."""
        mask = self.recurrent_mask(len(x))
        plain = self.shortcut is None and self.first_bias is None and self.read_norm is None
        if plain and mask is None and not self._needs_reference():
            outputs, last = self.cell.unroll(x, state)
            return outputs, last
        return self.unroll_products(self.products(x), state, mask)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """All outputs and the last state from the products W x + b, which are used up."""
        if self._needs_reference():
            return self._unroll_reference(a, state, mask)
        own, rest = state[: self.cell.tensors], state[self.cell.tensors :]
        if self.first_bias is not None:
            a = torch.cat([a[:, :1] + (rest[0] * self.first_bias)[:, None], a[:, 1:]], dim=1)
            rest = (torch.zeros_like(rest[0]), *rest[1:])
        if self.shortcut is not None:
            return self._unroll_skip(a, own, rest, mask, self.shortcut)
        outputs, last = self.cell.unroll_products(a, own, mask)
        return outputs, last + rest

    def _needs_reference(self) -> bool:
        """Whether the unroll must go step by step: recording, zoneout, layer norm of U h."""
        return bool(is_watched() or self.rnn_options.zoneout or self.recur_norm)

    def _unroll_skip(
        self, a: Tensor, own: State, rest: State, mask: Tensor | None, shortcut: nn.Linear
    ) -> Outputs:
        """With a skip of k steps, k steps at a time: S h_{t-k} is then known for all of them."""
        past, outputs = rest[-1], []
        for segment in a.split(self.rnn_options.skip, dim=1):
            steps = segment.shape[1]
            products = segment + shortcut(past[:, :steps])
            found, own = self.cell.unroll_products(products, own, mask)
            past = torch.cat([past[:, steps:], found], dim=1)
            outputs.append(found)
        return torch.cat(outputs, dim=1), (*own, *rest[:-1], past)

    def _unroll_reference(self, a: AllProducts, state: State, mask: Mask) -> Outputs:
        recur, outputs = self._recur(mask), []
        for products in a.unbind(1):
            state = self._next_state(products, state, recur)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state

    def _next_state(self, a: Tensor, state: State, recur: RecurrentProduct) -> State:
        """The next state from the products of one step: the reference implementation."""
        own, rest = state[: self.cell.tensors], list(state[self.cell.tensors :])
        if self.first_bias is not None:
            a = a + rest[0] * self.first_bias
            rest[0] = torch.zeros_like(rest[0])
        if self.shortcut is not None:
            a = a + self.shortcut(rest[-1][:, 0])
        new = self.cell.step(a, own, recur)
        if self.rnn_options.zoneout:
            new = tuple(self._zoneout(old, one) for old, one in zip(own, new, strict=True))
        recorded = zip(_STATES, new, strict=False)
        new = (*(record(self.cell, kind, value) for kind, value in recorded), *new[len(_STATES) :])
        if self.shortcut is not None:
            rest[-1] = torch.cat([rest[-1][:, 1:], new[0][:, None]], dim=1)
        return (*new, *rest)

    def products(self, x: Tensor) -> Tensor:
        """W x + b; with layer_norm N(W x) + b."""
        if self.read_norm is None:
            return self.cell.read(x) if x.dim() == 2 else self.cell.input_products(x)
        return self.read_norm(x @ self.cell.read.weight.t()) + self.cell.read.bias

    def _recur(self, mask: Tensor | None) -> RecurrentProduct:
        """U h, with recurrent dropout and layer normalisation."""
        plain = self.cell.recur
        if plain is None:
            return lambda h, *blocks: h
        dropped = plain if mask is None else with_dropout(plain, mask)
        if (norm := self.recur_norm) is None:
            return dropped
        return lambda h, *blocks: norm(dropped(h, *blocks), *blocks)

    def recurrent_mask(self, batch: int) -> Mask:
        """A mask of recurrent dropout: one for all steps of each sequence; None without dropout."""
        rate = self.rnn_options.recurrent_dropout
        if not rate or not self.training:
            return None
        kept = torch.rand(batch, self.cell.hidden) >= rate
        return kept / (1 - rate)

    def _zoneout(self, old: Tensor, new: Tensor) -> Tensor:
        rate = self.rnn_options.zoneout
        if not self.training:  # the expected value of the random choice
            return torch.lerp(new, old, rate)
        return torch.where(torch.rand(new.shape) < rate, old, new)


def split_state(layers: list[RNNLayer], state: State) -> list[State]:
    """The state of a stack of layers, split by layer."""
    ends = list(accumulate(layer.tensors for layer in layers))
    return [state[end - layer.tensors : end] for layer, end in zip(layers, ends, strict=True)]


class RNN(nn.Module):
    """A recurrent neural network (RNN): stacked layers, in one direction or bidirectional.

    A bidirectional layer has a cell for each direction, and merges their outputs: concatenated,
    hₜ = [h⃗ₜ; h⃖ₜ], each half as wide, or summed, hₜ = h⃗ₜ + h⃖ₜ. The backward cell reads every
    sequence reversed by its own length, so that padding stays at the end, where it changes no
    output at a real position, and the fast kernels need no mask.
    """

    in_order = True  # truncated BPTT: a long text is learned segment after segment

    def __init__(
        self,
        cell: str,
        inputs: int,
        hidden: int,
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS,
    ) -> None:
        super().__init__()
        self.rnn_options = rnn_options
        self.concatenates = bidirectional and self.rnn_options.join == "concatenate"
        if self.concatenates and hidden % 2:
            raise ModelError(
                "M124",
                f"hidden_size = {hidden}: two concatenated directions need an even number",
                help=[f"--set model.hidden_size={hidden + 1}", "--set model.join=sum"],
            )
        sizes = [inputs] + [hidden] * (num_layers - 1)
        width = hidden // 2 if self.concatenates else hidden
        self.layers = self._stack(cell, sizes, width)
        self.backward_layers = self._stack(cell, sizes if bidirectional else [], width)
        self.dropout = SequenceDropout(dropout)

    def _stack(self, cell: str, sizes: list[int], width: int) -> nn.ModuleList:
        made: list[RNNLayer] = []
        for number, size in enumerate(sizes):
            same = [
                layer for layer, other in zip(made, sizes[:number], strict=True) if other == size
            ]
            shared = self.rnn_options.tied and same
            made.append(same[0] if shared else RNNLayer(cell, size, width, self.rnn_options))
        return nn.ModuleList(made)

    def initial(self, batch: int) -> State:
        """The initial state of every layer."""
        return tuple(part for layer in self.forward_layers for part in layer.initial(batch))

    @property
    def forward_layers(self) -> list[RNNLayer]:
        """The layers of the forward direction."""
        return _layers(self.layers)

    def split(self, state: State) -> list[State]:
        """A state, split by layer."""
        return split_state(self.forward_layers, state)

    @property
    def cell_tensors(self) -> int:
        """Number of tensors of a state that are the cells' own: those a bridge initialises."""
        return sum(layer.cell.tensors for layer in self.forward_layers)

    def begin(self, own: State) -> State:
        """The initial state of layers whose cells start from `own`, plus what was learned."""
        state: State = ()
        for layer in self.forward_layers:
            state += layer.begin(own[: layer.cell.tensors])
            own = own[layer.cell.tensors :]
        return state

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One time step of every layer, in the forward direction."""
        new: State = ()
        layers = self.forward_layers
        for number, (layer, old) in enumerate(zip(layers, split_state(layers, state), strict=True)):
            after = layer.step(self.dropout(x) if number else x, old)
            x = self.layer_output(x, after[0], number)
            new += after
        return x, new

    def final_output(self, state: State) -> Float[Tensor, "batch hidden"]:
        """The top layer's own output in a state, before a residual connection."""
        return split_state(self.forward_layers, state)[-1][0]

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        lengths: Int[Tensor, " batch"],
        state: State | None = None,
    ) -> Float[Tensor, "batch time hidden"]:
        """The top layer's outputs at every position."""
        return self.encode(x, lengths, state)[0]

    def encode(
        self,
        x: Float[Tensor, "batch time inputs"],
        lengths: Int[Tensor, " batch"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]:
        """The top layer's outputs, and its final states: h⃗ at the last position, h⃖ at the first."""
        layers, rows = self.forward_layers, torch.arange(len(x))
        states = split_state(layers, state or self.initial(len(x)))
        final = x[:, 0]
        for number, layer in enumerate(layers):
            below = self.dropout(x) if number else x
            outputs, _ = layer.run(below, states[number])
            final = outputs[rows, lengths - 1]
            if len(self.backward_layers):
                back = _layers(self.backward_layers)[number]
                reverse, _ = back.run(reverse_sequences(below, lengths), back.initial(len(x)))
                final = self._merged(final, reverse[rows, lengths - 1])
                outputs = self._merged(outputs, reverse_sequences(reverse, lengths))
            x = self.layer_output(x, outputs, number)
        return x, final

    def carry(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """Outputs of a segment without padding, and the state in which the next one begins."""
        new: State = ()
        layers = self.forward_layers
        for number, (layer, old) in enumerate(zip(layers, split_state(layers, state), strict=True)):
            outputs, last = layer.run(self.dropout(x) if number else x, old)
            x = self.layer_output(x, outputs, number)
            new += last
        return x, new

    def check_length(self, longest: int) -> None:
        """Raise an error if no sequence is long enough for the skip connection through time."""
        if longest <= self.rnn_options.skip:
            raise ModelError(
                "M124",
                f"skip = {self.rnn_options.skip}: the longest sequence has only {longest} steps",
                help=[f"--set model.skip={max(2, longest // 2)}   or 0 for none"],
            )

    def _merged(self, forward: Tensor, backward: Tensor) -> Tensor:
        return torch.cat([forward, backward], dim=-1) if self.concatenates else forward + backward

    def layer_output(self, below: Tensor, outputs: Tensor, number: int) -> Tensor:
        """The input of the next layer: the outputs, with the residual connection."""
        return below + outputs if self.rnn_options.residual and number else outputs


def reverse_sequences(
    x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch time width"]:
    """Each sequence reversed by its own length; padding stays at the end."""
    reverse: Tensor = _Reverse.apply(x, lengths)
    return reverse


class _Reverse(Function):
    """Reversal is its own inverse, so the gradient is reversed like the sequence.

    Whole rows are copied, and the result is time-major, the layout the cells read fastest. Torch's
    own gradient of an index would scatter into zeros.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor) -> Tensor:
        ctx.save_for_backward(lengths)
        batch, time, _ = x.shape
        position = torch.arange(time)[:, None]
        reverse = lengths - 1 - position
        # Negative at padding, which stays where it is.
        source, row = torch.where(reverse >= 0, reverse, position), torch.arange(batch)
        steps = x.transpose(0, 1)
        is_time_major = steps.is_contiguous()
        # The index of each row in memory, in whichever order x is laid out: flatten is then a view.
        index = source * batch + row if is_time_major else row * time + source
        rows = (steps if is_time_major else x).flatten(0, 1)
        chosen = rows.index_select(0, index.flatten())
        return chosen.unflatten(0, (time, batch)).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (lengths,) = ctx.saved_tensors
        return _Reverse.apply(grad, lengths), None


def _layers(modules: nn.ModuleList) -> list[RNNLayer]:
    return [layer for layer in modules if isinstance(layer, RNNLayer)]
