"""Sequence tagging: CoNLL columns, CoNLL-U, or JSON lines of words or of texts with spans."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from ..batch import Item
from ..config import CountOrZero
from ..data.checks import tags as tag_remarks
from ..data.checks.text import Side
from ..data.formats import ParsedFile, Row, Sentence, read_sentences
from ..data.formats.base import InputFile
from ..data.formats.conll import read_untagged
from ..data.options import Data
from ..data.text.tag_schemes import (
    OUTSIDE,
    SCHEME_TITLES,
    Entity,
    TagScheme,
    detect_scheme,
    entities,
    split_tag,
)
from ..data.text.vocabulary import LabelSet, Vocabulary
from ..data.text.word_features import CharacterFeatures, WordFeatures
from ..data.text.word_tokenizer import WordTokenizer
from ..errors import DataError, UsageError
from ..metrics import Ratio, Tally
from ..metrics.entities import entity_counts
from ..metrics.labels import Decision
from ..signature import Columns, Form, Labels, Signature
from ..task import Baseline, BaselineRule, Highlighted, LabelDecisions, Probabilities, Task


class Tagged(NamedTuple):
    """A sentence and its tags, as its file has them.

    Where it was cut from a text, there is the text and where each word stands in it; where a file
    gives more beside each word, `features` has a list for each; `lines` are those of the words.
    """

    words: list[str]
    tags: list[str]
    line: int = 0
    features: tuple[list[str], ...] = ()
    lines: tuple[int, ...] = ()
    text: str = ""
    places: tuple[tuple[int, int], ...] = ()


class Tag(Task):
    """Sequence tagging: a tag for each word, such as its part of speech or entity (NER).

    Tags such as B-person and I-person mark entities. Their tag scheme is recognised (BIO, IOB1,
    BIOES, also called IOBES); entity F1 is then computed as conlleval does, and comes first.

    Args:
        lowercase: Lowercase words.
        min_frequency: Minimum frequency of a word in training; rarer ones are unknown.
        scheme: The tag scheme to train with: as the file has it, or converted to BIO or BIOES.
            Predictions have the scheme of the file.
        tokenize: How raw text is split into words: at spaces, or punctuation apart as well; auto
            does as the training data has it.
        features: Further features of each word: names of CoNLL-U columns or of JSON keys, as
            [xpos, lemma]; for other columns --columns gives their numbers.
    """

    form = Form.EACH
    verb = "tag"
    roles = ("word", "tag")
    primary_metric = "accuracy"
    input_unit = "words"

    def __init__(
        self,
        *,
        lowercase: bool = False,
        min_frequency: CountOrZero = 2,
        scheme: Literal["as-is", "bio", "bioes"] = "as-is",
        tokenize: Literal["auto", "spaces", "words"] = "auto",
        features: tuple[str, ...] = (),
    ) -> None:
        self.lowercase, self.min_frequency = lowercase, min_frequency
        names = _names(features)
        self.columns = ("word", *names, "tag")
        self.words, self.spelling, self.features = (
            Vocabulary(),
            CharacterFeatures(),
            WordFeatures(names),
        )
        self.tags, self.scheme, self.tokeniser = (
            LabelSet(),
            TagScheme(scheme),
            WordTokenizer(tokenize),
        )
        self._odd, self._barred = list[str](), frozenset[tuple[int, int]]()

    def open(self, path: Path, data: Data) -> ParsedFile:
        source = read_sentences(path, self.columns, data, self.tokeniser.spans)
        if not data.columns:
            tag_remarks.refuse_swapped_columns(source)
        return source

    def sides(self, source: ParsedFile) -> list[Side]:
        """The words; checks of the tags are reported apart."""
        return [Side.of("word", self.input_unit, (list(row.fields[0]) for row in source.rows))]

    def example(self, row: Row | Sentence) -> Tagged:
        words, *features, tags = (list(field) for field in row.fields)
        found = Tagged(words, tags, row.line, tuple(features))
        if isinstance(row, Sentence):
            found = found._replace(lines=row.lines, text=row.text, places=row.word_spans)
        return found

    def question(self, text: str) -> Tagged:
        if self.features.names and text:
            raise _without_features(self.features.names)
        places = tuple(self.tokeniser.spans(text))
        words = [text[start:end] for start, end in places]
        none: tuple[list[str], ...] = tuple([] for _ in self.features.names)
        return Tagged(words, [], 0, none, (), text, places)

    def tokens_with_known(self, example: Tagged) -> dict[str, list[tuple[str, bool]]]:
        return {"word": list(zip(example.words, self.is_known(example), strict=True))}

    def inputs(self, path: Path, data: Data) -> InputFile | None:
        file = read_untagged(path, self.columns, data, self.tokeniser.spans, self.labels_learned())
        return file and replace(file, examples=[self.example(row) for row in file.examples])

    def labels_learned(self) -> Collection[str]:
        """The tags as files have them."""
        known = self.tags.labels
        return {*known, *(tag for label in known for tag in self.scheme.to_file([label]))}

    def with_target(self, question: Tagged, answer: list[str]) -> Tagged:
        return question._replace(tags=answer)

    def key(self, example: Tagged) -> Hashable:
        return (*example.words, *map(tuple, example.features))

    def length(self, example: Tagged) -> int:
        return len(example.words)

    def prepare(self, examples: Sequence[Tagged]) -> None:
        self.words.learn((self._read(example) for example in examples), self.min_frequency)
        self.spelling.learn(word for example in examples for word in example.words)
        self.features.learn([example.features for example in examples])
        self.scheme.file_scheme = detect_scheme(example.tags for example in examples)
        if self.scheme.file_scheme == "none" and self.scheme.requested != "as-is":
            raise _no_scheme(self.scheme.requested, examples)
        self.tags.learn(tag for e in examples for tag in self.scheme.to_model(e.tags))
        if not all(example.text for example in examples):  # else it was this that cut them
            self.tokeniser.learn(word for example in examples for word in example.words)
        self._odd = [*self._told(), *self.data_warnings(examples).values()]
        self._settle()

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._settle()

    def notes(self) -> list[str]:
        return self._odd

    def data_warnings(self, examples: Sequence[Tagged]) -> dict[str, str]:
        return tag_remarks.tag_warnings(examples, self.scheme.file_scheme)

    def signature(self) -> Signature:
        columns = Columns((self.words.space, self.spelling.space, *self.features.spaces))
        space = self.tags.space
        return Signature(self.form, columns, Labels(space.size, self._barred, space.counts))

    def input_vocabulary(self) -> Sequence[str]:
        return self.words.tokens

    def encode(self, example: Tagged) -> Item:
        columns = [self.words.encode(self._read(example)), self.spelling.encode(example.words)]
        if self.features.names:
            columns.append(self.features.encode(example.features))
        tags = self.tags.encode(self.scheme.to_model(example.tags))
        return Item(np.column_stack(columns), tags)

    def decode(self, row: Sequence[int]) -> list[str]:
        return self.scheme.to_file(self.tags.decode(row))

    def baseline(self) -> Baseline:
        return Baseline("most frequent tag of each word", rule=self._most_frequent_tags)

    def _most_frequent_tags(self, train: Sequence[Tagged]) -> BaselineRule:
        every: Counter[str] = Counter(tag for example in train for tag in example.tags)
        by_word: dict[str, Counter[str]] = defaultdict(Counter)
        for example in train:
            for word, tag in zip(example.words, example.tags, strict=True):
                by_word[word][tag] += 1
        usual = every.most_common(1)[0][0]
        best = {word: counts.most_common(1)[0][0] for word, counts in by_word.items()}
        return lambda example: ([best.get(word, usual) for word in example.words], math.nan)

    def score(self, example: Tagged, answer: list[str], nats: float) -> Mapping[str, Tally]:
        hits = sum(guess == tag for guess, tag in zip(answer, example.tags, strict=True))
        judged: dict[str, Tally] = {}
        if self.scheme.file_scheme != "none":
            counts = entity_counts(entities(answer), entities(example.tags))
            names = ("entity_f1", "entity_precision", "entity_recall")
            judged = dict.fromkeys(names, counts)
        return judged | {
            "accuracy": Ratio(hits, len(example.tags)),
            "sentence_accuracy": Ratio(hits == len(example.tags), 1),
            "loss": Ratio(nats, len(example.tags)),
        }

    def confusion_pairs(self, example: Tagged, answer: list[str]) -> list[tuple[str, str]]:
        return list(zip(example.tags, answer, strict=True))

    def labels_of(self, example: Tagged) -> list[str]:
        return list(example.tags)

    def metric_variants(self, examples: Sequence[Tagged]) -> dict[str, str]:
        if self.scheme.file_scheme == "none":
            return {}
        return {"entity_f1": "whole entities of the same kind, counted as conlleval does"}

    def label_decisions(
        self, example: Tagged, answer: list[str], probabilities: Probabilities | None = None
    ) -> LabelDecisions:
        if self.scheme.file_scheme == "none":
            return LabelDecisions(
                "tag", _decided(example.tags, answer, self.tags.labels, probabilities)
            )
        # B and I of one kind are no confusion: what matters is the kind of each word.
        right, guessed, known = (
            [split_tag(tag)[1] or OUTSIDE for tag in tags]
            for tags in (example.tags, answer, self.tags.labels)
        )
        decisions = _decided(right, guessed, known, probabilities)
        return LabelDecisions(
            "entity", decisions, set(entities(example.tags)), set(entities(answer))
        )

    def show(self, answer: list[str]) -> str:
        return " ".join(answer)

    def show_token(self, number: int) -> str:
        return self.tags.labels[number]

    def show_question(self, example: Tagged) -> str:
        return example.text or " ".join(example.words)

    def highlighted(self, example: Tagged, answer: list[str]) -> Highlighted:
        kinds = sorted({split_tag(tag)[1] for tag in self.tags.labels} - {""})
        if self.scheme.file_scheme == "none":
            pieces = list(zip(example.words, answer, strict=True))
            return Highlighted(pieces, self.tags.labels, " ")
        text, places = _placed(example)
        pieces, last = [], 0
        for entity in entities(answer):
            start, end = places[entity.start][0], places[entity.end - 1][1]
            pieces += [(text[last:start], ""), (text[start:end], entity.kind)]
            last = end
        return Highlighted([*pieces, (text[last:], "")], kinds, "")

    def details(
        self,
        example: Tagged,
        answer: list[str],
        probabilities: Float[np.ndarray, "place classes"] | None,
    ) -> dict[str, Any]:
        text, places = _placed(example)
        sure = None if probabilities is None else self._tag_probabilities(answer, probabilities)
        found: dict[str, Any] = {"words": example.words, "tags": answer}
        found |= {"p": sure} if sure is not None else {}
        found["places"] = [list(place) for place in places]
        spans = entities(answer) if self.scheme.file_scheme != "none" else []
        return found | {"spans": [_span(entity, text, places, sure) for entity in spans]}

    def show_tokens(self, example: Tagged, answer: list[str]) -> tuple[list[str], list[str]]:
        return example.words, answer

    def unknown_labels(self, examples: Sequence[Tagged]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            pairs = zip(self.scheme.to_model(example.tags), example.tags, strict=True)
            unknown = dict.fromkeys(own for tag, own in pairs if self.tags.unknown([tag]))
            for tag in unknown:
                found.setdefault(tag, []).append(example.line)
        return found

    def is_known(self, example: Tagged) -> list[bool]:
        return self.words.knows(self._read(example))

    def _tag_probabilities(
        self, answer: list[str], probabilities: Float[np.ndarray, "place classes"]
    ) -> list[float]:
        """The probability of each predicted tag; of a repaired tag, of its kind."""
        learned = answer
        if self.scheme.model_scheme != self.scheme.file_scheme:
            learned = self.scheme.to_model(answer)
        kinds = [split_tag(label) for label in self.tags.labels]
        found = []
        for tag, row in zip(learned, probabilities, strict=True):
            same = [n for n, label in enumerate(self.tags.labels) if label == tag]
            same = same or [n for n, (_, kind) in enumerate(kinds) if kind == split_tag(tag)[1]]
            found.append(float(row[same].sum()))
        return found

    def _settle(self) -> None:
        """Set what depends on the tags: scheme and primary metric."""
        self._barred = self.scheme.forbidden_transitions(self.tags.labels)
        self.primary_metric = "accuracy" if self.scheme.file_scheme == "none" else "entity_f1"

    def _told(self) -> list[str]:
        if self.scheme.file_scheme == "none":
            return []
        learned = SCHEME_TITLES[self.scheme.model_scheme]
        more = (
            f", learned as {learned}" if self.scheme.model_scheme != self.scheme.file_scheme else ""
        )
        return [f"the tags mark entities by {SCHEME_TITLES[self.scheme.file_scheme]}{more}"]

    def _read(self, example: Tagged) -> list[str]:
        return [word.lower() for word in example.words] if self.lowercase else example.words


def _placed(example: Tagged) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text of a sentence and where its words stand; of words alone, with spaces between."""
    if example.text:
        return example.text, example.places
    ends = np.cumsum([len(word) + 1 for word in example.words]).tolist()
    places = [(end - 1 - len(w), end - 1) for end, w in zip(ends, example.words, strict=True)]
    return " ".join(example.words), places


def _span(
    entity: Entity, text: str, places: Sequence[tuple[int, int]], sure: Sequence[float] | None
) -> dict[str, Any]:
    """An entity for machines; it is as sure as its least certain tag."""
    start, end = places[entity.start][0], places[entity.end - 1][1]
    found = {"text": text[start:end], "label": entity.kind, "start": start, "end": end}
    return found | ({} if sure is None else {"p": min(sure[entity.start : entity.end])})


def _names(features: Iterable[str]) -> tuple[str, ...]:
    """The names of features, each once."""
    names = tuple(features)
    wrong = [name for name, count in Counter((*names, "word", "tag")).items() if count > 1]
    if wrong:
        raise UsageError(
            "U090",
            f"features = {list(names)}: {wrong[0]!r} is there twice, or is not a feature",
            help=["for example  --set task.features=xpos,lemma"],
        )
    return names


def _without_features(names: Iterable[str]) -> DataError:
    listed = ", ".join(f'"{name}"' for name in names)
    return DataError(
        "D126",
        f"this run reads {listed} beside every word, and raw text has words alone",
        help=["give a file in CoNLL columns, CoNLL-U or JSON lines that has them"],
    )


def _no_scheme(wanted: str, examples: Sequence[Tagged]) -> DataError:
    tags = sorted({tag for example in examples for tag in example.tags})
    shown = ", ".join(tags[:5]) + (", …" if len(tags) > 5 else "")
    return DataError(
        "D127",
        f"scheme = {wanted!r}: the tags of this file mark no entities, so they have no scheme",
        notes=[f"found: {shown}"],
        help=["leave task.scheme out", "--columns   if the tags stand in another column"],
    )


def _decided(
    right: list[str], guessed: list[str], known: list[str], probabilities: Probabilities | None
) -> list[Decision]:
    """Place by place; how sure is the sum over all labels that count as the guessed one."""
    sure = [math.nan] * len(right)
    if probabilities is not None:
        sure = [
            float(row[np.array(known) == one].sum())
            for row, one in zip(probabilities, guessed, strict=True)
        ]
    return [Decision(*one) for one in zip(right, guessed, sure, strict=True)]
