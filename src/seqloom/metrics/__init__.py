"""From predictions and references to numbers: every metric is a function of sums over examples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import entities, forecasts, labels, translation
from .bootstrap import Measured, Ratio, Sums, Tally, Value, measure, share

__all__ = ["METRICS", "Measured", "Metric", "Ratio", "Tally", "measure", "value_of"]


@dataclass(frozen=True)
class Metric:
    """What sums come to, and how that is shown: its title, which way is better, its form."""

    title: str
    lower_is_better: bool
    percent: bool = False
    value: Value = share
    decimals: int | None = None  # left out: four figures
    aim: float | None = None  # where the value is neither better low nor high, but near this

    def rank(self, value: float) -> float:
        """The less, the better."""
        if self.aim is not None:
            return abs(value - self.aim)
        return value if self.lower_is_better else -value

    def show(self, value: float) -> str:
        """The value as people read it."""
        if math.isinf(value):
            return "infinite"
        if self.percent:
            return f"{100 * value:.2f} %"
        return f"{value:.4g}" if self.decimals is None else f"{value:.{self.decimals}f}"


def _perplexity(sums: Sequence[float]) -> float:
    """e to the nats per symbol, where a float can hold it."""
    nats = share(sums)
    return math.inf if math.isinf(nats) else math.exp(min(nats, 700.0))


METRICS: dict[str, Metric] = {
    "sequence_error": Metric("sequence error rate", True, percent=True),
    "symbol_error": Metric("symbol error rate", True, percent=True),
    "word_error": Metric("word error rate", True, percent=True),
    "bleu": Metric("BLEU", False, value=translation.bleu, decimals=2),
    "chrf": Metric("chrF", False, value=translation.chrf, decimals=2),
    "tokenised_bleu": Metric("tokenised BLEU", False, value=translation.tokenised_bleu, decimals=2),
    "nats_per_frame": Metric("nats per frame, from the second on", True, decimals=3),
    "nats_of_all_frames": Metric("nats per frame, the first among them", True, decimals=3),
    "frame_accuracy": Metric("frame accuracy", False, percent=True),
    "squared_error": Metric("mean squared error", True),
    "entity_f1": Metric("entity F1", False, percent=True, value=entities.f1),
    "entity_precision": Metric("entity precision", False, percent=True, value=entities.precision),
    "entity_recall": Metric("entity recall", False, percent=True, value=entities.recall),
    "accuracy": Metric("accuracy", False, percent=True),
    "macro_f1": Metric("macro F1", False, percent=True, value=labels.macro_f1),
    "micro_f1": Metric("micro F1", False, percent=True),
    "exact_match": Metric("exact match", False, percent=True),
    "calibration_error": Metric(
        "expected calibration error", True, percent=True, value=labels.calibration_error
    ),
    "sentence_accuracy": Metric("sentences all right", False, percent=True),
    "mase": Metric("MASE", True, decimals=3),
    "mae": Metric("mean absolute error", True),
    "rmse": Metric("root mean squared error", True, value=forecasts.root),
    "smape": Metric("sMAPE", True, decimals=3),
    "pinball": Metric("pinball loss", True),
    "crps": Metric("CRPS", True),
    "coverage_80": Metric("values in 80 % bands", False, percent=True, aim=0.8),
    "coverage_95": Metric("values in 95 % bands", False, percent=True, aim=0.95),
    "scaled_mse": Metric("scaled mean squared error", True),
    "scaled_mae": Metric("scaled mean absolute error", True),
    "bits_per_character": Metric("bits per character", True),
    "bits_per_byte": Metric("bits per byte", True),
    "perplexity": Metric("perplexity per symbol", True, value=_perplexity),
    "loss": Metric("loss, nats per symbol", True),
}


def value_of(name: str, tallies: Sequence[Tally]) -> float:
    """A metric over all examples; of none there is none."""
    return METRICS[name].value(Sums(tallies).all()) if tallies else math.nan
