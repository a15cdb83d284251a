"""The baseline of `nanogpt.py`: a faithful reimplementation of nanoGPT's model and training loop.

Pre-norm with layer norms without bias, one product for queries, keys and values, PyTorch's fused
attention, weight tying, AdamW with weight decay on matrices only, warmup and cosine schedule,
gradient clipping at 1, the loss read at every step.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Shape(NamedTuple):
    """How large the model is."""

    symbols: int
    context: int
    layers: int
    heads: int
    width: int


class Norm(nn.Module):
    """A layer norm without bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.width = shape.heads, shape.width
        self.read = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.join = nn.Linear(shape.width, shape.width, bias=False)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.size()
        q, k, v = self.read(x).split(self.width, dim=2)
        k = k.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        q = q.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(batch, time, width)
        return self.dropout(self.join(y))


class Block(nn.Module):
    """Attention and a small network, each added to what went in."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.first_norm, self.attention = Norm(shape.width), Attention(shape)
        self.second_norm = Norm(shape.width)
        self.widen = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.bend = nn.GELU()
        self.narrow = nn.Linear(4 * shape.width, shape.width, bias=False)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first_norm(x))
        return x + self.dropout(self.narrow(self.bend(self.widen(self.second_norm(x)))))


class GPT(nn.Module):
    """The model."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.symbols = nn.Embedding(shape.symbols, shape.width)
        self.places = nn.Embedding(shape.context, shape.width)
        self.dropout = nn.Dropout(0.0)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width)
        self.scores = nn.Linear(shape.width, shape.symbols, bias=False)
        self.scores.weight = self.symbols.weight
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                small = name.endswith(("join.weight", "narrow.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * shape.layers) if small else 0.02)

    def loss(self, read: Tensor, right: Tensor) -> Tensor:
        """Nats per character."""
        places = torch.arange(0, read.size(1), dtype=torch.long)
        x = self.dropout(self.symbols(read) + self.places(places))
        for block in self.blocks:
            x = block(x)
        scores = self.scores(self.norm(x))
        return functional.cross_entropy(
            scores.view(-1, scores.size(-1)), right.view(-1), ignore_index=-1
        )


class Loop:
    """What is done with each batch."""

    def __init__(self, model: GPT, steps: int, rate: float) -> None:
        self.model, self.steps, self.rate, self.taken = model, steps, rate, 0
        weights = list(model.parameters())
        groups = [
            {"params": [w for w in weights if w.dim() >= 2], "weight_decay": 0.1},
            {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.99))

    def step(self, read: Tensor, right: Tensor) -> float:
        """Learn from one batch; the loss before."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        loss = self.model.loss(read, right)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.taken += 1
        return loss.item()

    def _rate(self, warmup: int = 100) -> float:
        least = self.rate / 10
        if self.taken < warmup:
            return self.rate * (self.taken + 1) / (warmup + 1)
        share = min(1.0, (self.taken - warmup) / (self.steps - warmup))
        return least + 0.5 * (1 + math.cos(math.pi * share)) * (self.rate - least)
