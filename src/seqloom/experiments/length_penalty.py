"""Choice of the length penalty on the validation part of a run, so that the test part judges it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import DataError, UsageError
from ..metrics import METRICS
from ..model import Search
from ..prediction import require_search
from ..runs.run import Run
from ..runs.splits import with_known_labels

PENALTIES = (0.0, 0.5, 1.0, 1.5, 2.0)
USUAL = Search().length_penalty


@dataclass(frozen=True)
class LengthPenaltyChoice:
    """The length penalty that is best on validation examples, by the task's first metric."""

    best: float
    metric: str
    values: dict[float, float]  # the metric by length penalty
    count: int  # of validation examples

    def sentence(self) -> str:
        """What was chosen, and from what."""
        show = METRICS[self.metric].show
        tried = ", ".join(f"{penalty:g} {show(value)}" for penalty, value in self.values.items())
        return (
            f"length penalty {self.best:g}, chosen by {METRICS[self.metric].title} on"
            f" {self.count:,} validation examples: {tried}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The choice as JSON."""
        values = [{"length_penalty": one, "value": value} for one, value in self.values.items()]
        return {"best": self.best, "metric": self.metric, "tried": values, "n": self.count}


def choose_length_penalty(
    run: Run,
    search: Search,
    penalties: Sequence[float] = PENALTIES,
    tell: Callable[[int], None] = lambda done: None,
) -> LengthPenaltyChoice:
    """Decode the validation part with each length penalty, and take the best.

    Of equals it is the one nearest to the usual penalty. `tell` is called with the number of
    examples decoded.
    """
    require_search(run.model.signature, "length_penalty")
    if search.beam == 1:
        raise UsageError(
            "U072",
            "greedy search has one hypothesis, which no length penalty ranks",
            help=["--beam 5   keeps five"],
        )
    examples = list(run.task.distinct(with_known_labels(run.task, run.own_parts().valid)))
    if not examples:
        raise DataError(
            "D022", f"the validation part of {run.name} has no examples to choose a penalty on"
        )
    found: dict[float, float] = {}
    metric = run.task.primary_metric
    for number, penalty in enumerate(dict.fromkeys(penalties)):
        how = replace(search, length_penalty=penalty)
        found[penalty] = run.evaluate_examples(examples, how).values()[metric]
        tell(len(examples) * (number + 1))
    rank = METRICS[metric].rank
    best = min(found, key=lambda penalty: (rank(found[penalty]), abs(penalty - USUAL)))
    return LengthPenaltyChoice(best, metric, found, len(examples))
