"""Text classification: tables, folders, lines of a label and a text."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from sys import intern
from typing import Any, Literal, NamedTuple

import numpy as np

from ..batch import Item
from ..config import CountOrZero
from ..data.checks.text import RARE_LABEL, Side, case_variants
from ..data.formats import FieldRules, ParsedFile, Row, Sentence, read_rows
from ..data.formats.base import LIST_SEPARATOR, format_lines, pluralize
from ..data.options import Data
from ..data.text.documents import COLUMN_TOKEN, SENTENCE_BREAK, DocumentOptions, has_words
from ..data.text.tokenizers import ENOUGH_TEXTS, rarely_spaced, unspaced_note
from ..data.text.vocabulary import LabelSet, Vocabulary
from ..data.text.word_features import CharacterFeatures
from ..errors import DataError, Place
from ..metrics import Ratio, Tally
from ..metrics.labels import NONE, Decision, label_counts, micro_f1
from ..signature import END, Bits, Columns, Form, Signature
from ..task import Baseline, LabelDecisions, Probabilities, Task

WHOLE_TEXTS = DocumentOptions()
RUNNERS_UP = 2  # so many labels are shown beside the answer
LIKELY = 0.01  # the smallest probability of a label that is shown


class Labelled(NamedTuple):
    """A text as tokens, and its labels."""

    symbols: list[str]
    labels: tuple[str, ...] = ()
    line: int = 0
    text: str = ""
    is_cut: bool = False  # whether the text has more symbols


class Classify(Task):
    """Text classification: one label for each text, or any number of labels (multi-label).

    Several columns can be concatenated, as in data.columns = "text=title+body,label=stars": the
    token <next> then stands between them.

    Args:
        tokens: The tokens of the text.
        lowercase: Lowercase texts.
        min_frequency: Minimum frequency of a token in training; rarer ones are unknown.
        documents: How texts are split, and how much of them is read.
        several: Multi-label: a text may have any number of labels, or none. In a file they are a
            JSON list, or one field with a separator between them.
        separator: The separator between the labels of one text.
        letters: Give models the characters of each word, too; model.letters encodes them.
    """

    form = Form.WHOLE
    verb = "classify"
    roles = ("text", "label")
    remedy_for_length = "--set task.max_words=400   read the beginning of long texts only"

    def __init__(
        self,
        *,
        tokens: Literal["characters", "words"] = "words",
        lowercase: bool = True,
        min_frequency: CountOrZero = 2,
        documents: DocumentOptions = WHOLE_TEXTS,
        several: bool = False,
        separator: str = ",",
        letters: bool = False,
    ) -> None:
        self.input_unit = self.unit = tokens
        self.lowercase, self.min_frequency = lowercase, min_frequency
        self.documents, self.several, self.separator = documents, several, separator
        self.primary_metric = "micro_f1" if several else "accuracy"
        self.variety = "several" if several else ""
        self.vocabulary, self.labels = Vocabulary(), LabelSet()
        self.spelling = CharacterFeatures() if letters else None
        self._notes: list[str] = []

    @classmethod
    def varieties(cls) -> list[Task]:
        return [cls(), cls(several=True)]

    @classmethod
    def suggested_options(cls, source: ParsedFile) -> dict[str, str]:
        """Characters for texts that rarely have blanks, such as names."""
        texts = [str(row.fields[0]) for row in source.rows]
        return {"tokens": "characters"} if rarely_spaced(texts) else {}

    def open(self, path: Path, data: Data) -> ParsedFile:
        source = read_rows(path, self.roles, data, rules=self.field_rules)
        _must_not_be_swapped(source)
        if not self.several:
            _must_have_one_label(source)
        return source

    @property
    def field_rules(self) -> FieldRules:
        empty = frozenset({"label"} if self.several else ())
        return FieldRules(empty, may_be_list=frozenset({"label"}), separator=f" {COLUMN_TOKEN} ")

    def labels_learned(self) -> Collection[str]:
        return self.labels.labels

    def sides(self, source: ParsedFile) -> list[Side]:
        """Tokenized texts, with a warning where they are truncated."""
        examples = [self.example(row) for row in source.rows]
        found = (example.symbols for example in examples)
        return [Side.of("text", self.unit, found, self.data_warnings(examples))]

    def example(self, row: Row | Sentence) -> Labelled:
        text, label = (str(field) for field in row.fields)
        return self._read(text, self._labels(label), row.line)

    def question(self, text: str) -> Labelled:
        return self._read(text)

    def with_target(self, question: Labelled, answer: str | list[str]) -> Labelled:
        return question._replace(labels=(answer,) if isinstance(answer, str) else tuple(answer))

    def key(self, example: Labelled) -> Hashable:
        return tuple(example.symbols)

    def length(self, example: Labelled) -> int:
        return len(example.symbols)

    def stratum(self, example: Labelled) -> str:
        return " ".join(example.labels)

    def prepare(self, examples: Sequence[Labelled]) -> None:
        self.vocabulary.learn((example.symbols for example in examples), self.min_frequency)
        if self.spelling is not None:
            self.spelling.learn(word for example in examples for word in example.symbols)
        self.labels.learn(label for example in examples for label in example.labels)
        self._notes = [*_odd_labels(self.labels.state()), *self.data_warnings(examples).values()]
        texts = [example.text for example in examples]
        if self.unit == "words" and len(texts) >= ENOUGH_TEXTS and rarely_spaced(texts):
            self._notes.append(unspaced_note())
        if len({example.labels for example in examples}) == 1:
            raise _one_label(examples[0].labels)

    def notes(self) -> list[str]:
        return self._notes

    def data_warnings(self, examples: Sequence[Labelled]) -> dict[str, str]:
        cut = [example.line for example in examples if example.is_cut]
        limits = {"sentences": self.documents.max_sentences, self.unit: self.documents.max_words}
        told = {}
        if cut:
            most = " and ".join(f"{limit:,} {unit}" for unit, limit in limits.items() if limit)
            of = f"{len(cut):,} of {pluralize(len(examples), 'text')}"
            told["D147"] = f"at most {most} of a text are read: {of} {_are(cut)} cut short"
        if self.documents.sentences:
            without = [example.line for example in examples if not has_words(example.text)]
            if without:
                have = f"{pluralize(len(without), 'text')} {'has' if len(without) == 1 else 'have'}"
                where = f"line {format_lines(without)}"
                told["D140"] = f"{have} no sentences, only marks ({where}): read as one sentence"
        return told

    def signature(self) -> Signature:
        known = self.labels.space
        target = Bits(known.size) if self.several else known
        words = self.vocabulary.space
        if self.spelling is None:
            return Signature(self.form, words, target)
        return Signature(self.form, Columns((words, self.spelling.space)), target)

    def input_vocabulary(self) -> Sequence[str]:
        return self.vocabulary.tokens

    def encode(self, example: Labelled) -> Item:
        numbers = self.vocabulary.encode(example.symbols, end=True)
        if self.documents.sentences:
            breaks = [place for place, s in enumerate(example.symbols) if s == SENTENCE_BREAK]
            numbers[breaks] = END
        if self.spelling is not None:
            words = ["" if s == SENTENCE_BREAK else s for s in (*example.symbols, SENTENCE_BREAK)]
            numbers = np.column_stack([numbers, self.spelling.encode(words)])
        if not self.several:
            return Item(numbers, self.labels.encode(example.labels))
        target = np.zeros((1, len(self.labels.labels)), dtype=np.float32)
        target[0, self.labels.ids(example.labels)] = 1
        return Item(numbers, target)

    def decode(self, row: Sequence[Any]) -> str | list[str]:
        if not self.several:
            return self.labels.decode(row)[0]
        return [label for label, yes in zip(self.labels.labels, row[0], strict=True) if yes > 0.5]

    def reference(self, example: Labelled) -> str | list[str]:
        if not self.several:
            return example.labels[0]
        return [label for label in self.labels.labels if label in example.labels]

    def baseline(self) -> Baseline:
        return replace(super().baseline(), title="most frequent label")

    def score(
        self, example: Labelled, answer: str | list[str], nats: float
    ) -> dict[str, Ratio | Tally]:
        pairs = self._pairs(example, answer)
        macro = label_counts(pairs, len(self.labels.labels))
        loss = Ratio(nats, 1)
        if self.several:
            is_right = Ratio(all(right == guess for right, guess in pairs), 1)
            return {
                "micro_f1": micro_f1(pairs),
                "macro_f1": macro,
                "exact_match": is_right,
                "loss": loss,
            }
        accuracy = Ratio(answer == example.labels[0], 1)
        return {"accuracy": accuracy, "macro_f1": macro, "micro_f1": micro_f1(pairs), "loss": loss}

    def confusion_pairs(self, example: Labelled, answer: str | list[str]) -> list[tuple[str, str]]:
        return [(one.right, one.guessed) for one in self.label_decisions(example, answer).decisions]

    def label_decisions(
        self, example: Labelled, answer: str | list[str], probabilities: Probabilities | None = None
    ) -> LabelDecisions:
        if isinstance(answer, str):
            sure = float("nan") if probabilities is None else float(max(probabilities[0]))
            return LabelDecisions("label", [Decision(example.labels[0], answer, sure)])
        yes = (
            [float("nan")] * len(self.labels.labels) if probabilities is None else probabilities[0]
        )
        decisions = [
            Decision(
                label if label in example.labels else NONE,
                label if label in answer else NONE,
                float(max(p, 1 - p)),
            )
            for label, p in zip(self.labels.labels, yes, strict=True)
        ]
        return LabelDecisions("label", decisions)

    def labels_of(self, example: Labelled) -> list[str]:
        return list(example.labels)

    def probabilities(self, probabilities: Any) -> dict[str, float]:
        """The most probable label first; in multi-label data each has a probability of its own."""
        pairs = zip(self.labels.labels, map(float, probabilities[0]), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def show(self, answer: str | list[str]) -> str:
        if isinstance(answer, str):
            return answer
        return f"{self.separator} ".join(answer) if answer else "(none)"

    def to_field(self, answer: str | list[str]) -> str:
        return answer if isinstance(answer, str) else (self.separator or ",").join(answer)

    def show_with_probabilities(self, answer: str | list[str], probabilities: Any) -> str:
        likely = self.probabilities(probabilities)
        chosen = [answer] if isinstance(answer, str) else answer
        others = [label for label, p in likely.items() if p >= LIKELY]
        others = [label for label in others if label not in chosen][:RUNNERS_UP]
        said = ", ".join(f"{label} {_percent(likely[label])}" for label in chosen) or "(none)"
        beside = ", ".join(f"{label} {_percent(likely[label])}" for label in others)
        return f"{said}   ({beside})" if beside else said

    def show_question(self, example: Labelled) -> str:
        if self.unit == "characters":
            return example.text
        lines = f" {SENTENCE_BREAK} " if self.documents.sentences else " "
        return lines.join(" ".join(line.split()) for line in example.text.strip().split("\n"))

    def show_tokens(
        self, example: Labelled, answer: str | list[str]
    ) -> tuple[list[str], list[str]]:
        return [*example.symbols, SENTENCE_BREAK], [self.show(answer)]

    def unknown_labels(self, examples: Sequence[Labelled]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            for label in self.labels.unknown(example.labels):
                found.setdefault(label, []).append(example.line)
        return found

    def is_known(self, example: Labelled) -> list[bool]:
        known = self.vocabulary.knows(example.symbols)
        if not self.documents.sentences:
            return known
        return [seen or s == SENTENCE_BREAK for seen, s in zip(known, example.symbols, strict=True)]

    def _read(self, text: str, labels: tuple[str, ...] = (), line: int = 0) -> Labelled:
        symbols, is_cut = self.documents.tokenize(text, self.unit, self.lowercase)
        # Equal words are one object: of many documents they take a tenth of the memory.
        symbols = [*map(intern, symbols)]
        return Labelled(symbols, labels, line, text, is_cut)

    def _labels(self, field: str) -> tuple[str, ...]:
        """The labels of a field, each once."""
        if not self.several:
            return (" ".join(field.split()) if "\n" in field else field.strip(),)
        mark = LIST_SEPARATOR if LIST_SEPARATOR in field or not self.separator else self.separator
        labels = (label.strip() for label in field.split(mark))
        return tuple(dict.fromkeys(label for label in labels if label))

    def _pairs(self, example: Labelled, answer: str | list[str]) -> tuple[tuple[int, int], ...]:
        """The ids of true and predicted labels; -1 is none."""
        if isinstance(answer, str):
            right, guess = self.labels.ids([example.labels[0], answer])
            return ((right, guess),)
        either = dict.fromkeys([*example.labels, *answer])
        return tuple(
            (number if label in example.labels else -1, number if label in answer else -1)
            for label, number in zip(either, self.labels.ids(either), strict=True)
        )


def _are(lines: list[int]) -> str:
    return "is" if len(lines) == 1 else "are"


def _percent(p: float) -> str:
    """A probability as people read it; never 0 % or 100 %."""
    return ">99 %" if p >= 0.995 else f"{100 * p:.0f} %"


def _odd_labels(counts: dict[str, int]) -> Iterable[str]:
    """A sentence for labels that look like one, and one for those that are rare."""
    for forms in case_variants(counts):
        names = " and ".join(repr(form) for form in forms)
        yield f"the labels {names} differ only by case or space, and are learned as {len(forms)}"
    rare = {label: number for label, number in counts.items() if number < RARE_LABEL}
    if rare:
        named = ", ".join(f"{label!r} ({number:,})" for label, number in [*rare.items()][:3])
        more = f" and {len(rare) - 3:,} more" if len(rare) > 3 else ""
        yield f"very few texts to learn from have the labels {named}{more}: expect poor recall"


def _one_label(labels: tuple[str, ...]) -> DataError:
    shown = " and ".join(repr(label) for label in labels)
    have = f"all texts to learn from are {shown}" if labels else "no text to learn from has a label"
    return DataError(
        "D074",
        f"{have}: there is nothing to learn",
        help=["add texts with other labels", "check that the right column is the label"],
    )


def _must_have_one_label(source: ParsedFile) -> None:
    """Refuse a list of labels where one is wanted."""
    for row in source.rows:
        if LIST_SEPARATOR in str(row.fields[-1]):
            number = str(row.fields[-1]).count(LIST_SEPARATOR) + 1
            raise DataError(
                "D142",
                f"a text has {number} labels, and each is to have one",
                place=Place(str(source.path), row.line),
                help=["--set task.several=true   let texts have any number of labels"],
            )


def _must_not_be_swapped(source: ParsedFile) -> None:
    """Refuse labels that look like the texts, beside texts that look like the labels."""
    texts, labels = ([str(row.fields[place]) for row in source.rows] for place in (0, 1))
    lengths = [median(map(len, column)) for column in (texts, labels)]
    kinds = [len(set(column)) for column in (texts, labels)]
    if lengths[1] <= lengths[0] or kinds[1] <= max(kinds[0], 2):
        return
    raise DataError(
        "D141",
        f"text and label look swapped: labels are longer than texts ({lengths[1]:,g} characters"
        f" beside {lengths[0]:,g}) and of more kinds ({kinds[1]:,} beside {kinds[0]:,})",
        place=Place(str(source.path), source.rows[0].line),
        help=["--columns text=LABEL,label=TEXT   by the names of the header", "--columns 2,1"],
    )
