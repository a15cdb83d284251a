"""Answers for machines: what `seqloom predict --json` and the web API say of one input."""

import math
from typing import Any

from ..evaluation.evaluate import Answer
from ..signature import Bits, Form, Labels, Series, Vectors
from .run import Run


def as_dict(run: Run, text: str, answer: Answer | None, several: str = "") -> dict[str, Any]:
    """What was asked, what was answered and how likely that is; a blank line has no answer.

    All answers are listed by the name of `several`, if it has one.
    """
    if answer is None:
        return {"input": text, "output": None}
    task, question = run.task, run.task.question(text)
    found = {"input": text, "output": task.plain(answer.value)}
    if task.form is Form.EACH:
        found["output"] = list(zip(*task.symbols(question, answer.value), strict=True))
    found |= task.details(question, answer.value, answer.chances)
    if has_chance(run, answer):
        found |= {"log_prob": answer.log_prob, "probability": math.exp(answer.log_prob)}
    chances = None if answer.chances is None else task.probabilities(answer.chances)
    found |= {"probabilities": chances} if chances is not None else {}
    if several:
        found[several] = [
            {"output": one.value, "log_prob": one.log_prob, "score": one.score}
            for one in (answer, *answer.others)
        ]
    return found


def has_labels(run: Run) -> bool:
    """Whether every label has a chance: one or more of them are the answer, without a search."""
    is_found = run.task.form in (Form.EACH, Form.WHOLE)
    return is_found and isinstance(run.task.signature().target, Labels | Bits)


def has_chance(run: Run, answer: Answer) -> bool:
    """Whether an answer has a probability: real numbers have a density only."""
    is_real = isinstance(run.task.signature().target, Vectors | Series)
    return math.isfinite(answer.log_prob) and not is_real
