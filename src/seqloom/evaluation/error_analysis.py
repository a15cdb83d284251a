"""Error analysis: most confident mistakes, and error rates by length, label and known tokens."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UsageError
from ..metrics import METRICS, MetricValue, Ratio, Tally
from ..signature import Form
from ..task import Task
from ..views import LengthBucket
from .by_length import bucket_width, length_buckets, source_lengths
from .evaluate import Evaluation, ExamplePrediction


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction, of a whole example or of one position.

    Args:
        line: line in the file, or number of a generated example.
        asked: the input, in one line.
        right: the right answer.
        answer: the prediction.
        confidence: the probability that the model gave to it.
        place: where every position has a label, which one, from 1; else 0.
        symbol: the token at this position.
        trained_on: whether the run was trained on this example.
    """

    line: int
    asked: str
    right: str
    answer: str
    confidence: float
    place: int = 0
    symbol: str = ""
    trained_on: bool = False


@dataclass(frozen=True)
class ErrorRate:
    """Error rate of a group of predictions, with its 95 % interval.

    Args:
        title: of the group.
        by_example: how many predictions of each example are wrong, and how many there are: those
            of one example may depend on each other.
    """

    title: str
    by_example: tuple[Ratio, ...]

    @property
    def count(self) -> int:
        """How many predictions there are."""
        return int(sum(one.bottom for one in self.by_example))

    @property
    def wrong(self) -> int:
        """How many of them are wrong."""
        return int(sum(one.top for one in self.by_example))

    def with_interval(self) -> MetricValue:
        """The fraction that is wrong."""
        return METRICS["sequence_error"].measure(self.by_example)

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "title": self.title,
            "n": self.count,
            "wrong": self.wrong,
            **vars(self.with_interval()),
        }


@dataclass(frozen=True)
class ErrorAnalysis:
    """All mistakes, the most confident first, and tables of error rates."""

    unit: str  # what is counted: example or place
    all: ErrorRate
    mistakes: list[Mistake]
    by_length: list[ErrorRate]  # of the source, in tokens
    by_label: list[ErrorRate]  # of the right label, the most frequent first; none without labels
    by_known: list[ErrorRate]  # whether the tokens of the source occurred in training

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Everything for JSON, with at most `limit` mistakes."""
        tables = ("by_length", "by_label", "by_known")
        return {
            "unit": self.unit,
            "all": self.all.as_dict(),
            "mistakes": [vars(mistake) for mistake in self.mistakes[:limit]],
            **{name: [rate.as_dict() for rate in getattr(self, name)] for name in tables},
        }


def analyse_errors(task: Task, score: Evaluation) -> ErrorAnalysis:
    """All mistakes in an evaluation, with the confidence of each.

    Where every position has a label, positions are counted; else whole predictions.
    """
    if task.form is Form.FORECAST:
        raise UsageError(
            "U319",
            "a forecast is never exactly right, so there are no mistakes to list",
            help=["seqloom evaluate RUN --by-horizon   shows the errors of forecasts"],
        )
    is_wrong = _is_wrong(task, score)
    by_place = task.form is Form.EACH and any(
        task.confusion_pairs(example, answer.value) for example, answer in _answered(score)
    )
    cases = [
        case
        for number, (example, answer) in enumerate(_answered(score))
        for case in _cases(task, number, example, answer, is_wrong(number), by_place)
    ]
    trained_on = frozenset(score.trained_on)
    mistakes = [
        replace(case.mistake, trained_on=case.number in trained_on)
        for case in cases
        if case.mistake is not None
    ]
    lengths = source_lengths(task, score.examples)
    buckets = length_buckets(lengths, bucket_width(lengths))
    bucket = {n: index for index, (_, _, numbers) in enumerate(buckets) for n in numbers}
    titles = [LengthBucket(first, last, 0, 0, 0, 0).title for first, last, _ in buckets]
    return ErrorAnalysis(
        "place" if by_place else "example",
        _rates(cases, lambda case: "all", ["all"])[0],
        sorted(mistakes, key=lambda mistake: (-mistake.confidence, mistake.line, mistake.place)),
        _rates(cases, lambda case: titles[bucket[case.number]], titles),
        _by_label(task, score),
        _rates(cases, lambda case: case.known, _KNOWN[by_place]),
    )


@dataclass(frozen=True)
class _Case:
    """One prediction that is right or wrong."""

    number: int  # of the example
    known: str
    mistake: Mistake | None


_KNOWN = {
    True: ["known", "unknown"],
    False: ["all tokens known", "some token unknown"],
}


def mistake_metric(task: Task, measured: Iterable[str]) -> str | None:
    """The first metric that says which predictions are mistakes; None where none are."""
    if task.form in (Form.FORECAST, Form.NEXT):
        return None
    shares = (name for name in measured if METRICS[name].percent and METRICS[name].aim is None)
    return next(shares, None)


def _are_ratios(tallies: Iterable[Tally]) -> bool:
    return all(isinstance(tally, Ratio) for tally in tallies)


def _answered(score: Evaluation) -> Iterator[tuple[Any, ExamplePrediction]]:
    for example, answer in zip(score.examples, score.predictions, strict=True):
        if answer is not None:
            yield example, answer


def _is_wrong(task: Task, score: Evaluation) -> Callable[[int], bool]:
    """A function that says whether the prediction for an example is wrong.

    It is wrong if a label differs; without labels, if the first metric that is a fraction says so.
    """
    if any(answer is None for answer in score.predictions):
        raise UsageError(
            "U110",
            "errors need predictions with a right answer; this is a language model",
            help=["seqloom score RUN --file FILE   shows the surprisal of each token"],
        )
    name = mistake_metric(
        task, [name for name, tallies in score.tallies.items() if _are_ratios(tallies)]
    )
    if name is None:
        raise UsageError(
            "U110",
            "the predictions of this run are real numbers, which are neither right nor wrong",
            help=["seqloom evaluate RUN   shows how large their errors are"],
        )
    tallies, lower = score.tallies[name], METRICS[name].lower_is_better
    answered = list(_answered(score))

    def judge(number: int) -> bool:
        example, answer = answered[number]
        if pairs := task.confusion_pairs(example, answer.value):
            return any(right != guess for right, guess in pairs)
        return _falls_short(tallies[number], lower)

    return judge


def _falls_short(tally: Tally, lower_is_better: bool) -> bool:
    top, bottom = tally
    return top > 0 if lower_is_better else top < bottom


def _cases(  # noqa: PLR0913, PLR0917 - one step of `analyse_errors`
    task: Task, number: int, example: Any, answer: ExamplePrediction, is_wrong: bool, by_place: bool
) -> Iterator[_Case]:
    """The whole prediction, or each of its positions."""
    asked, known = task.show_question(example), task.is_known(example)
    sure = _confidence(task, example, answer)
    if not by_place:
        mistake = None
        if is_wrong:
            right = task.show(task.reference(example))
            mistake = Mistake(example.line, asked, right, task.show(answer.value), sure(None))
        yield _Case(number, _KNOWN[False][not all(known)], mistake)
        return
    source = task.show_tokens(example, answer.value)[0]
    for position, (right, guess) in enumerate(task.confusion_pairs(example, answer.value)):
        mistake = None
        if right != guess:
            confidence, token = sure(position), source[position]
            mistake = Mistake(example.line, asked, right, guess, confidence, position + 1, token)
        yield _Case(number, _KNOWN[True][not known[position]], mistake)


def _confidence(
    task: Task, example: Any, answer: ExamplePrediction
) -> Callable[[int | None], float]:
    """The confidence of a prediction at a position, or of the whole prediction (position None).

    Where the model gives no probabilities of labels, it is the probability of the whole.
    """
    whole = math.exp(answer.log_prob)
    if answer.probabilities is None:
        return lambda position: whole
    labels = np.asarray(task.encode(task.with_target(example, answer.value)).target)
    if (
        labels.ndim != 1
        or labels.dtype.kind not in "iu"
        or len(labels) != len(answer.probabilities)
    ):
        return lambda position: whole
    probs = answer.probabilities[np.arange(len(labels)), labels]
    return lambda position: float(probs.prod() if position is None else probs[position])


def _rates(
    cases: Sequence[_Case], group: Callable[[_Case], str], titles: Sequence[str]
) -> list[ErrorRate]:
    """The error rate of each group that is not empty."""
    wrong: _Wrong = {title: {} for title in titles}
    for case in cases:
        wrong[group(case)].setdefault(case.number, []).append(case.mistake is not None)
    return _error_rates(wrong)


_Wrong = dict[str, dict[int, list[bool]]]  # whether predictions are wrong, by group and example


def _error_rates(wrong: _Wrong) -> list[ErrorRate]:
    return [
        ErrorRate(title, tuple(Ratio(sum(one), len(one)) for one in each.values()))
        for title, each in wrong.items()
        if each
    ]


def _by_label(task: Task, score: Evaluation) -> list[ErrorRate]:
    wrong: _Wrong = {}
    for number, (example, answer) in enumerate(_answered(score)):
        for right, guess in task.confusion_pairs(example, answer.value):
            if right:
                wrong.setdefault(right, {}).setdefault(number, []).append(right != guess)
    rates = _error_rates(wrong)
    return sorted(rates, key=lambda rate: (-rate.count, rate.title))
