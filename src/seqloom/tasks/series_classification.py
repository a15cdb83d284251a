"""Time-series classification: a label for each series, or for each step."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Item
from ..data.formats import Row, Sentence
from ..data.formats.base import InputFile, JoinedPrediction
from ..data.formats.series import read_series
from ..data.formats.series.joined import read_unlabelled
from ..data.options import Data
from ..data.series.scaling import ScalingName, SeriesScaler
from ..data.series.schema import TimeSeries, format_rows, parse_numbers, parse_rows
from ..data.text.vocabulary import LabelSet
from ..errors import DataError, Place, UsageError
from ..metrics import Ratio, Tally
from ..metrics.labels import Decision, label_counts
from ..signature import Form, Series, Signature
from ..task import Baseline, BaselineRule, LabelDecisions, Probabilities, Task
from .forecast_answer import written

RUNNERS_UP = 2  # so many labels are shown beside the answer
LIKELY = 0.01  # the smallest probability of a label that is shown


@dataclass(frozen=True, eq=False)
class LabelledSeries:
    """A series as a model reads it, inputs behind the numbers, and its labels."""

    values: Float[np.ndarray, "time width"]
    labels: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    name: str = ""
    line: int = 0


class SeriesClassify(Task):
    """Time-series classification: a label for each series, or for each step.

    Files are .ts, JSON lines with a "label" or "labels", or tables in which --columns says which
    column is the label, as id=patient,value=x+y,label=state. Numbers may be missing.

    Args:
        each: Label every step instead of whole series.
        scaling: Scaling of each column, fitted on the training split: standard subtracts the mean
            and divides by the standard deviation, mean divides by the mean absolute value. Use none
            for counts.
        piece: With a label for each step: the length of the segments that series are cut into, each
            an example; 0 keeps series whole.
    """

    form = Form.WHOLE
    verb = "predict"
    roles = ("value", "label")
    primary_metric = "accuracy"
    input_unit = "rows"
    reads_series = True

    def __init__(
        self, *, each: bool = False, scaling: ScalingName = "standard", piece: int = 100
    ) -> None:
        if piece < 0:
            raise UsageError("U310", f"piece = {piece}: expected a whole number from 0 on")
        self.form, self.variety = (Form.EACH, "each") if each else (Form.WHOLE, "")
        self.each, self.piece = each, piece
        self.scaling, self.labels = SeriesScaler(scaling), LabelSet()
        self._said: list[str] = []

    @classmethod
    def varieties(cls) -> list[Task]:
        return [cls(), cls(each=True)]

    @property
    def width(self) -> int:
        """The number of variables."""
        return len(self.scaling.default_scale(1).shift)

    def read(self, path: Path, data: Data) -> Sequence[LabelledSeries]:
        recording = read_series(path, data)
        self._said = list(recording.notes)
        found = [self._labelled(one, path) for one in recording.series]
        if self.labels.labels and found[0].values.shape[1] != self.width:
            raise _other_width(found[0].values.shape[1], self.width, Place(str(path)))
        return [piece for one in found for piece in self._pieces(one)]

    def inputs(self, path: Path, data: Data) -> InputFile | None:
        found = read_unlabelled(path, data)
        if found is None:
            return None
        width = found.file.series[0].values.shape[1] + len(found.file.known)
        if width != self.width:
            raise _other_width(width, self.width, Place(str(path)))
        pieces = [self._pieces(_without_labels(one)) for one in found.file.series]

        def write(predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
            given = iter([one for one in predictions if one is not None])
            whole = [_joined([next(given) for _ in parts]) for parts in pieces]
            return found.write(whole, self.each)

        return InputFile("series", [piece for parts in pieces for piece in parts], write)

    def _labelled(self, series: TimeSeries, path: Path) -> LabelledSeries:
        place = Place(str(path), series.line or None)
        labels = series.labels if self.each else (series.label,)
        if self.each and not labels and series.label:
            raise _wrong_labels("a series has one label, and each step should", False, place)
        if not self.each and not series.label and series.labels:
            raise _wrong_labels("the label of a series changes from step to step", True, place)
        if not labels or not all(label.strip() for label in labels):
            what = "a step" if any(labels) else "a series"
            raise DataError(
                "D251",
                f"{what} has no label",
                place=place,
                help=["--columns value=NUMBERS,label=LABELS   name the columns of a table"],
            )
        values = np.concatenate([series.values, series.known], axis=1)
        return LabelledSeries(values, labels, series.times, series.name, series.line)

    def _pieces(self, one: LabelledSeries) -> list[LabelledSeries]:
        """A series, or the segments it is cut into where each step has a label."""
        size = self.piece if self.each and self.piece else len(one.values)
        return [
            replace(
                one,
                values=one.values[start : start + size],
                labels=one.labels[start : start + size] if self.each else one.labels,
                times=one.times[start : start + size],
            )
            for start in range(0, len(one.values), max(1, size))
        ]

    def example(self, row: Row | Sentence) -> LabelledSeries:
        """A row of numbers as a time series."""
        return self.question(" ".join(map(str, row.fields)))

    def question(self, text: str) -> LabelledSeries:
        values = parse_rows(text, self.width)
        return LabelledSeries(values, (), tuple(map(str, range(1, len(values) + 1))))

    def with_target(self, question: LabelledSeries, answer: str | list[str]) -> LabelledSeries:
        return replace(question, labels=(answer,) if isinstance(answer, str) else tuple(answer))

    def key(self, example: LabelledSeries) -> Hashable:
        return example.values.shape, example.values.tobytes()

    def length(self, example: LabelledSeries) -> int:
        return len(example.values)

    def stratum(self, example: LabelledSeries) -> str | None:
        return None if self.each else example.labels[0]

    def prepare(self, examples: Sequence[LabelledSeries]) -> None:
        every = np.concatenate([example.values for example in examples])
        self.scaling.learn([("", every)], np.zeros((0, 0)))
        self.labels.learn(label for example in examples for label in example.labels)
        if len(self.labels.labels) == 1:
            raise DataError(
                "D253",
                f"all labels are {self.labels.labels[0]!r}: there is nothing to learn",
                help=["add series with other labels", "check that the right column is the label"],
            )

    def notes(self) -> list[str]:
        return self._said

    def signature(self) -> Signature:
        return Signature(self.form, Series(self.width), self.labels.space)

    def encode(self, example: LabelledSeries) -> Item:
        found = example.values.shape[1]
        if found != self.width:
            raise _other_width(found, self.width)
        values = self.scaling.default_scale(self.width).apply(example.values)
        return Item(values, self.labels.encode(example.labels))

    def encode_source(self, example: LabelledSeries) -> Float[np.ndarray, "time width"]:
        found: np.ndarray = self.encode(replace(example, labels=())).source
        return found

    def encode_value(self, value: Any) -> tuple[Float[np.ndarray, " width"], bool]:
        text = value if isinstance(value, str) else " ".join(map(str, np.ravel(value)))
        row = np.array(parse_numbers(text) or [np.nan] * self.width)
        if len(row) != self.width:
            raise _other_width(len(row), self.width)
        return self.scaling.default_scale(self.width).apply(row), True

    def encode_end(self) -> Float[np.ndarray, "0 width"]:
        return np.zeros((0, self.width))

    def decode(self, row: Sequence[int]) -> str | list[str]:
        labels = self.labels.decode(row)
        return labels if self.each else labels[0]

    def baseline(self) -> Baseline:
        return Baseline("most frequent label", rule=self._most_frequent_label)

    def _most_frequent_label(self, train: Sequence[LabelledSeries]) -> BaselineRule:
        counts = Counter(label for example in train for label in example.labels)
        usual = counts.most_common(1)[0][0]
        return lambda one: ([usual] * len(one.labels) if self.each else usual, math.nan)

    def score(
        self, example: LabelledSeries, answer: str | list[str], nats: float
    ) -> Mapping[str, Tally]:
        pairs = self.confusion_pairs(example, answer)
        hits = sum(right == guess for right, guess in pairs)
        sides = [self.labels.ids(side) for side in zip(*pairs, strict=True)]
        macro = label_counts(tuple(zip(*sides, strict=True)), len(self.labels.labels))
        return {
            "accuracy": Ratio(hits, len(pairs)),
            "macro_f1": macro,
            "loss": Ratio(nats, len(pairs)),
        }

    def confusion_pairs(
        self, example: LabelledSeries, answer: str | list[str]
    ) -> list[tuple[str, str]]:
        guessed = [answer] if isinstance(answer, str) else answer
        return list(zip(example.labels, guessed, strict=True))

    def label_decisions(
        self,
        example: LabelledSeries,
        answer: str | list[str],
        probabilities: Probabilities | None = None,
    ) -> LabelDecisions:
        pairs = self.confusion_pairs(example, answer)
        sure = [math.nan] * len(pairs)
        if probabilities is not None:
            guessed = self.labels.ids(guess for _, guess in pairs)
            sure = [float(row[one]) for row, one in zip(probabilities, guessed, strict=True)]
        decisions = [Decision(*pair, one) for pair, one in zip(pairs, sure, strict=True)]
        return LabelDecisions("label", decisions)

    def details(
        self, example: LabelledSeries, answer: str | list[str], probabilities: Probabilities | None
    ) -> dict[str, Any]:
        if isinstance(answer, str):
            return {}
        found: dict[str, Any] = {"times": list(example.times), "labels": answer}
        if probabilities is not None:
            places = zip(probabilities, self.labels.ids(answer), strict=True)
            found["p"] = [float(row[one]) for row, one in places]
        return found

    def labels_of(self, example: LabelledSeries) -> list[str]:
        return list(example.labels)

    def tokens_with_known(self, example: LabelledSeries) -> dict[str, list[tuple[str, bool]]]:
        return {"value": format_rows(example.values)}

    def probabilities(self, probabilities: Any) -> dict[str, float] | None:
        """For whole series, the most probable label first."""
        if self.each:
            return None
        pairs = zip(self.labels.labels, map(float, probabilities[0]), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def show(self, answer: str | list[str]) -> str:
        return answer if isinstance(answer, str) else " ".join(answer)

    def show_with_probabilities(self, answer: str | list[str], probabilities: Any) -> str:
        likely = self.probabilities(probabilities)
        if likely is None or not isinstance(answer, str):
            return self.show(answer)
        others = [label for label, p in likely.items() if p >= LIKELY and label != answer]
        beside = ", ".join(f"{label} {_percent(likely[label])}" for label in others[:RUNNERS_UP])
        said = f"{answer} {_percent(likely[answer])}"
        return f"{said}   ({beside})" if beside else said

    def show_token(self, number: int) -> str:
        return self.labels.labels[number]

    def show_question(self, example: LabelledSeries) -> str:
        return written(example.values, exact=True)

    def show_tokens(
        self, example: LabelledSeries, answer: str | list[str]
    ) -> tuple[list[str], list[str]]:
        return list(example.times), [answer] if isinstance(answer, str) else list(answer)

    def unknown_labels(self, examples: Sequence[LabelledSeries]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            for label in dict.fromkeys(self.labels.unknown(example.labels)):
                found.setdefault(label, []).append(example.line)
        return found

    def is_known(self, example: LabelledSeries) -> list[bool]:
        return [True] * len(example.values)


def _without_labels(series: TimeSeries) -> LabelledSeries:
    values = np.concatenate([series.values, series.known], axis=1)
    return LabelledSeries(values, (), series.times, series.name, series.line)


def _joined(parts: Sequence[JoinedPrediction]) -> JoinedPrediction:
    """The predictions for the segments of a series as one."""
    if len(parts) == 1:
        return parts[0]
    sure = [one.probability for one in parts if isinstance(one.probability, list)]
    return JoinedPrediction(
        " ".join(one.text for one in parts),
        [label for one in parts for label in one.value],
        list(chain.from_iterable(sure)) if len(sure) == len(parts) else None,
    )


def _percent(p: float) -> str:
    """A probability as people read it; never 0 % or 100 %."""
    return ">99 %" if p >= 0.995 else f"{100 * p:.0f} %"


def _wrong_labels(problem: str, each: bool, place: Place) -> DataError:
    value = str(each).lower()
    return DataError("D252", problem, place=place, help=[f"--set task.each={value}"])


def _other_width(found: int, width: int, place: Place | None = None) -> DataError:
    numbers = "one number" if width == 1 else f"{width} numbers"
    return DataError(
        "D250",
        f"a step has {numbers} in this model, and here it has {found}",
        place=place,
        help=["write steps with ; between them, as 1 2; 3 4"] if place is None else [],
    )
