"""How texts go on while a model learns: the same prompts at each evaluation."""

from collections.abc import Sequence
from typing import Any, cast

from ..batch import Sequences
from ..decoding import Sampling
from ..decoding.sampling import Writer, sample
from ..errors import UsageError
from ..forms import Form, Tokens
from ..model import Generator, Model
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
    begun = Sequences.pad(
        [numbers[: max(1, min(PROMPT, len(numbers) // 2))] for numbers in prompts]
    )
    try:
        drawn = sample(cast(Writer, model), begun, DRAWING, begun)
    except UsageError:  # a model without smoothing may know nothing that can follow
        return []
    pairs = []
    for before, after in zip(begun.rows(), drawn, strict=True):
        question = str(task.decode(before))
        whole = str(task.decode([*before, *after.tolist()]))
        pairs.append({"question": question, "answer": whole[len(question) :]})
    return pairs


def _spread(examples: Sequence[Any]) -> list[Any]:
    """A few of the examples, from all over."""
    stride = max(1, len(examples) // PROMPTS)
    return list(examples)[stride // 2 :: stride][:PROMPTS]
