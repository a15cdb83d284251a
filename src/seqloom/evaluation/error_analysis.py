"""Where a run errs: its most confident mistakes, and how often it is wrong by what."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError
from ..metrics import METRICS, Measured, Ratio, Tally
from ..metrics.bootstrap import share_of
from ..signature import Form
from ..task import Task
from ..views import LengthBucket
from .by_length import buckets_of, lengths_of, step_for
from .evaluate import Answer, Evaluation


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: to a whole example, or at one place of it.

    Args:
        line: of the file, or the number of an example that was made.
        asked: what was asked, in one line.
        right: the right answer.
        answer: what the model said.
        confidence: the probability that the model gave to what it said.
        place: where every place has an answer, which one, from 1 on; else 0.
        symbol: what stands there.
    """

    line: int
    asked: str
    right: str
    answer: str
    confidence: float
    place: int = 0
    symbol: str = ""


@dataclass(frozen=True)
class Rate:
    """How often what has something in common is wrong, with the 95 % interval of the share."""

    title: str
    count: int
    wrong: int

    def measured(self) -> Measured:
        """The share that is wrong."""
        return share_of(self.wrong, self.count)

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {"title": self.title, "n": self.count, "wrong": self.wrong, **vars(self.measured())}


@dataclass(frozen=True)
class Mistakes:
    """All mistakes, the most confident first, and tables of error rates.

    Words of one sentence are counted as if each had been drawn by itself.
    """

    unit: str  # what is counted: example, or place
    all: Rate
    mistakes: list[Mistake]
    by_length: list[Rate]  # of the source, in symbols
    by_label: list[Rate]  # of the right label, the most frequent first; none without labels
    by_known: list[Rate]  # whether training showed what was read

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Everything for machines, with as many mistakes as wanted."""
        tables = ("by_length", "by_label", "by_known")
        return {
            "unit": self.unit,
            "all": self.all.as_dict(),
            "mistakes": [vars(mistake) for mistake in self.mistakes[:limit]],
            **{name: [rate.as_dict() for rate in getattr(self, name)] for name in tables},
        }


def mistakes_of(task: Task, score: Evaluation) -> Mistakes:
    """What a run got wrong of what it was judged on, with the chances of labels if it has them.

    Where every place has a label, each place is right or wrong; else, a whole answer is.
    """
    if task.form is Form.FORECAST:
        raise UsageError(
            "U319",
            "a forecast is never exactly right, so that there are no mistakes to list",
            help=["seqloom evaluate RUN --by-horizon   how far forecasts are off"],
        )
    is_wrong = _judge_of(task, score)
    by_place = task.form is Form.EACH and any(
        task.pairs(example, answer.value) for example, answer in _answered(score)
    )
    cases = [
        case
        for number, (example, answer) in enumerate(_answered(score))
        for case in _cases(task, number, example, answer, is_wrong(number), by_place)
    ]
    found = [case.mistake for case in cases if case.mistake is not None]
    lengths = lengths_of(task, score.examples)
    buckets = buckets_of(lengths, step_for(lengths))
    bucket = {n: place for place, (_, _, numbers) in enumerate(buckets) for n in numbers}
    titles = [LengthBucket(first, last, 0, 0, 0, 0).title for first, last, _ in buckets]
    return Mistakes(
        "place" if by_place else "example",
        Rate("all", len(cases), len(found)),
        sorted(found, key=lambda mistake: (-mistake.confidence, mistake.line, mistake.place)),
        _rates(cases, lambda case: titles[bucket[case.number]], titles),
        _by_label(task, score),
        _rates(cases, lambda case: case.known, _KNOWN[by_place]),
    )


@dataclass(frozen=True)
class _Case:
    """One thing that is right or wrong."""

    number: int  # of the example
    known: str
    mistake: Mistake | None


_KNOWN = {
    True: ["known", "unknown"],
    False: ["every symbol known", "some symbol unknown"],
}


def _answered(score: Evaluation) -> Iterator[tuple[Any, Answer]]:
    for example, answer in zip(score.examples, score.answers, strict=True):
        if answer is not None:
            yield example, answer


def _judge_of(task: Task, score: Evaluation) -> Callable[[int], bool]:
    """Whether the answer to an example is wrong.

    It is where its labels differ; without labels, the first metric tells that is a share.
    """
    if any(answer is None for answer in score.answers):
        raise UsageError(
            "U110",
            "this run gives no answers that could be wrong: it says how likely texts are",
            help=["seqloom score RUN --file FILE   how much each symbol surprises it"],
        )
    names = [
        name
        for name, tallies in score.tallies.items()
        if METRICS[name].percent
        and METRICS[name].aim is None
        and all(isinstance(tally, Ratio) for tally in tallies)
    ]
    if not names:
        raise UsageError(
            "U110",
            "the answers of this run are numbers: near or far, not right or wrong",
            help=["seqloom evaluate RUN   how far they are"],
        )
    tallies, lower = score.tallies[names[0]], METRICS[names[0]].lower_is_better
    answered = list(_answered(score))

    def judge(number: int) -> bool:
        example, answer = answered[number]
        if pairs := task.pairs(example, answer.value):
            return any(right != guess for right, guess in pairs)
        return _falls_short(tallies[number], lower)

    return judge


def _falls_short(tally: Tally, lower_is_better: bool) -> bool:
    top, bottom = tally
    return top > 0 if lower_is_better else top < bottom


def _cases(  # noqa: PLR0913, PLR0917 - one step of `mistakes_of`
    task: Task, number: int, example: Any, answer: Answer, is_wrong: bool, by_place: bool
) -> Iterator[_Case]:
    """The whole answer, or each of its places."""
    asked, known = task.shown_question(example), task.is_known(example)
    sure = _confidence(task, example, answer)
    if not by_place:
        mistake = None
        if is_wrong:
            right = task.show(task.right_answer(example))
            mistake = Mistake(example.line, asked, right, task.show(answer.value), sure(None))
        yield _Case(number, _KNOWN[False][not all(known)], mistake)
        return
    source = task.symbols(example, answer.value)[0]
    for place, (right, guess) in enumerate(task.pairs(example, answer.value)):
        mistake = None
        if right != guess:
            chance, symbol = sure(place), source[place]
            mistake = Mistake(example.line, asked, right, guess, chance, place + 1, symbol)
        yield _Case(number, _KNOWN[True][not known[place]], mistake)


def _confidence(task: Task, example: Any, answer: Answer) -> Callable[[int | None], float]:
    """How sure a model was of its answer at a place, or of the whole.

    Where there are no chances of each label, it is the probability of the whole answer.
    """
    whole = math.exp(answer.log_prob)
    if answer.chances is None:
        return lambda place: whole
    given = np.asarray(task.encode(task.answered(example, answer.value)).target)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != len(answer.chances):
        return lambda place: whole
    chances = answer.chances[np.arange(len(given)), given]
    return lambda place: float(chances[place]) if place is not None else float(chances.prod())


def _rates(
    cases: Sequence[_Case], group: Callable[[_Case], str], titles: Sequence[str]
) -> list[Rate]:
    """A rate for each title that something has."""
    wrong: dict[str, list[bool]] = {title: [] for title in titles}
    for case in cases:
        wrong[group(case)].append(case.mistake is not None)
    return [Rate(title, len(found), sum(found)) for title, found in wrong.items() if found]


def _by_label(task: Task, score: Evaluation) -> list[Rate]:
    wrong: dict[str, list[bool]] = {}
    for example, answer in _answered(score):
        for right, guess in task.pairs(example, answer.value):
            wrong.setdefault(right, []).append(right != guess)
    found = [Rate(label, len(each), sum(each)) for label, each in wrong.items() if label]
    return sorted(found, key=lambda rate: (-rate.count, rate.title))
