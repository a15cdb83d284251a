"""How texts go on while a model learns: the same prompts at each evaluation."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ..batch import Sequences
from ..decoding import Sampling
from ..decoding.sampling import Writer, sample
from ..errors import UsageError
from ..model import Generator, Model
from ..signature import Form, Tokens
from ..task import Task

PROMPTS, PROMPT, DRAWN = 2, 24, 48  # how many texts, symbols of each that are given, and drawn
DRAWING = Sampling(temperature=0.8, limit=DRAWN)


def continued(model: Model, task: Task, examples: Sequence[Any]) -> list[dict[str, str]]:
    """The beginnings of a few texts, and how the model goes on, drawn from streams of their own.

    The same numbers are drawn at each evaluation, and nobody else's: what differs is what the model
    has learned meanwhile.
    """
    target = model.signature.target
    if task.form is not Form.NEXT or not isinstance(target, Tokens):
        return []
    if not isinstance(model, Generator):
        return []
    prompts = [numbers for numbers in map(task.ask, _spread(examples)) if len(numbers)]
    if not prompts:
        return []
    begun = [numbers[: max(1, min(PROMPT, len(numbers) // 2))] for numbers in prompts]
    return [_pair(cast(Writer, model), task, before) for before in begun]


def _pair(model: Writer, task: Task, before: Any) -> dict[str, str]:
    """Each by itself: a single text is drawn by quicker steps than several."""
    prompt = Sequences.pad([before])
    after: list[int] = []
    with suppress(UsageError):  # a model without smoothing may know nothing that can follow
        after = sample(model, prompt, DRAWING, prompt)[0].tolist()
    given = [int(number) for number in before]
    question, whole = str(task.decode(given)), str(task.decode([*given, *after]))
    return {"question": question, "answer": whole[len(question) :]}


def _spread(examples: Sequence[Any]) -> list[Any]:
    """A few of the examples, from all over."""
    stride = max(1, len(examples) // PROMPTS)
    return list(examples)[stride // 2 :: stride][:PROMPTS]
