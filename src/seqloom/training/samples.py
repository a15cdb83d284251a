"""Samples of generated text during training: the same prompts at each evaluation."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ..batch import Sequences
from ..decoding import Sampling
from ..decoding.sampling import GenerativeModel, sample
from ..errors import UsageError
from ..model import Generator, Model
from ..signature import Form, Tokens
from ..task import Task

NUM_PROMPTS, PROMPT_TOKENS, NEW_TOKENS = 2, 24, 48
SAMPLING = Sampling(temperature=0.8, limit=NEW_TOKENS)


def sample_continuations(model: Model, task: Task, examples: Sequence[Any]) -> list[dict[str, str]]:
    """Prompts from a few validation texts, with continuations sampled from the model.

    The random seed is the same at each evaluation and independent of training, so that samples
    differ only by the weights.
    """
    target = model.signature.target
    if task.form is not Form.NEXT or not isinstance(target, Tokens):
        return []
    if not isinstance(model, Generator):
        return []
    prompts = [ids for ids in map(task.encode_source, _evenly_spaced(examples)) if len(ids)]
    if not prompts:
        return []
    starts = [ids[: max(1, min(PROMPT_TOKENS, len(ids) // 2))] for ids in prompts]
    return [_pair(cast(GenerativeModel, model), task, before) for before in starts]


def _pair(model: GenerativeModel, task: Task, before: Any) -> dict[str, str]:
    """Sample one continuation; single texts use the faster step of a batch of one."""
    prompt = Sequences.pad([before])
    after: list[int] = []
    with suppress(UsageError):  # an unsmoothed n-gram may have no continuation
        after = sample(model, prompt, SAMPLING, prompt)[0].tolist()
    ids = [int(token) for token in before]
    question, whole = str(task.decode(ids)), str(task.decode([*ids, *after]))
    return {"question": question, "answer": whole[len(question) :]}


def _evenly_spaced(examples: Sequence[Any]) -> list[Any]:
    """A few of the examples, evenly spaced."""
    stride = max(1, len(examples) // NUM_PROMPTS)
    return list(examples)[stride // 2 :: stride][:NUM_PROMPTS]
