"""Predictions as JSON: the output of `seqloom predict --json` and of the web API."""

import math
from typing import Any

from ..evaluation.evaluate import ExamplePrediction
from ..signature import Bits, Form, Labels, Series, Vectors
from ..task import Task


def as_dict(
    task: Task, text: str, answer: ExamplePrediction | None, several: str = ""
) -> dict[str, Any]:
    """One prediction with its input and probabilities as JSON; the output of a blank line is null.

    With `several`, all hypotheses or samples are listed under that key.
    """
    if answer is None:
        return {"input": text, "output": None}
    return {"input": text} | answer_as_dict(task, task.question(text), answer, several)


def answer_as_dict(
    task: Task, question: Any, answer: ExamplePrediction, several: str = ""
) -> dict[str, Any]:
    """The prediction for an example, without its input."""
    found = {"output": task.to_json(answer.value)}
    if task.form is Form.EACH:
        found["output"] = list(zip(*task.show_tokens(question, answer.value), strict=True))
    found |= task.details(question, answer.value, answer.probabilities)
    if has_probability(task, answer):
        found |= {"log_prob": answer.log_prob, "probability": math.exp(answer.log_prob)}
    probabilities = (
        None if answer.probabilities is None else task.probabilities(answer.probabilities)
    )
    found |= {"probabilities": probabilities} if probabilities is not None else {}
    found |= _ended(answer)
    if several:
        found[several] = [
            {"output": one.value, "log_prob": one.log_prob, "score": one.score} | _ended(one)
            for one in (answer, *answer.others)
        ]
    return found


def _ended(answer: ExamplePrediction) -> dict[str, str]:
    """Whether an output that was searched for has its end, or was cut at the limit."""
    return {"ended": answer.ended} if answer.ended else {}


def has_labels(task: Task) -> bool:
    """Whether a model gives a probability for each label, so that no search is needed."""
    is_found = task.form in (Form.EACH, Form.WHOLE)
    return is_found and isinstance(task.signature().target, Labels | Bits)


def has_probability(task: Task, answer: ExamplePrediction) -> bool:
    """Whether a prediction has a probability; real-valued outputs have only a density."""
    is_real = isinstance(task.signature().target, Vectors | Series)
    return math.isfinite(answer.log_prob) and not is_real
