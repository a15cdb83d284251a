"""Ways to look at a memory, by the names recipes use: a new one adds a file and two lines."""

from .base import Attention, Found, Scores, Seen, Weights, shares
from .location import Local, Location, coverage
from .multi_head import ManyHeaded
from .options import ATTENTIVE, Attending, AttentionName
from .scores import Additive, Dot, General, Scaled

ATTENTIONS: dict[str, type[Attention]] = {
    "dot": Dot,
    "general": General,
    "additive": Additive,
    "scaled": Scaled,
    "location": Location,
    "local": Local,
    "multi-head": ManyHeaded,
}

__all__ = [
    "ATTENTIONS",
    "ATTENTIVE",
    "Attending",
    "Attention",
    "AttentionName",
    "Found",
    "Scores",
    "Seen",
    "Weights",
    "coverage",
    "shares",
]
