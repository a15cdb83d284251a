"""Attention mechanisms by the names recipes use: a new one adds a file and two lines."""

from .base import (
    Attention,
    AttentionOutput,
    KeyValues,
    Scores,
    Weights,
    mean_over_heads,
)
from .location import LocalAttention, LocationAttention, coverage_loss
from .multi_head import MultiHeadAttention
from .options import DEFAULT_ATTENTION_OPTIONS, AttentionName, AttentionOptions
from .scores import AdditiveAttention, DotAttention, GeneralAttention, ScaledDotAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "dot": DotAttention,
    "general": GeneralAttention,
    "additive": AdditiveAttention,
    "scaled": ScaledDotAttention,
    "location": LocationAttention,
    "local": LocalAttention,
    "multi-head": MultiHeadAttention,
}

__all__ = [
    "ATTENTIONS",
    "DEFAULT_ATTENTION_OPTIONS",
    "Attention",
    "AttentionName",
    "AttentionOptions",
    "AttentionOutput",
    "KeyValues",
    "Scores",
    "Weights",
    "coverage_loss",
    "mean_over_heads",
]
