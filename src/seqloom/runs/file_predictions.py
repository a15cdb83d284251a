"""Predictions for a file of inputs, joined to its rows: tables, sentences in columns, series."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data.formats.base import InputFile, JoinedPrediction
from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..data.text.reading import read_lines
from ..decoding import SamplingDecoder
from ..evaluation.evaluate import ExamplePrediction, predict
from ..model import Model, Search
from ..signature import Form
from ..task import Task
from .answer import has_labels, has_probability


@dataclass(frozen=True)
class FilePredictions:
    """The inputs of a file and their predictions, in order; None where an input is blank."""

    task: Task
    file: InputFile
    predictions: Sequence[ExamplePrediction | None]

    def lines(self, *, probabilities: bool = False) -> Iterator[str]:
        """The file with its predictions: as columns of a table, keys of JSON lines, or tags.

        With `probabilities`, a table has a column for each label too, and CoNLL columns have the
        probability of each tag; JSON lines always have it.
        """
        pairs = zip(self.file.examples, self.predictions, strict=True)
        joined = [
            None if one is None else self._joined(example, one, probabilities)
            for example, one in pairs
        ]
        yield from self.file.write(joined)

    def save(self, path: str | Path, *, probabilities: bool = False) -> Path:
        """Write the file with its predictions."""
        path = Path(path)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in self.lines(probabilities=probabilities))
        return path

    def _joined(
        self, example: Any, prediction: ExamplePrediction, all_labels: bool
    ) -> JoinedPrediction:
        task, value = self.task, prediction.value
        probability: float | list[float] | None = None
        if task.form is Form.EACH:
            probability = task.details(example, value, prediction.probabilities).get("p")
            probability = probability if all_labels or self.file.format != "columns" else None
        elif has_probability(task, prediction):
            probability = math.exp(prediction.log_prob)
        probabilities = prediction.probabilities if all_labels else None
        return JoinedPrediction(
            task.to_field(value),
            task.to_json(value),
            probability,
            None if probabilities is None else task.probabilities(probabilities),
            prediction.score,
            tuple(self._joined(example, other, False) for other in prediction.others),
        )


def input_file(task: Task, path: Path, data: Data) -> InputFile:
    """The inputs of a file: a table, sentences, series; else each line is an input."""
    return task.inputs(path, data) or _plain(task, path, data)


def predict_file(
    model: Model,
    task: Task,
    file: InputFile,
    how: Search | SamplingDecoder,
    tell: Callable[[int], None] = lambda done: None,
    tokens: int = 0,
) -> FilePredictions:
    """Predict every input of a file that is not blank."""
    if isinstance(how, Search):
        how = replace(how, probabilities=has_labels(task))
    asked = [example for example in file.examples if example is not None]
    found = iter(predict(model, task, asked, how, tell, tokens) if asked else [])
    every = [None if example is None else next(found) for example in file.examples]
    return FilePredictions(task, file, every)


def _plain(task: Task, path: Path, data: Data) -> InputFile:
    """The lines of a text file; predictions are lines, too."""
    lines = read_lines(files_of(path)[0], data.encoding)
    examples = [task.question(line) if line.strip() else None for line in lines]

    def write(predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        for one in predictions:
            yield "" if one is None else one.text

    return InputFile("text", examples, write)
