"""From what a decoder has written to distributions over symbols.

From what an encoder read to the state a decoder starts with.

Copying: an answer may point at a symbol of the source.

What a decoder reads while it learns: the right symbols, or now and then its own.

A recurrence taken one step at a time, because something feeds back into it.

The parts of a decoder at work: what it knows, what a step changes, what it has written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid, pad

from ..batch import Sequences
from ..errors import ModelError
from ..signature import Signature, Space, Tokens
from .attention import Scores, Seen, Weights, coverage, shares
from .cells import State
from .output.heads import output_layer
from .rnn import Recurrence

BridgeName = Literal["ends", "last", "mean", "learned", "zero"]


class Read(NamedTuple):
    """What an encoder made of a source."""

    memory: Float[Tensor, "batch place hidden"]
    ends: Float[Tensor, "batch hidden"]
    real: Bool[Tensor, "batch place"]
    lengths: Int[Tensor, " batch"]


SUMMARIES: dict[str, Callable[[Read], Tensor]] = {
    "ends": lambda read: read.ends,
    "last": lambda read: read.memory[torch.arange(len(read.memory)), read.lengths - 1],
    "mean": lambda read: (read.memory * read.real[..., None]).sum(1) / read.lengths[:, None],
}


def summary(kind: str, read: Read) -> Float[Tensor, "batch hidden"]:
    """One vector v for a source.

    ends   v = [m⃗_S; m⃖_1]: where reading ended, from the left and from the right
    last   v = m_S: what is remembered at the last place
    mean   v = Σ_s m_s / S
    """
    return SUMMARIES[kind](read)


class Bridge(nn.Module):
    """The first state of every cell of a decoder: tanh(B v + b), v being the source's vector."""

    def __init__(self, hidden: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.give = nn.Linear(hidden, hidden * parts)

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        return self.give(vector).tanh().chunk(self.parts, dim=-1)


class Start(nn.Module):
    """A first state that does not depend on the source: learned, or zero."""

    def __init__(self, hidden: int, parts: int, learned: bool) -> None:
        super().__init__()
        self.hidden, self.parts = hidden, parts
        self.first = nn.Parameter(torch.zeros(parts, hidden)) if learned else None

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        first = vector.new_zeros(self.parts, self.hidden) if self.first is None else self.first
        return tuple(part.expand(len(vector), -1) for part in first)


def bridge(kind: BridgeName, hidden: int, parts: int) -> Bridge | Start:
    """What hands over, by its name."""
    return Bridge(hidden, parts) if kind in SUMMARIES else Start(hidden, parts, kind == "learned")


class Pointer(nn.Module):
    """A mixture of writing and copying (the pointer-generator of See et al., 2017).

    g_t    = σ(u · a_t + d)                                     how likely it writes, not copies
    p(y_t) = g_t softmax(W a_t + b)_y + (1 - g_t) Σ_{s: x_s = y} α_ts

    The symbols are those of the vocabulary and after them the source's unknown ones, which can only
    be copied.
    """

    def __init__(self, width: int, unknowns: int) -> None:
        super().__init__()
        self.unknowns = unknowns
        self.gate = nn.Linear(width, 1)

    def forward(
        self,
        states: Float[Tensor, "batch time width"],
        written: Float[Tensor, "batch time size"],
        weights: Scores,
        symbols: Int[Tensor, "batch place"],
    ) -> Float[Tensor, "batch time more"]:
        """Log-probabilities of all symbols, `written` being those of writing them."""
        writes = self.gate(states).sigmoid()
        chances = pad(written.exp() * writes, (0, self.unknowns))
        which = symbols[:, None].expand(weights.shape)
        return chances.scatter_add(-1, which, (1 - writes) * weights).log()

    def log_probs(
        self,
        states: Float[Tensor, "batch time width"],
        written: Float[Tensor, "batch time"],
        weights: Scores,
        symbols: Int[Tensor, "batch place"],
        right: Int[Tensor, "batch time"],
    ) -> Float[Tensor, "batch time"]:
        """The same for the right symbols alone, `written` being minus infinity of the unknown."""
        gate = self.gate(states).squeeze(-1)
        copied = (weights * (symbols[:, None] == right[..., None])).sum(-1)
        known = copied > 0
        log_copied = torch.where(known, copied, 1).log().masked_fill(~known, -torch.inf)
        return torch.logaddexp(logsigmoid(gate) + written, logsigmoid(-gate) + log_copied)


@dataclass(frozen=True, kw_only=True)
class Practice:
    """What a decoder reads while it learns.

    Args:
        scheduled_sampling: The share of symbols for which it reads its own best guess instead of
            the right one while training (Bengio et al., 2015); training then goes step by step.
        sampling_ramp: Over how many batches that share grows from nothing; 0 begins with all of it.
    """

    scheduled_sampling: float = 0.0
    sampling_ramp: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.scheduled_sampling <= 1 or self.sampling_ramp < 0:
            raise ModelError(
                "M204",
                f"a share of {self.scheduled_sampling:g} of own guesses, grown over"
                f" {self.sampling_ramp} batches, cannot be",
                help=["--set model.scheduled_sampling=0.25 --set model.sampling_ramp=5000"],
            )
        if self.sampling_ramp and not self.scheduled_sampling:
            raise ModelError(
                "M204",
                f"sampling_ramp = {self.sampling_ramp} leads nowhere: scheduled_sampling is 0",
                help=["--set model.scheduled_sampling=0.25", "--set model.sampling_ramp=0"],
            )


class Guessing(nn.Module):
    """Which inputs are a decoder's own guesses (scheduled sampling; Bengio et al., 2015).

    ε_i = ε min(1, i / ramp)          the share in batch i, counted from 0

    The count belongs to the weights, so that training that was stopped goes on as it would have.
    """

    batches: Tensor

    def __init__(self, practice: Practice) -> None:
        super().__init__()
        self.practice = practice
        self.register_buffer("batches", torch.zeros(1, dtype=torch.int64))

    def share(self) -> float:
        """ε of the batch that comes next."""
        whole, ramp = self.practice.scheduled_sampling, self.practice.sampling_ramp
        return whole * min(1.0, self.batches.item() / ramp) if ramp else whole

    def drawn(self, rows: int, time: int) -> Bool[Tensor, "{rows} {time}"]:
        """True where the guess is read; one more batch is counted. The first input is BEGIN."""
        own = torch.rand(rows, time) < self.share()
        own[:, :1] = False
        self.batches += 1
        return own


PLAIN_PRACTICE = Practice()


class Walk:
    """The steps of a recurrence over some sequences; what is dropped is drawn once for all steps.

    W [x; y] = Wˣ x + Wʸ y, where x is known beforehand and y only at its step: `products` reads x,
    of all steps at once if it can be had, and `step` adds y.
    """

    def __init__(self, recurrence: Recurrence, rows: int, known: int) -> None:
        self.recurrence, self.layers = recurrence, recurrence.stack
        first = self.layers[0]
        self.masks = [layer.mask(rows) for layer in self.layers]
        between = recurrence.dropout
        self.between = [between.drawn(rows, layer.cell.hidden) for layer in self.layers[1:]]
        self.known, self.fed = first.cell.read.weight.split(
            [known, first.cell.read.in_features - known], dim=1
        )  # cut once: at every step it would cost a gradient of the whole
        self.norm, self.bias = first.read_norm, first.cell.read.bias

    def products(self, x: Float[Tensor, "*place known"]) -> Float[Tensor, "*place products"]:
        """Wˣ x, with the bias unless the sum is to be normalised first."""
        return linear(x, self.known, None if self.norm else self.bias)

    def step(
        self, a: Float[Tensor, "batch products"], fed: list[Tensor], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One step of every layer, from the products of what was known and what is fed back."""
        if fed:
            a = torch.addmm(a, torch.cat(fed, dim=-1), self.fed.t())
        if self.norm is not None:
            a = self.norm(a) + self.bias
        new: State = ()
        h, states = a, self.recurrence.split(state)
        for number, (layer, old, mask) in enumerate(
            zip(self.layers, states, self.masks, strict=True)
        ):
            if number:
                dropped = self.between[number - 1]
                a = layer.products(h if dropped is None else h * dropped)
            if torch.is_grad_enabled():  # one node for the way back, not one for every product
                outputs, after = layer.onward(a[:, None], old, mask)
                output = outputs[:, 0]
            else:
                after = layer.after(a, old, mask)
                output = after[0]
            h = self.recurrence.above(h, output, number)
            new += after
        return h, new


Advance = Callable[[list[Tensor], State], tuple[Tensor, State]]
Drop = Callable[[Tensor], Tensor]


class Source(NamedTuple):
    """What is known of the sources, a row for each: no step changes it."""

    seen: Seen
    vector: Float[Tensor, "batch hidden"] | None  # read at every step
    symbols: Int[Tensor, "batch place"] | None  # to copy from


class Moving(NamedTuple):
    """What a step changes, a row for each candidate."""

    weights: Float[Tensor, "rows place"] | None  # where it looked last, if that matters
    fed: Float[Tensor, "rows outputs"] | None  # the last attentional state, with input feeding
    cells: State


class Drops(NamedTuple):
    """What drops numbers of decoder states, and of attentional states."""

    state: Drop
    joined: Drop


class Written(NamedTuple):
    """The attentional states at every place of the target, and where each looked."""

    states: Float[Tensor, "batch time outputs"]
    weights: Weights | None


def along(
    vector: Float[Tensor, "batch hidden"], like: Float[Tensor, "batch time _"]
) -> Float[Tensor, "batch time hidden"]:
    """The same vector at every place."""
    return vector[:, None].expand(-1, like.shape[1], -1)


def fixed(mask: Tensor | None) -> Drop:
    """What drops the same numbers at every step."""
    return lambda x: x if mask is None else x * mask


def on_foot(walk: Walk, a: Float[Tensor, "batch products"]) -> Advance:
    """A step of a walk, from the products of what was known beforehand."""
    return lambda fed, cells: walk.step(a, fed, cells)


class Answers(nn.Module):
    """Symbols that are written, softmax(W a + b), or with a pointer also copied."""

    def __init__(self, target: Space, width: int, pointer: Pointer | None) -> None:
        super().__init__()
        self.output, self.pointer = output_layer(target, width), pointer
        self.size = target.size if isinstance(target, Tokens) else 0

    def forward(self, written: Written, source: Source) -> Float[Tensor, "batch time vocabulary"]:
        """Log-probabilities of all symbols."""
        log_probs: Tensor = self.output(written.states)
        if self.pointer is None or written.weights is None or source.symbols is None:
            return log_probs
        looked = shares(written.weights)
        found: Tensor = self.pointer(written.states, log_probs, looked, source.symbols)
        return found

    def log_probs(
        self, written: Written, source: Source, target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target symbol; 0 where there is none."""
        found = self.output.log_probs(written.states, target)
        if self.pointer is None or written.weights is None or source.symbols is None:
            return found
        right, looked = torch.from_numpy(target.values), shares(written.weights)
        found = found.masked_fill(right >= self.size, -torch.inf)
        mixed = self.pointer.log_probs(written.states, found, looked, source.symbols, right)
        return mixed.masked_fill(~torch.from_numpy(target.mask), 0.0)

    def loss(
        self,
        written: Written,
        source: Source,
        target: Sequences,
        *,
        smoothing: float,
        again: float = 0.0,
    ) -> Float[Tensor, ""]:
        """Nats per real target symbol; `again` is what looking twice at a place costs.

        Smoothing favours all symbols that can be written, not those that are copied.
        """
        states = written.states
        if self.pointer is None:
            loss = self.output.loss(states, target, smoothing)
        else:
            loss = -self.log_probs(written, source, target).sum() / int(target.lengths.sum())
            if smoothing:
                even = self.output.loss(states, target, 1.0)
                loss = (1 - smoothing) * loss + smoothing * even
        if again and written.weights is not None:
            loss = loss + again * coverage(written.weights, target)
        return loss


def pointer_for(signature: Signature, width: int) -> Pointer:
    """What copies, where the spaces have room for it."""
    source = signature.source
    if not isinstance(source, Tokens) or source != signature.target or not source.unknowns:
        raise ModelError(
            "M202",
            "to copy, source and target need one vocabulary with room for unknown symbols",
            help=["--set task.joint=true --set task.copies=10", "--set model.copy=false"],
        )
    return Pointer(width, source.unknowns)
