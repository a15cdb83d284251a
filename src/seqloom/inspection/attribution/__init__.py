"""Attribution of predictions to input tokens: occlusion, gradients, attention, posteriors.

All methods solve the same `AttributionProblem` and return `Attributions`: a number for each part of
the output and each input token, positive where the token speaks for it. A forecast has a problem of
its own: its steps are attributed to observations. `seqloom attribute` prints them.
"""

from typing import Any

import numpy as np

from ...errors import ModelError
from ...model import LongestContext, Model
from ...signature import Form
from ...task import Task
from ...views import AttributionTarget, AttributionView
from . import attention, gradient, occlusion, posterior
from .base import AttributionMethod
from .forecast import attribute_forecast
from .options import AttributionOptions
from .scoring import PerturbedInput, score_perturbed
from .target import DEFAULT, AttributionProblem, TargetOptions, attribution_problem

__all__ = [
    "METHODS",
    "AttributionMethod",
    "AttributionOptions",
    "TargetOptions",
    "attribute_question",
]
METHODS: dict[str, AttributionMethod] = {  # best first: the first that applies is the default
    "posterior": posterior.METHOD,
    "occlusion": occlusion.METHOD,
    "gradient": gradient.METHOD,
    "attention": attention.METHOD,
}


def attribute_question(
    model: Model,
    task: Task,
    question: Any,
    name: str,
    *,
    how: AttributionOptions | None = None,
    about: TargetOptions = DEFAULT,
) -> AttributionView:
    """Attribute the prediction for an input of the task; a forecast for the first of its series."""
    how = how or AttributionOptions()
    if model.signature.form is Form.FORECAST:
        return attribute_forecast(model, task, question, name, how=how, about=about)
    if how.by:
        how.check_method(METHODS)
    with model.inference_mode():
        problem = attribution_problem(model, task, question, about)
        kind = how.by or how.implied() or _applicable(problem)[0]
        method = METHODS[kind]
        if not method.applies(problem):
            raise _does_not_apply(kind, problem, name)
        attributions = method.attribute(problem, how)
        base = score_perturbed(problem, [PerturbedInput(problem.inputs)])[0]
    is_real = problem.is_real
    targets = [
        AttributionTarget(
            part.name, part.position + 1, part.at, None if is_real else float(np.exp(value))
        )
        for part, value in zip(problem.parts, base, strict=True)
    ]
    return AttributionView(
        problem.tokens,
        targets,
        attributions.values,
        name,
        by=attributions.by,
        unit=attributions.unit or ("number" if is_real else "nats"),
        distance=problem.form is Form.NEXT,
        notes=[*_matched_context(problem), *attributions.notes],
    )


def _matched_context(problem: AttributionProblem) -> list[str]:
    """For n-gram models, a note on the context that the prediction depends on."""
    if problem.form is not Form.NEXT or not isinstance(problem.model, LongestContext):
        return []
    count = problem.model.longest_context(problem.inputs)
    context = "".join(problem.tokens[len(problem.tokens) - count :])
    some = f"the last {count} tokens, “{context}”" if count > 1 else f"the last one, “{context}”"
    return [f"its longest counted context is {some}" if count else "no context here was counted"]


def _applicable(problem: AttributionProblem) -> list[str]:
    """The methods that apply, best first."""
    return [kind for kind, method in METHODS.items() if method.applies(problem)]


def _does_not_apply(kind: str, problem: AttributionProblem, name: str) -> ModelError:
    return ModelError(
        "M341",
        f"{name} cannot be explained by {kind}: {METHODS[kind].requires}",
        help=[f"--by {able}" for able in _applicable(problem)],
    )
