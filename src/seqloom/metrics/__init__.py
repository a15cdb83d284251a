"""From predictions and references to numbers: every metric is a ratio of sums over examples."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .ratio import Measured, Ratio, measure

__all__ = ["METRICS", "Measured", "Metric", "Ratio", "measure", "value_of"]


@dataclass(frozen=True)
class Metric:
    """How a ratio is shown: its title, which way is better, and how it is written."""

    title: str
    lower_is_better: bool
    percent: bool = False
    transform: Callable[[float], float] = float

    def show(self, value: float) -> str:
        """The value as people read it."""
        if math.isinf(value):
            return "infinite"
        return f"{100 * value:.2f} %" if self.percent else f"{value:.4g}"


def _perplexity(nats: float) -> float:
    """e to the nats per symbol, where a float can hold it."""
    return math.inf if math.isinf(nats) else math.exp(min(nats, 700.0))


METRICS: dict[str, Metric] = {
    "sequence_error": Metric("sequence error rate", True, percent=True),
    "symbol_error": Metric("symbol error rate", True, percent=True),
    "squared_error": Metric("mean squared error", True),
    "accuracy": Metric("accuracy", False, percent=True),
    "sentence_accuracy": Metric("sentences all right", False, percent=True),
    "bits_per_character": Metric("bits per character", True),
    "bits_per_byte": Metric("bits per byte", True),
    "perplexity": Metric("perplexity per symbol", True, transform=_perplexity),
    "loss": Metric("loss, nats per symbol", True),
}


def value_of(name: str, ratios: list[Ratio]) -> float:
    """A metric over all examples."""
    bottom = sum(ratio.bottom for ratio in ratios)
    share = sum(ratio.top for ratio in ratios) / bottom if bottom else math.nan
    return METRICS[name].transform(share)
