"""Gated convolutions that read a source and write a target (ConvS2S; Gehring et al., 2017)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from ..errors import ModelError
from .attention import Scores, Seen
from .attention.scores import Dot
from .convolution import Convolution
from .dropout import SequenceDropout

State = tuple[Tensor, ...]
HALF = 0.5**0.5  # keeps the size of a sum of two that are alike
SPREAD = 0.1  # the standard deviation that vectors of symbols and places start with


class Places(nn.Module):
    """A learned vector for every place; those beyond the last one share its vector."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(places, width) * SPREAD)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """x_t + P_t, counted from 0 or from `first` on."""
        places = torch.arange(x.shape[1]) if first is None else first[:, None]
        return x + self.table[places.clamp(max=len(self.table) - 1)]


class GatedConvolution(nn.Module):
    """A convolution of which one half opens and shuts the other (Dauphin et al., 2017).

    [u; g] = conv(x),  y = u ⊙ σ(g)
    """

    def __init__(self, hidden: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = Convolution(hidden, 2 * hidden, kernel, 1)
        self.dropout = SequenceDropout(dropout)
        spread = (4 * (1 - dropout) / (kernel * hidden)) ** 0.5  # or the gates shrink what passes
        nn.init.normal_(self.convolution.direction, std=spread)
        nn.init.zeros_(self.convolution.bias)
        with torch.no_grad():
            self.convolution.size.copy_(self.convolution.direction.norm(dim=1, keepdim=True))

    @property
    def before(self) -> int:
        """How many places before the first output must be given."""
        return self.convolution.before

    def forward(
        self, x: Float[Tensor, "batch places hidden"]
    ) -> Float[Tensor, "batch time hidden"]:
        return glu(self.convolution(x), dim=-1)


class GatedEncoder(nn.Module):
    """Gated convolutions over a source, each seeing as far to both sides.

    x⁰ = I e                               e: the vectors of symbols and places
    xˡ = √½ (gatedˡ(xˡ⁻¹) + xˡ⁻¹)
    z  = O xᴸ                              what is compared: the keys
    m  = √½ (z + e)                        what is found: the memory
    """

    def __init__(self, width: int, hidden: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        refuse_impossible("encoder_layers", layers, kernel)
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.layers = nn.ModuleList(
            GatedConvolution(hidden, kernel, dropout) for _ in range(layers)
        )

    def forward(self, e: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]) -> Seen:
        real = torch.arange(e.shape[1]) < lengths[:, None]
        x = self.enter(e)
        for layer in _gated(self.layers):
            seen = layer.dropout(x) * real[..., None]  # padding is as nothing
            behind = layer.before // 2
            x = HALF * (layer(pad(seen, (0, 0, layer.before - behind, behind))) + x)
        z = self.leave(x)
        return Seen(HALF * (z + e), z, real)


class GatedDecoderLayer(nn.Module):
    """A gated convolution that sees the past alone, then looks at the source.

    h   = gated(x)
    d_t = √½ (Q h_t + g_t)                 g: the vectors of the symbols read and their places
    α_t = softmax(d_t · z)
    c_t = √S Σ_s α_ts m_s                  S places; a mean of them would be too small
    y   = √½ (√½ (h + P c) + x)
    """

    def __init__(self, width: int, hidden: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.gated = GatedConvolution(hidden, kernel, dropout)
        self.ask, self.take = nn.Linear(hidden, width), nn.Linear(width, hidden)
        self.attention = Dot()

    def forward(
        self,
        x: Float[Tensor, "rows time hidden"],
        g: Float[Tensor, "rows time width"],
        seen: Seen,
        past: Float[Tensor, "rows before hidden"],
    ) -> tuple[Tensor, Scores, Tensor]:
        """The outputs, where each looked, and what the next step needs of the inputs.

        Rows are targets, or candidates for a step, so many of them for each source.
        """
        inputs = torch.cat([past, self.gated.dropout(x)], dim=1)
        h = self.gated(inputs)
        fold = (len(seen.memory), -1)
        asks = HALF * (self.ask(h) + g)
        found = self.attention(asks.reshape(*fold, asks.shape[-1]), seen)
        self.attention.show(found.weights)
        size = seen.real.sum(1).to(x.dtype).sqrt()[:, None, None]
        taken = self.take(size * found.context).view_as(h)
        weights = found.weights.reshape(*x.shape[:2], -1)
        later = inputs[:, inputs.shape[1] - self.gated.before :]
        return HALF * (HALF * (h + taken) + x), weights, later


class GatedDecoder(nn.Module):
    """Layers that write a target, each with a look at the source of its own."""

    def __init__(self, width: int, hidden: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        refuse_impossible("decoder_layers", layers, kernel)
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.layers = nn.ModuleList(
            GatedDecoderLayer(width, hidden, kernel, dropout) for _ in range(layers)
        )
        self.shape = kernel - 1, hidden

    def initial(self, rows: int) -> State:
        """Zeros stand before the first place, in every layer."""
        return tuple(self.enter.weight.new_zeros(rows, *self.shape) for _ in self.layers)

    def forward(
        self, g: Float[Tensor, "rows time width"], seen: Seen, state: State
    ) -> tuple[Float[Tensor, "rows time width"], Float[Tensor, "rows time place"], State]:
        """The outputs, the mean of where the layers looked, and what the next step needs."""
        x, looked, new = self.enter(g), [], list[Tensor]()
        for layer, past in zip(self.layers, state, strict=True):
            x, weights, later = layer(x, g, seen, past)
            looked.append(weights)
            new.append(later)
        return self.leave(x), torch.stack(looked).mean(0), tuple(new)


def _gated(modules: nn.ModuleList) -> list[GatedConvolution]:
    return [layer for layer in modules if isinstance(layer, GatedConvolution)]


def refuse_impossible(name: str, layers: int, kernel: int) -> None:
    """Say what a stack of gated convolutions cannot be."""
    if layers < 1:
        raise ModelError(
            "M205", f"{name} = {layers}: expected 1 or more", help=[f"--set model.{name}=4"]
        )
    if kernel < 2:
        raise ModelError(
            "M205",
            f"kernel = {kernel}: a convolution must see two places or more",
            help=["--set model.kernel=3"],
        )
