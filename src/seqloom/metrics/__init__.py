"""Evaluation metrics: each is a function of sums of sufficient statistics over examples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import entities, forecasts, labels, translation
from .intervals import MIN_EXAMPLES, MetricValue, measure
from .paired import Difference, holm, paired_difference
from .tallies import Ratio, Tally, TallySums, Value, ratio

__all__ = [
    "METRICS",
    "Difference",
    "Metric",
    "MetricValue",
    "Ratio",
    "Tally",
    "holm",
    "value_of",
]


@dataclass(frozen=True)
class Metric:
    """A metric: the function of its sums, its title, which direction is better, its format."""

    title: str
    lower_is_better: bool
    percent: bool = False
    value: Value = ratio
    decimals: int | None = None  # None: four significant digits
    aim: float | None = None  # for metrics that are best near a value, neither low nor high
    least: float = 0.0  # the smallest value that it can have
    most: float = math.inf  # and the largest; of a percentage where higher is better it is 1
    needed: Callable[[Sequence[float]], int] = lambda sums: MIN_EXAMPLES  # for an interval

    def rank(self, value: float) -> float:
        """A key for sorting: smaller is better."""
        if self.aim is not None:
            return abs(value - self.aim)
        return value if self.lower_is_better else -value

    def measure(self, tallies: Sequence[Tally]) -> MetricValue:
        """The metric over examples, with its 95 % confidence interval."""
        most = 1.0 if self.percent and not self.lower_is_better else self.most
        needed = self.needed(TallySums(tallies).all()) if tallies else 0
        return measure(tallies, self.value, self.percent, (self.least, most), needed)

    def difference(self, first: Sequence[Tally], second: Sequence[Tally]) -> Difference:
        """The second's metric minus the first's, on the same examples."""
        return paired_difference(first, second, self.value)

    def show(self, value: float) -> str:
        """The value formatted for people."""
        if math.isinf(value):
            return "infinite"
        if self.percent:
            return f"{100 * value:.2f} %"
        return f"{value:.4g}" if self.decimals is None else f"{value:.{self.decimals}f}"

    def show_interval(self, measured: MetricValue) -> str:
        """A value and its interval formatted for people, or why there is none."""
        value = self.show(measured.value)
        if not measured.has_interval:
            return value + measured.without_interval
        return f"{value} ({self.show(measured.low)} to {self.show(measured.high)})"


def _perplexity(sums: Sequence[float]) -> float:
    """Perplexity: exp of the cross-entropy in nats per token, where a float can hold it."""
    nats = ratio(sums)
    return math.inf if math.isinf(nats) else math.exp(min(nats, 700.0))


METRICS: dict[str, Metric] = {
    "sequence_error": Metric("sequence error rate", True, percent=True),
    "symbol_error": Metric("token error rate", True, percent=True),
    "word_error": Metric("word error rate", True, percent=True),
    "bleu": Metric("BLEU", False, value=translation.bleu, decimals=2, most=100.0),
    "chrf": Metric("chrF", False, value=translation.chrf, decimals=2, most=100.0),
    "tokenised_bleu": Metric(
        "tokenised BLEU", False, value=translation.tokenised_bleu, decimals=2, most=100.0
    ),
    "nats_per_frame": Metric("nats per frame, from the second on", True, decimals=3),
    "nats_of_all_frames": Metric("nats per frame, the first among them", True, decimals=3),
    "frame_accuracy": Metric("frame accuracy", False, percent=True),
    "squared_error": Metric("mean squared error", True),
    "entity_f1": Metric("entity F1", False, percent=True, value=entities.f1),
    "entity_precision": Metric("entity precision", False, percent=True, value=entities.precision),
    "entity_recall": Metric("entity recall", False, percent=True, value=entities.recall),
    "accuracy": Metric("accuracy", False, percent=True),
    "macro_f1": Metric(
        "macro F1", False, percent=True, value=labels.macro_f1, needed=labels.examples_for_macro_f1
    ),
    "micro_f1": Metric("micro F1", False, percent=True),
    "exact_match": Metric("exact match", False, percent=True),
    "calibration_error": Metric(
        "expected calibration error", True, percent=True, value=labels.calibration_error
    ),
    "sentence_accuracy": Metric("sentence accuracy", False, percent=True),
    "mase": Metric("MASE", True, decimals=3),
    "mae": Metric("mean absolute error", True),
    "rmse": Metric("root mean squared error", True, value=forecasts.root_mean),
    "smape": Metric("sMAPE", True, decimals=3),
    "pinball": Metric("pinball loss", True),
    "crps": Metric("CRPS", True),
    "coverage_80": Metric("coverage of 80 % intervals", False, percent=True, aim=0.8),
    "coverage_95": Metric("coverage of 95 % intervals", False, percent=True, aim=0.95),
    "scaled_mse": Metric("scaled mean squared error", True),
    "scaled_mae": Metric("scaled mean absolute error", True),
    "bits_per_character": Metric("bits per character", True),
    "bits_per_byte": Metric("bits per byte", True),
    "perplexity": Metric("perplexity per token", True, value=_perplexity, least=1.0),
    "loss": Metric("loss, nats per token", True, least=-math.inf),
}


def value_of(name: str, tallies: Sequence[Tally]) -> float:
    """A metric over all examples; not a number where there are none."""
    return METRICS[name].value(TallySums(tallies).all()) if tallies else math.nan
