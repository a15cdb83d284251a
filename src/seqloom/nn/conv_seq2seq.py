"""ConvS2S: gated convolutional encoder and decoder with attention (Gehring et al., 2017)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from ..errors import ModelError
from .attention import KeyValues, Scores
from .attention.scores import DotAttention
from .convolution import DilatedConvolution
from .dropout import SequenceDropout

State = tuple[Tensor, ...]
SQRT_HALF = 0.5**0.5  # keeps the variance of a sum of two terms of the same variance
INIT_STD = 0.1  # standard deviation of initial token and position embeddings


class PositionEmbedding(nn.Module):
    """Learned position embeddings; positions beyond the last one share its embedding."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(positions, width) * INIT_STD)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """x_t + P_t, counted from 0 or from `first` on."""
        positions = torch.arange(x.shape[1]) if first is None else first[:, None]
        return x + self.table[positions.clamp(max=len(self.table) - 1)]


class GatedConvolution(nn.Module):
    """A convolution with a gated linear unit, GLU (Dauphin et al., 2017).

    [u; g] = conv(x),  y = u ⊙ σ(g)
    """

    def __init__(self, hidden: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = DilatedConvolution(hidden, 2 * hidden, kernel, 1)
        self.dropout = SequenceDropout(dropout)
        # Variance 4 (1 - p) / (K d): a GLU passes about a quarter of the variance of its input.
        std = (4 * (1 - dropout) / (kernel * hidden)) ** 0.5
        nn.init.normal_(self.convolution.direction, std=std)
        nn.init.zeros_(self.convolution.bias)
        with torch.no_grad():
            self.convolution.size.copy_(self.convolution.direction.norm(dim=1, keepdim=True))

    @property
    def padding(self) -> int:
        """Number of positions needed besides those that get an output."""
        return self.convolution.padding

    def forward(
        self, x: Float[Tensor, "batch positions hidden"]
    ) -> Float[Tensor, "batch time hidden"]:
        return glu(self.convolution(x), dim=-1)


class GatedEncoder(nn.Module):
    """The encoder of ConvS2S: stacked gated convolutions that see both sides.

    x⁰ = I e                               e: token embedding + position embedding
    xˡ = √½ (gatedˡ(xˡ⁻¹) + xˡ⁻¹)
    z  = O xᴸ                              the keys
    m  = √½ (z + e)                        the values
    """

    def __init__(self, width: int, hidden: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        check_stack("encoder_layers", layers, kernel)
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.layers = nn.ModuleList(
            GatedConvolution(hidden, kernel, dropout) for _ in range(layers)
        )

    def forward(
        self, e: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> KeyValues:
        mask = torch.arange(e.shape[1]) < lengths[:, None]
        x = self.enter(e)
        for layer in _gated(self.layers):
            inputs = layer.dropout(x) * mask[..., None]  # padding must not reach real positions
            after = layer.padding // 2
            x = SQRT_HALF * (layer(pad(inputs, (0, 0, layer.padding - after, after))) + x)
        z = self.leave(x)
        return KeyValues(SQRT_HALF * (z + e), z, mask)


class GatedDecoderLayer(nn.Module):
    """A decoder layer of ConvS2S: a causal gated convolution, then attention over the source.

    h   = gated(x)
    d_t = √½ (Q h_t + g_t)                 g: embeddings of the input tokens and positions
    α_t = softmax(d_t · z)
    c_t = √S Σ_s α_ts m_s                  S: source length; restores the variance lost in the mean
    y   = √½ (√½ (h + P c) + x)
    """

    def __init__(self, width: int, hidden: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.gated = GatedConvolution(hidden, kernel, dropout)
        self.ask, self.take = nn.Linear(hidden, width), nn.Linear(width, hidden)
        self.attention = DotAttention()

    def forward(
        self,
        x: Float[Tensor, "rows time hidden"],
        g: Float[Tensor, "rows time width"],
        source: KeyValues,
        past: Float[Tensor, "rows before hidden"],
    ) -> tuple[Tensor, Scores, Tensor]:
        """The outputs, the attention weights, and the inputs that the next step needs.

        Rows are targets, or candidates at one step, the same number for each source.
        """
        inputs = torch.cat([past, self.gated.dropout(x)], dim=1)
        h = self.gated(inputs)
        # The candidates of a source become time steps of one query sequence.
        fold = (len(source.values), -1)
        queries = SQRT_HALF * (self.ask(h) + g)
        output = self.attention(queries.reshape(*fold, queries.shape[-1]), source)
        self.attention.record_weights(output.weights)
        scale = source.mask.sum(1).to(x.dtype).sqrt()[:, None, None]
        context = self.take(scale * output.context).view_as(h)
        weights = output.weights.reshape(*x.shape[:2], -1)
        later = inputs[:, inputs.shape[1] - self.gated.padding :]
        return SQRT_HALF * (SQRT_HALF * (h + context) + x), weights, later


class GatedDecoder(nn.Module):
    """The decoder of ConvS2S: stacked layers, each with attention of its own."""

    def __init__(self, width: int, hidden: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        check_stack("decoder_layers", layers, kernel)
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.layers = nn.ModuleList(
            GatedDecoderLayer(width, hidden, kernel, dropout) for _ in range(layers)
        )
        self.shape = kernel - 1, hidden

    def initial(self, rows: int) -> State:
        """The initial state: zero padding before the first position, in every layer."""
        return tuple(self.enter.weight.new_zeros(rows, *self.shape) for _ in self.layers)

    def forward(
        self, g: Float[Tensor, "rows time width"], source: KeyValues, state: State
    ) -> tuple[Float[Tensor, "rows time width"], Float[Tensor, "rows time position"], State]:
        """The outputs, the attention weights averaged over the layers, and the next state."""
        x, attention, new = self.enter(g), [], list[Tensor]()
        for layer, past in zip(self.layers, state, strict=True):
            x, weights, later = layer(x, g, source, past)
            attention.append(weights)
            new.append(later)
        return self.leave(x), torch.stack(attention).mean(0), tuple(new)


def _gated(modules: nn.ModuleList) -> list[GatedConvolution]:
    return [layer for layer in modules if isinstance(layer, GatedConvolution)]


def check_stack(name: str, layers: int, kernel: int) -> None:
    """Raise an error for a stack without layers, or kernels of one position."""
    if layers < 1:
        raise ModelError(
            "M205", f"{name} = {layers}: expected 1 or more", help=[f"--set model.{name}=4"]
        )
    if kernel < 2:
        raise ModelError(
            "M205",
            f"kernel = {kernel}: expected 2 positions or more",
            help=["--set model.kernel=3"],
        )
