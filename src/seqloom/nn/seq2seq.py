"""Parts of a recurrent decoder: bridge, scheduled sampling, input feeding, pointer-generator.

Used by the recurrent encoder-decoder. Attention itself is in `nn/attention`.
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
from .attention import KeyValues, Scores, Weights, coverage_loss, mean_over_heads
from .cells import State
from .output.heads import output_layer
from .rnn import RNN

BridgeName = Literal["ends", "last", "mean", "learned", "zero"]


class EncoderOutput(NamedTuple):
    """The output of an encoder: a vector at every source position, and its final states."""

    outputs: Float[Tensor, "batch position hidden"]
    final: Float[Tensor, "batch hidden"]  # of both directions, concatenated
    mask: Bool[Tensor, "batch position"]  # true at real positions
    lengths: Int[Tensor, " batch"]


SOURCE_VECTORS: dict[str, Callable[[EncoderOutput], Tensor]] = {
    "ends": lambda e: e.final,
    "last": lambda e: e.outputs[torch.arange(len(e.outputs)), e.lengths - 1],
    "mean": lambda e: (e.outputs * e.mask[..., None]).sum(1) / e.lengths[:, None],
}


def source_vector(kind: str, encoded: EncoderOutput) -> Float[Tensor, "batch hidden"]:
    """One vector v for a source, from the encoder outputs m.

    ends   v = [m⃗_S; m⃖_1]: the final state of each direction
    last   v = m_S: the output at the last position
    mean   v = Σ_s m_s / S
    """
    return SOURCE_VECTORS[kind](encoded)


class Bridge(nn.Module):
    """The initial state of every decoder cell from the source: tanh(B v + b)."""

    def __init__(self, hidden: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.give = nn.Linear(hidden, hidden * parts)

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        return self.give(vector).tanh().chunk(self.parts, dim=-1)


class InitialState(nn.Module):
    """An initial decoder state that does not depend on the source: learned, or zero."""

    def __init__(self, hidden: int, parts: int, learned: bool) -> None:
        super().__init__()
        self.hidden, self.parts = hidden, parts
        self.first = nn.Parameter(torch.zeros(parts, hidden)) if learned else None

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        first = vector.new_zeros(self.parts, self.hidden) if self.first is None else self.first
        return tuple(part.expand(len(vector), -1) for part in first)


def bridge_layer(kind: BridgeName, hidden: int, parts: int) -> Bridge | InitialState:
    """The layer that gives the decoder its initial state, by name."""
    if kind in SOURCE_VECTORS:
        return Bridge(hidden, parts)
    return InitialState(hidden, parts, kind == "learned")


COPY_SMOOTHING = 1e-6  # ε, the share of copying that is spread evenly over the source


class PointerGenerator(nn.Module):
    """Pointer-generator (See et al., 2017): a mixture of generating and copying tokens.

    g_t    = σ(u · a_t + d)                                     probability of generating
    p(y_t) = g_t softmax(W a_t + b)_y + (1 - g_t) Σ_{s: x_s = y} c_ts
    c_t    = (1 - ε) α_t + ε / S                                distribution over S positions

    Without ε an unknown token where no attention falls, as outside of the window of local
    attention, would have the probability 0 and an infinite loss. The output tokens are the
    vocabulary, and after it the unknown tokens of the source, which can only be copied.
    """

    def __init__(self, width: int, unknowns: int) -> None:
        super().__init__()
        self.unknowns = unknowns
        self.gate = nn.Linear(width, 1)

    def forward(
        self,
        states: Float[Tensor, "batch time width"],
        generated: Float[Tensor, "batch time size"],
        copied: Scores,
        source_tokens: Int[Tensor, "batch position"],
    ) -> Float[Tensor, "batch time more"]:
        """Log-probabilities of all tokens; `generated` are those of the softmax."""
        generates = self.gate(states).sigmoid()
        probabilities = pad(generated.exp() * generates, (0, self.unknowns))
        index = source_tokens[:, None].expand(copied.shape)
        # A token may come several times in the source: scatter_add sums its probabilities.
        return probabilities.scatter_add(-1, index, (1 - generates) * copied).log()

    def log_probs(
        self,
        states: Float[Tensor, "batch time width"],
        generated: Float[Tensor, "batch time"],
        copied: Scores,
        source_tokens: Int[Tensor, "batch position"],
        right: Int[Tensor, "batch time"],
    ) -> Float[Tensor, "batch time"]:
        """Log-probabilities of the target tokens alone; `generated` is -inf for unknown ones.

        All in log space: with logaddexp neither of the two terms underflows.
        """
        gate = self.gate(states).squeeze(-1)
        found = (copied * (source_tokens[:, None] == right[..., None])).sum(-1)
        is_copied = found > 0
        # log 1 instead of log 0, then -inf: the gradient of log 0 would be NaN.
        log_copied = torch.where(is_copied, found, 1).log().masked_fill(~is_copied, -torch.inf)
        return torch.logaddexp(logsigmoid(gate) + generated, logsigmoid(-gate) + log_copied)


@dataclass(frozen=True, kw_only=True)
class ScheduledSamplingOptions:
    """Inputs of the decoder in training: teacher forcing, or scheduled sampling.

    Args:
        scheduled_sampling: Scheduled sampling (Bengio et al., 2015): the fraction of inputs in
            training that are the model's own predictions instead of the right tokens; 0 is teacher
            forcing. With it training goes step by step.
        sampling_ramp: Number of batches over which this fraction grows linearly from 0; 0 starts
            with all of it.
    """

    scheduled_sampling: float = 0.0
    sampling_ramp: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.scheduled_sampling <= 1:
            raise ModelError(
                "M204",
                f"scheduled_sampling must be in [0, 1] (got {self.scheduled_sampling:g})",
                help=["--set model.scheduled_sampling=0.25 --set model.sampling_ramp=5000"],
            )
        if self.sampling_ramp < 0:
            raise ModelError(
                "M204",
                f"sampling_ramp must not be negative (got {self.sampling_ramp})",
                help=["--set model.scheduled_sampling=0.25 --set model.sampling_ramp=5000"],
            )
        if self.sampling_ramp and not self.scheduled_sampling:
            raise ModelError(
                "M204",
                f"sampling_ramp = {self.sampling_ramp} has no effect: scheduled_sampling is 0",
                help=["--set model.scheduled_sampling=0.25", "--set model.sampling_ramp=0"],
            )


class ScheduledSampling(nn.Module):
    """Scheduled sampling (Bengio et al., 2015): which decoder inputs are its own predictions.

    ε_i = ε min(1, i / ramp)          the rate in batch i, counted from 0

    The batch counter is a buffer, saved with the weights, so that resumed training goes on exactly.
    """

    batches: Tensor

    def __init__(self, options: ScheduledSamplingOptions) -> None:
        super().__init__()
        self.options = options
        self.register_buffer("batches", torch.zeros(1, dtype=torch.int64))

    def rate(self) -> float:
        """ε of the next batch."""
        full, ramp = self.options.scheduled_sampling, self.options.sampling_ramp
        return full * min(1.0, self.batches.item() / ramp) if ramp else full

    def sample(self, rows: int, time: int) -> Bool[Tensor, "{rows} {time}"]:
        """True where the model's prediction is the input; counts one batch.

        The first input is BEGIN, which is never predicted.
        """
        own = torch.rand(rows, time) < self.rate()
        own[:, :1] = False
        self.batches += 1
        return own


DEFAULT_SCHEDULED_SAMPLING_OPTIONS = ScheduledSamplingOptions()


class StepwiseRNN:
    """An RNN unrolled step by step in training, because its output feeds back into its input.

    W [x; y] = Wˣ x + Wʸ y, where x is known beforehand (the target tokens) and y only at its step
    (attention context, input feeding): `products` takes x, of all steps at once if it can be had,
    and `step` adds y. All dropout masks are sampled once, as in an ordinary unroll.
    """

    def __init__(self, rnn: RNN, batch: int, known: int) -> None:
        self.rnn, self.layers = rnn, rnn.forward_layers
        first = self.layers[0]
        self.masks = [layer.recurrent_mask(batch) for layer in self.layers]
        dropout = rnn.dropout
        self.between = [dropout.sample_mask(batch, layer.cell.hidden) for layer in self.layers[1:]]
        # Split once: inside the loop each step would add a gradient of the size of all of W.
        self.known, self.fed = first.cell.read.weight.split(
            [known, first.cell.read.in_features - known], dim=1
        )
        self.norm, self.bias = first.read_norm, first.cell.read.bias

    def products(self, x: Float[Tensor, "*shape known"]) -> Float[Tensor, "*shape products"]:
        """Wˣ x, with the bias unless layer_norm comes in between."""
        return linear(x, self.known, None if self.norm else self.bias)

    def step(
        self, a: Float[Tensor, "batch products"], fed: list[Tensor], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One step of every layer, from the products Wˣ x and from what is fed back."""
        if fed:
            a = torch.addmm(a, torch.cat(fed, dim=-1), self.fed.t())
        if self.norm is not None:
            a = self.norm(a) + self.bias
        new: State = ()
        h, states = a, self.rnn.split(state)
        for number, (layer, old, mask) in enumerate(
            zip(self.layers, states, self.masks, strict=True)
        ):
            if number:
                dropped = self.between[number - 1]
                a = layer.products(h if dropped is None else h * dropped)
            # With gradients an unroll of length one: a single autograd node instead of one for
            # each operation of the equation. Without gradients the equation costs less.
            if torch.is_grad_enabled():
                outputs, after = layer.unroll_products(a[:, None], old, mask)
                output = outputs[:, 0]
            else:
                after = layer.step_products(a, old, mask)
                output = after[0]
            h = self.rnn.layer_output(h, output, number)
            new += after
        return h, new


Advance = Callable[[list[Tensor], State], tuple[Tensor, State]]
Drop = Callable[[Tensor], Tensor]


class DecoderSource(NamedTuple):
    """What a decoder uses of the sources, one row for each; constant over all steps."""

    keys_values: KeyValues
    vector: Float[Tensor, "batch hidden"] | None  # an input of every step
    tokens: Int[Tensor, "batch position"] | None  # to copy from


class DecoderState(NamedTuple):
    """The recurrent part of a decoder's state, one row for each candidate."""

    weights: Float[Tensor, "rows position"] | None  # the previous attention, where it is needed
    input_feed: Float[Tensor, "rows outputs"] | None  # the last attentional state
    cells: State


class DecoderDropout(NamedTuple):
    """Dropout of decoder states, and of attentional states."""

    state: Drop
    attentional: Drop


class DecoderOutput(NamedTuple):
    """The attentional states at all target positions, and their attention weights."""

    states: Float[Tensor, "batch time outputs"]
    weights: Weights | None


def repeat_over_time(
    vector: Float[Tensor, "batch hidden"], like: Float[Tensor, "batch time _"]
) -> Float[Tensor, "batch time hidden"]:
    """The same vector at every position."""
    return vector[:, None].expand(-1, like.shape[1], -1)


def fixed_dropout(mask: Tensor | None) -> Drop:
    """Dropout with one mask for all steps."""
    return lambda x: x if mask is None else x * mask


def stepwise_advance(rnn: StepwiseRNN, a: Float[Tensor, "batch products"]) -> Advance:
    """A step of a stepwise RNN, from the products of its known inputs."""
    return lambda fed, cells: rnn.step(a, fed, cells)


class DecoderOutputLayer(nn.Module):
    """Output layer of a decoder: softmax(W a + b), or with a pointer also copied tokens."""

    def __init__(self, target: Space, width: int, pointer: PointerGenerator | None) -> None:
        super().__init__()
        self.output, self.pointer = output_layer(target, width), pointer
        self.size = target.size if isinstance(target, Tokens) else 0

    def forward(
        self, decoded: DecoderOutput, source: DecoderSource
    ) -> Float[Tensor, "batch time vocabulary"]:
        """Log-probabilities of all tokens."""
        log_probs: Tensor = self.output(decoded.states)
        if self.pointer is None or decoded.weights is None or source.tokens is None:
            return log_probs
        copied = copy_distribution(decoded.weights, source.keys_values.mask)
        mixed: Tensor = self.pointer(decoded.states, log_probs, copied, source.tokens)
        return mixed

    def log_probs(
        self, decoded: DecoderOutput, source: DecoderSource, target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target token; 0 at padding."""
        generated = self.output.log_probs(decoded.states, target)
        if self.pointer is None or decoded.weights is None or source.tokens is None:
            return generated
        right = torch.from_numpy(target.values)
        copied = copy_distribution(decoded.weights, source.keys_values.mask)
        generated = generated.masked_fill(right >= self.size, -torch.inf)
        mixed = self.pointer.log_probs(decoded.states, generated, copied, source.tokens, right)
        return mixed.masked_fill(~torch.from_numpy(target.mask), 0.0)

    def loss(
        self,
        decoded: DecoderOutput,
        source: DecoderSource,
        target: Sequences,
        *,
        smoothing: float,
        coverage: float = 0.0,
    ) -> Float[Tensor, ""]:
        """Nats per real target token, with label smoothing and `coverage` times the coverage loss.

        With a pointer, label smoothing spreads over the tokens of the vocabulary, not over those
        that are copied.
        """
        states = decoded.states
        if self.pointer is None:
            loss = self.output.loss(states, target, smoothing)
        else:
            loss = -self.log_probs(decoded, source, target).sum() / int(target.lengths.sum())
            if smoothing:
                uniform = self.output.loss(states, target, 1.0)
                loss = (1 - smoothing) * loss + smoothing * uniform
        if coverage and decoded.weights is not None:
            loss = loss + coverage * coverage_loss(decoded.weights, target)
        return loss


def copy_distribution(weights: Weights, mask: Bool[Tensor, "batch position"]) -> Scores:
    """c_t of a pointer-generator: attention weights with ε spread over the real positions."""
    evenly = mask / mask.sum(-1, keepdim=True)
    return (1 - COPY_SMOOTHING) * mean_over_heads(weights) + COPY_SMOOTHING * evenly[:, None]


def pointer_generator(signature: Signature, width: int) -> PointerGenerator:
    """A pointer-generator for these spaces, or an error if they cannot copy."""
    source = signature.source
    if not isinstance(source, Tokens) or source != signature.target or not source.unknowns:
        raise ModelError(
            "M202",
            "copy needs one vocabulary for source and target, with room for unknown tokens",
            help=["--set task.joint_vocab=true --set task.copies=10", "--set model.copy=false"],
        )
    return PointerGenerator(width, source.unknowns)
