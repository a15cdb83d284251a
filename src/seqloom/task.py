"""What every task can do: read files, speak to models in numbers, and judge predictions."""

import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, UInt64

from .batch import Batch, Item, collate
from .data.checks.text import Side
from .data.codec import Codec, Lengths, restore_codecs
from .data.formats import FieldRules, ParsedFile, Row, Sentence, read_rows
from .data.formats.base import STRICT_RULES, InputFile
from .data.formats.joined import InputRoles, read_inputs
from .data.loading.lazy import lazy_map
from .data.loading.splitting import key_hash
from .data.options import Data
from .errors import DataError, Place, UsageError
from .metrics import Tally
from .metrics.labels import Decision
from .signature import END, Form, Signature

Probabilities = Float[np.ndarray, "place classes"]  # of all labels, at each place


@dataclass(frozen=True)
class Generated:
    """Examples that follow from settings alone: `draw` makes those of a part.

    `easier` makes further ones to learn from on the way there, level by level; a task whose
    examples differ in difficulty by themselves needs none.
    """

    settings: dict[str, str]
    draw: Callable[[str], list[Any]]
    easier: Callable[[], list[list[Any]]] = list


@dataclass(frozen=True)
class LabelDecisions:
    """Labels of one example, place by place: what is right, and what was guessed.

    Where several places are one thing, such as an entity, there are those of either side, each with
    its label first.
    """

    what: str
    decisions: list[Decision]
    right: Collection[tuple[str, int, int]] = ()
    guessed: Collection[tuple[str, int, int]] = ()


@dataclass(frozen=True)
class Highlighted:
    """A question in pieces, each with its label or an empty one, and what stands between them.

    `labels` are all that a model may give, in an order that stays: colours go by it.
    """

    pieces: Sequence[tuple[str, str]]
    labels: Sequence[str]
    between: str


BaselineRule = Callable[[Any], tuple[Any, float]]  # the answer to an example, and its nats


@dataclass(frozen=True)
class Baseline:
    """The simplest way to solve a task, which a model that has learned something beats.

    It is a model of its own, or else a rule that follows from the training examples.

    Args:
        title: What it is, as "most frequent answer".
        model: The [model] table of a baseline that is a model.
        rule: Training examples to the rule.
    """

    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    rule: Callable[[Sequence[Any]], BaselineRule] | None = None


class Task(ABC):
    """From a user's file to batches, and from predictions back to what the user understands.

    Attributes that are codecs (vocabularies, label sets) are saved and restored by themselves, as
    parameters are in a torch module. A class says what is so for all of its tasks; where options
    choose among varieties, each instance says its own form, primary_metric and variety.
    """

    form: Form
    verb: ClassVar[str]  # the command that uses a model of this task
    roles: ClassVar[tuple[str, ...]]  # what the columns of a file are called; none: reads no file
    primary_metric: str  # the metric that chooses the best checkpoint
    input_unit: str = "symbols"  # what a source is counted in
    variety: str = ""  # runs of different varieties have nothing in common
    continuous: bool = False  # examples follow one another: each goes on from the last
    reads_series: ClassVar[bool] = False  # numbers in time
    splits_in_time: ClassVar[bool] = False  # the task cuts its parts itself, at points of time
    remedy_for_length: ClassVar[str] = ""  # what to set where a text is too long

    @classmethod
    def varieties(cls) -> list["Task"]:
        """One task of each kind that the options can choose; most tasks have one kind only."""
        return [cls()]

    def generator(self) -> Generated | None:
        """The examples of a task that makes its own; None where they are read from files."""
        return None

    read_notes: tuple[str, ...] = ()  # what was guessed of files that were read

    def read(self, path: Path, data: Data) -> Sequence[Any]:
        """The examples in a file, none longer than the settings allow."""
        source = self.open(path, data)
        self.read_notes = tuple(dict.fromkeys([*self.read_notes, *source.notes]))
        return self.examples(source, data)

    def bundled_splits(self, path: Path, data: Data) -> dict[str, Sequence[Any]]:
        """The examples of the parts train, valid and test that one file has in it; often none."""
        return {}

    def examples(self, source: ParsedFile, data: Data) -> Sequence[Any]:
        """The examples of what was read, none longer than the settings allow."""
        examples = lazy_map(self.example, source.rows)
        for row, example in zip(source.rows, examples, strict=True):
            limited = data.max_length and not self.continuous
            if limited and self.length(example) > data.max_length:
                error = _too_long(source.path, row.line, self.length(example), data.max_length)
                raise error.with_help(self.remedy_for_length) if self.remedy_for_length else error
        return self.link_examples(examples)

    def open(self, path: Path, data: Data) -> ParsedFile:
        """The rows of a file, in the columns of this task."""
        if not self.roles:
            raise reads_no_file(str(path))
        return read_rows(path, self.roles, data, keep_blank=self.continuous)

    @classmethod
    def suggested_options(cls, source: ParsedFile) -> dict[str, Any]:
        """Options that suit a file where its user names none; most tasks need none."""
        return {}

    def sides(self, source: ParsedFile) -> list[Side]:
        """What is read of a file, as sequences of symbols; a new task learns its symbols here."""
        examples = [self.example(row) for row in source.rows]
        self.prepare(examples)
        role = self.roles[0]
        found = (
            [text for text, _ in self.tokens_with_known(example)[role]] for example in examples
        )
        return [Side.of(role, self.input_unit, found, self.data_warnings(examples))]

    def tokens_with_known(self, example: Any) -> dict[str, list[tuple[str, bool]]]:
        """An example as a model sees it: by role its symbols, each with whether it is known."""
        source, target = self.show_tokens(example, "")
        names = target if self.form is Form.NEXT else source  # what is read is late there
        role = self.roles[0] if self.roles else "question"
        return {role: list(zip(names, self.is_known(example), strict=False))}

    def inputs(self, path: Path, data: Data) -> InputFile | None:
        """The inputs of a file that is predicted in its own shape; None: each line is an input.

        It has the formats and the columns that the task learns from; targets need not be there.
        """
        if not self.roles:
            return None
        num_inputs = max(1, len(self.roles) - 1)
        roles = InputRoles(self.roles, num_inputs, self.field_rules, self.labels_learned())
        return read_inputs(path, roles, data, self.input_example)

    def input_example(self, row: Row) -> Any:
        """An example without a target, from the inputs of a row."""
        return self.question(str(row.fields[0]))

    @property
    def field_rules(self) -> FieldRules:
        """Which fields of a row may be empty, or lists."""
        return STRICT_RULES

    def labels_learned(self) -> Collection[str]:
        """The labels of a run; none where targets are no labels."""
        return ()

    def temporal_splits(
        self, given: Mapping[str, Sequence[Any]], data: Data
    ) -> dict[str, Sequence[Any]]:
        """The parts train, valid and test of what the files of some of them gave.

        It is asked of tasks that are `in_time`. Examples to learn from are whole series; those to
        be judged are a past and a future, which follows what was learned from. `data` has the
        shares and the folds.
        """
        raise TypeError(f"{type(self).__name__} does not cut its parts itself")

    def restored_splits(
        self,
        given: Mapping[str, Sequence[Any]],
        hashes: Mapping[str, UInt64[np.ndarray, " _"]],
    ) -> dict[str, Sequence[Any]]:
        """The parts of these examples, cut where they were cut when these hashes were taken."""
        raise TypeError(f"{type(self).__name__} does not cut its parts itself")

    def link_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """The examples, each told what the others say of it; most tasks need nothing."""
        return examples

    def distinct(self, examples: Sequence[Any]) -> Sequence[Any]:
        """The examples to be judged: all, unless several are one question."""
        return examples

    @abstractmethod
    def example(self, row: Row | Sentence) -> Any:
        """One row of a file as this task understands it."""

    @abstractmethod
    def question(self, text: str) -> Any:
        """An example without an answer, from what a user typed."""

    @abstractmethod
    def with_target(self, question: Any, answer: Any) -> Any:
        """A question with an answer as its target."""

    @abstractmethod
    def key(self, example: Any) -> Hashable:
        """What makes two examples the same sequence."""

    def example_id(self, example: Any) -> Hashable:
        """Where an example stands: the same where two runs are asked the same."""
        return example.line

    def hashes(self, example: Any) -> UInt64[np.ndarray, " _"]:
        """Hashes of the key of an example, by which a run knows again what it was trained on.

        An example has one; where series are forecast, each time step to be forecast has its own.
        """
        return np.array([key_hash(self.key(example))], np.uint64)

    @abstractmethod
    def length(self, example: Any) -> int:
        """How many symbols the longest side of an example has."""

    def difficulty(self, example: Any) -> float | None:
        """How hard an example is, for a curriculum; None where there is nothing to tell it by."""
        in_pieces = self.continuous or self.form is Form.FORECAST  # all of the same length
        return None if in_pieces else self.length(example)

    def stratum(self, example: Any) -> str | None:
        """The label of the whole, which folds keep in proportion; None where there is none."""
        return None

    def num_characters(self, example: Any) -> int:
        """How much of a continuous text an example is, whatever its symbols: in characters."""
        return self.length(example)

    def split_at(self, example: Any, place: int) -> tuple[Any, Any]:
        """An example of a continuous task in two, the first of that extent."""
        raise TypeError(f"{type(self).__name__} is not continuous: its examples stay whole")

    @abstractmethod
    def prepare(self, examples: Sequence[Any]) -> None:
        """Let the codecs learn from training examples."""

    def notes(self) -> list[str]:
        """What is odd of what the codecs learned, a sentence each; told when training begins."""
        return []

    @abstractmethod
    def signature(self) -> Signature:
        """What a model will see; before `prepare` or `restore` its sizes may be too small."""

    def input_vocabulary(self) -> Sequence[str]:
        """The symbols a model reads, in the order of their numbers; none where they are numbers."""
        return ()

    def max_source_length(self) -> int:
        """The most symbols a source had in training; 0 where nobody counted."""
        return 0

    @abstractmethod
    def encode(self, example: Any) -> Item:
        """An example as numbers."""

    def encode_source(self, example: Any) -> Any:
        """The numbers a model reads before it answers."""
        return self.encode(example).source

    def encode_value(self, value: Any) -> tuple[Any, bool]:
        """One value of a stream as a model reads it, and whether training showed it.

        A value is text, as a user would type it, or a row of numbers for a model of vectors.
        """
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            return value, True
        question = self.question(str(value))
        numbers = list(self.encode_source(question))
        numbers = numbers[: len(numbers) - len(self.encode_end())]
        if len(numbers) != 1:
            raise DataError(
                "D050",
                f"{value!r} is {len(numbers)} symbols; a stream takes one at a time",
                help=["give every symbol by itself, on the command line on a line of its own"],
            )
        return numbers[0], self.is_known(question)[0]

    def encode_end(self) -> Any:
        """The numbers a model reads after the last value of a stream."""
        return self.encode_source(self.question(""))

    @abstractmethod
    def decode(self, row: Any) -> Any:
        """A predicted row, a sequence of numbers or a `QuantileForecast`, as an answer."""

    def target_tokens(self, text: str) -> tuple[list[int], list[str]]:
        """The symbols of an answer without its end, as numbers and as they are called."""
        question = self.question(text)
        if self.form is Form.NEXT:
            return [int(i) for i in self.encode_source(question)], self.show_tokens(question, "")[1]
        numbers = self.encode(self.with_target(question, text)).target
        return [int(i) for i in numbers if i != END], self.show_tokens(question, text)[1]

    def decode_for(self, example: Any, row: Any) -> Any:
        """A predicted row as the answer to an example, of which it may hold symbols.

        Where series are forecast, the row is a `QuantileForecast`; where the next row of bits is
        predicted, the `BernoulliLogits` of all, each from those before it.
        """
        return self.decode(row)

    def baseline(self) -> Baseline:
        """What a model is compared with after training: by default the most frequent answer."""
        return Baseline("most frequent answer", rule=self._most_frequent_answer)

    def _most_frequent_answer(self, train: Sequence[Any]) -> BaselineRule:
        answers: dict[str, Any] = {}
        counts: Counter[str] = Counter()
        for example in train:
            answer = self.reference(example)
            counts[key := json.dumps(self.to_json(answer))] += 1
            answers.setdefault(key, answer)
        best = answers[counts.most_common(1)[0][0]]
        total = counts.total() + len(counts) + 1  # each counts once more, and so do unseen ones

        def rule(example: Any) -> tuple[Any, float]:
            count = counts[json.dumps(self.to_json(self.reference(example)))]
            return best, math.log(total / (count + 1))

        return rule

    @abstractmethod
    def score(self, example: Any, answer: Any, nats: float) -> Mapping[str, Tally]:
        """How good an answer is, `nats` being how much the right one surprised the model.

        The first metric is the most telling; `answer` is None where the form is NEXT, but of bits.
        """

    def confusion_pairs(self, example: Any, answer: Any) -> list[tuple[str, str]]:
        """The right label and the one given, at each place or of the whole; none without labels."""
        return []

    def reference(self, example: Any) -> Any:
        """The answer that an example has, as a model's answers are given."""
        return self.decode_for(example, self.encode(example).target.tolist())

    def data_warnings(self, examples: Sequence[Any]) -> dict[str, str]:
        """What is odd of examples, and how they were read: a sentence for each code."""
        return {}

    def metric_variants(self, examples: Sequence[Any]) -> dict[str, str]:
        """How metrics were taken that have one name and several ways, by the metric's name."""
        return {}

    def label_decisions(
        self, example: Any, answer: Any, probabilities: Probabilities | None = None
    ) -> LabelDecisions | None:
        """The labels of an answer beside the right ones; None where answers are no labels.

        `probabilities` are of all labels at each position, if they are known.
        """
        return None

    def highlighted(self, example: Any, answer: Any) -> Highlighted | None:
        """A question with its labels in it, to be read; None where the answer stands alone."""
        return None

    def details(
        self, example: Any, answer: Any, probabilities: Float[np.ndarray, "place classes"] | None
    ) -> dict[str, Any]:
        """What programs are told of an answer beside itself; `probabilities` are of all labels."""
        return {}

    def labels_of(self, example: Any) -> list[str]:
        """The right labels of an example, as they stand in the file; none where there are none."""
        return []

    def probabilities(self, probabilities: Any) -> Any:
        """How likely each label is, as JSON can hold it; None where answers are no labels."""
        return None

    def to_json(self, answer: Any) -> Any:
        """An answer as JSON can hold it."""
        return answer

    @abstractmethod
    def show(self, answer: Any) -> str:
        """An answer in one line, as it is printed."""

    def to_field(self, answer: Any) -> str:
        """An answer as a field of a table, as the task would read it again."""
        return self.show(answer)

    def show_with_probabilities(self, answer: Any, probabilities: Any) -> str:
        """An answer in one line for people, with how sure it is and what else it could be."""
        return self.show(answer)

    def show_token(self, number: int) -> str:
        """One symbol or label of an answer, as it is printed."""
        return self.show(self.decode([number]))

    @abstractmethod
    def show_question(self, example: Any) -> str:
        """What was asked, in one line."""

    @abstractmethod
    def show_tokens(self, example: Any, answer: Any) -> tuple[list[str], list[str]]:
        """The source and the target as the symbols a picture is labelled with."""

    def unknown_labels(self, examples: Sequence[Any]) -> dict[str, list[int]]:
        """Labels that training never showed, with the lines they stand on."""
        return {}

    @abstractmethod
    def is_known(self, example: Any) -> list[bool]:
        """For each source symbol of an example, whether training showed it."""

    def unknown_tokens(self, example: Any) -> list[str]:
        """The source symbols of an example that training never showed, each once."""
        found = next(iter(self.tokens_with_known(example).values()), [])
        return list(dict.fromkeys(symbol for symbol, is_known in found if not is_known))

    def unknown_fraction(self, examples: Sequence[Any]) -> float:
        """The share of source symbols that training never showed."""
        known = [seen for example in examples for seen in self.is_known(example)]
        return known.count(False) / max(1, len(known))

    def batch(self, examples: Sequence[Any]) -> Batch:
        """Examples as one padded batch."""
        return collate([self.encode(example) for example in examples])

    def state(self) -> dict[str, Any]:
        """What the codecs learned, as JSON can hold it."""
        return {name: codec.state() for name, codec in self._codecs().items()}

    def vocabularies(self) -> dict[str, Any]:
        """What the codecs learned that gives numbers their meaning."""
        codecs = self._codecs().items()
        return {name: codec.state() for name, codec in codecs if not isinstance(codec, Lengths)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave; earlier versions did not keep all lengths.

        ValueError if it is something else.
        """
        codecs = self._codecs().items()
        kept = {n: one for n, one in codecs if n in state or not isinstance(one, Lengths)}
        restore_codecs(kept, state)

    def _codecs(self) -> dict[str, Codec]:
        found = {id(v): (n, v) for n, v in reversed(vars(self).items()) if isinstance(v, Codec)}
        return dict(reversed(found.values()))  # one that has two names is kept under the first


def reads_no_file(file: str) -> UsageError:
    """A file for a task that makes its own examples."""
    return UsageError(
        "U012",
        f"this task makes its own examples; it does not read {file}",
        help=["leave the file out; --set task.seed=2 makes other examples"],
    )


def _too_long(path: Path, line: int, length: int, limit: int) -> DataError:
    return DataError(
        "D041",
        f"a sequence has {length:,} symbols; at most {limit:,} are allowed",
        place=Place(str(path), line),
        help=[
            f"--set data.max_length={length}   allow it (memory and time grow with it)",
            "split the line into shorter ones",
        ],
    )
