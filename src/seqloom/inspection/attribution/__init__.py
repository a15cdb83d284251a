"""Which inputs moved an answer: the work behind `seqloom why`.

A probe is one way to find out. All are asked the same and give the same: a number for each part of
the answer and each symbol that was read, above 0 where the symbol speaks for it.
"""

from typing import Any

import numpy as np

from ...errors import DataError, ModelError
from ...model import Matches, Model
from ...signature import Form
from ...task import Task
from ...views import InfluenceView, Moved
from . import attention, gradient, occlusion, posterior
from .base import Probe
from .options import How
from .question import PLAIN, Asked, Question, asked
from .scoring import Altered, measured

__all__ = ["PROBES", "How", "Probe", "Question", "explained", "why"]
PROBES: dict[str, Probe] = {  # the best first: what is there is taken if nothing is asked for
    "posterior": posterior.PROBE,
    "occlusion": occlusion.PROBE,
    "gradient": gradient.PROBE,
    "attention": attention.PROBE,
}


def why(
    model: Model,
    task: Task,
    text: str,
    name: str,
    *,
    how: How | None = None,
    about: Question = PLAIN,
) -> InfluenceView:
    """What moved the answer to a text, or another answer, as a picture."""
    if not text.strip():
        raise DataError("D023", "the text is empty", help=["there must be something to explain"])
    return explained(model, task, task.question(text), name, how=how, about=about)


def explained(
    model: Model,
    task: Task,
    question: Any,
    name: str,
    *,
    how: How | None = None,
    about: Question = PLAIN,
) -> InfluenceView:
    """What moved the answer to a question of the task."""
    how = how or How()
    if how.by:
        how.must_be_one_of(PROBES)
    with model.at_rest():
        found = asked(model, task, question, about)
        kind = how.by or how.implied() or _able(found)[0]
        probe = PROBES[kind]
        if not probe.can(found):
            raise _cannot(kind, found, name)
        told = probe.find(found, how)
        base = measured(found, [Altered(found.read)])[0]
    is_real = found.is_real
    moved = [
        Moved(row.name, row.place + 1, row.at, None if is_real else float(np.exp(value)))
        for row, value in zip(found.rows, base, strict=True)
    ]
    return InfluenceView(
        found.symbols,
        moved,
        told.values,
        name,
        by=told.by,
        unit=told.unit or ("number" if is_real else "nats"),
        distance=found.form is Form.NEXT,
        notes=[*_matched(found), *told.notes],
    )


def _matched(question: Asked) -> list[str]:
    """Of a model that counts contexts: which one it goes by."""
    if question.form is not Form.NEXT or not isinstance(question.model, Matches):
        return []
    count = question.model.matched(question.read)
    context = "".join(question.symbols[len(question.symbols) - count :])
    some = f"the last {count} symbols, “{context}”" if count > 1 else f"the last one, “{context}”"
    return [f"it has counted what follows {some}" if count else "it goes by no context here"]


def _able(question: Asked) -> list[str]:
    """The probes that can be used, the best first."""
    return [kind for kind, probe in PROBES.items() if probe.can(question)]


def _cannot(kind: str, question: Asked, name: str) -> ModelError:
    return ModelError(
        "M341",
        f"{name} cannot be explained by {kind}: {PROBES[kind].needs}",
        help=[f"--by {able}" for able in _able(question)],
    )
