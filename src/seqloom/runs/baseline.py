"""Baselines: what a task's simplest solution scores on the examples on which a run is judged."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..evaluation.evaluate import Evaluation, evaluate
from ..metrics import METRICS, Difference, value_of
from ..model import Model, Search
from ..recipe import Recipe
from ..task import Baseline, Task
from ..training.curriculum import assign_levels
from ..training.loop import make_learner
from ..training.options import Training


@dataclass(frozen=True)
class BaselineResult:
    """A baseline and its primary metric on the test examples, beside that of a model.

    Args:
        title: What the baseline is.
        metric: The primary metric of the task.
        value: Its value of the baseline.
        difference: That of the model minus that of the baseline, on the same examples.
    """

    title: str
    metric: str
    value: float
    difference: Difference

    @property
    def is_beaten(self) -> bool:
        """Whether the model is better, be it by chance."""
        metric, found = METRICS[self.metric], self.value + self.difference.value
        return metric.rank(found) < metric.rank(self.value)

    def words(self) -> str:
        """The baseline and its metric: most frequent label, accuracy 86.60 %."""
        metric = METRICS[self.metric]
        return f"{self.title}, {metric.title} {metric.show(self.value)}"

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        beaten = {"is_beaten": self.is_beaten, "is_significant": self.difference.is_significant}
        return {"title": self.title, "metric": self.metric, "value": self.value, **beaten}


def compare_with_baseline(
    recipe: Recipe, task: Task, train: Sequence[Any], found: Evaluation
) -> BaselineResult | None:
    """The baseline of a task on the examples of an evaluation; None if the run is the baseline."""
    baseline, name = task.baseline(), task.primary_metric
    if not found.examples or not len(train) or _is_of(recipe, baseline):
        return None
    own = evaluate_baseline(baseline, task, train, found.examples)
    ours, theirs = found.tallies[name], own.tallies[name]
    apart = METRICS[name].difference(theirs, ours)
    value = value_of(name, theirs)
    return None if math.isnan(value) else BaselineResult(baseline.title, name, value, apart)


def evaluate_baseline(
    baseline: Baseline, task: Task, train: Sequence[Any], examples: Sequence[Any]
) -> Evaluation:
    """The metrics of a baseline that is fitted to training examples."""
    if baseline.rule is None:
        return evaluate(_fitted(baseline, task, train), task, examples, Search())
    began, rule = time.perf_counter(), baseline.rule(train)
    scores = [task.score(example, *rule(example)) for example in examples]
    tallies = {name: [one[name] for one in scores] for name in scores[0]}
    nobody = [None] * len(examples)
    return Evaluation(list(examples), [*nobody], tallies, time.perf_counter() - began)


def _fitted(baseline: Baseline, task: Task, train: Sequence[Any]) -> Model:
    model = Recipe(model=dict(baseline.model)).build_model(task.signature())
    settings = Training()
    learner = make_learner(model, task, assign_levels(model, task, train, [], settings), settings)
    for _ in learner.steps():
        pass  # the last step computes the parameters
    return model


def _is_of(recipe: Recipe, baseline: Baseline) -> bool:
    """Whether a recipe trains the baseline itself."""
    return bool(baseline.model) and baseline.model.items() <= recipe.model.items()
