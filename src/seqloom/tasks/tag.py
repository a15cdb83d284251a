"""Give each word a tag: CoNLL columns, CoNLL-U, or JSON lines of words or of texts with spans."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from ..batch import Item
from ..data.checks import tags as tag_remarks
from ..data.checks.text import Side
from ..data.formats import Row, Sentence, Source, read_sentences
from ..data.formats.conll import Sheet, sheet_of
from ..data.options import Data
from ..data.text.tag_schemes import OUTSIDE, TITLES, Entity, Scheme, cut, entities, recognised
from ..data.text.vocabulary import LabelSet, Vocabulary
from ..data.text.word_features import Features, Spelling
from ..data.text.word_tokenizer import Tokeniser
from ..errors import DataError, UsageError
from ..metrics import Ratio, Tally
from ..metrics.entities import found as found_spans
from ..metrics.labels import Decision
from ..signature import Columns, Form, Labels, Signature
from ..task import Chances, Judged, Marked, Task


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
    """Words in, one tag for each out.

    Tags such as B-person and I-person say which words are one entity. Their scheme is recognised
    (BIO, IOB1, BIOES), entities are then counted as conlleval does, and F1 of them comes first.

    Args:
        lowercase: Read words without regard to case.
        at_least: How often a word must be seen in training not to be read as unknown.
        scheme: How a model learns tags that mark entities: as the file has them, or converted to
            BIO or BIOES. Answers have the scheme of the file.
        tokens: How raw text is cut into words: at spaces, or marks apart as well; auto does as
            training had it.
        features: What else of a file is read beside each word: names of CoNLL-U columns or of JSON
            keys, as xpos,lemma; for other columns --columns gives their numbers.
    """

    form = Form.EACH
    verb = "tag"
    roles = ("word", "tag")
    headline = "accuracy"
    read_unit = "words"

    def __init__(
        self,
        *,
        lowercase: bool = False,
        at_least: int = 2,
        scheme: Literal["as-is", "bio", "bioes"] = "as-is",
        tokens: Literal["auto", "spaces", "words"] = "auto",
        features: str = "",
    ) -> None:
        self.lowercase, self.at_least = lowercase, at_least
        names = _names(features)
        self.columns = ("word", *names, "tag")
        self.words, self.spelling, self.features = Vocabulary(), Spelling(), Features(names)
        self.tags, self.scheme, self.tokeniser = LabelSet(), Scheme(scheme), Tokeniser(tokens)
        self._odd, self._barred = list[str](), frozenset[tuple[int, int]]()

    def open(self, path: Path, data: Data) -> Source:
        source = read_sentences(path, self.columns, data, self.tokeniser.places)
        if not data.columns:
            tag_remarks.refuse_swapped(source)
        return source

    def sides(self, source: Source) -> list[Side]:
        """The words: what is odd of the tags is told apart."""
        return [Side("word", self.read_unit, [list(row.fields[0]) for row in source.rows])]

    def example(self, row: Row | Sentence) -> Tagged:
        words, *features, tags = (list(field) for field in row.fields)
        found = Tagged(words, tags, row.line, tuple(features))
        if isinstance(row, Sentence):
            found = found._replace(lines=row.lines, text=row.text, places=row.places)
        return found

    def question(self, text: str) -> Tagged:
        if self.features.names and text:
            raise _without_features(self.features.names)
        places = tuple(self.tokeniser.places(text))
        words = [text[start:end] for start, end in places]
        none: tuple[list[str], ...] = tuple([] for _ in self.features.names)
        return Tagged(words, [], 0, none, (), text, places)

    def seen(self, example: Tagged) -> dict[str, list[tuple[str, bool]]]:
        return {"word": list(zip(example.words, self.is_known(example), strict=True))}

    def sheet(self, path: Path, data: Data) -> Sheet | None:
        return sheet_of(path, self.columns, data, self.tokeniser.places)

    def answered(self, question: Tagged, answer: list[str]) -> Tagged:
        return question._replace(tags=answer)

    def key(self, example: Tagged) -> Hashable:
        return (*example.words, *map(tuple, example.features))

    def length(self, example: Tagged) -> int:
        return len(example.words)

    def prepare(self, examples: Sequence[Tagged]) -> None:
        self.words.learn((self._read(example) for example in examples), self.at_least)
        self.spelling.learn(word for example in examples for word in example.words)
        self.features.learn([example.features for example in examples])
        self.scheme.written = recognised(example.tags for example in examples)
        if self.scheme.written == "none" and self.scheme.wanted != "as-is":
            raise _no_scheme(self.scheme.wanted, examples)
        self.tags.learn(tag for e in examples for tag in self.scheme.read(e.tags))
        if not all(example.text for example in examples):  # else it was this that cut them
            self.tokeniser.learn(word for example in examples for word in example.words)
        self._odd = [*self._told(), *self.remarks(examples).values()]
        self._settle()

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._settle()

    def notes(self) -> list[str]:
        return self._odd

    def remarks(self, examples: Sequence[Tagged]) -> dict[str, str]:
        return tag_remarks.remarks(examples, self.scheme.written)

    def signature(self) -> Signature:
        columns = Columns((self.words.space, self.spelling.space, *self.features.spaces))
        space = self.tags.space
        return Signature(self.form, columns, Labels(space.size, self._barred, space.counts))

    def read_symbols(self) -> Sequence[str]:
        return self.words.symbols

    def encode(self, example: Tagged) -> Item:
        columns = [self.words.encode(self._read(example)), self.spelling.encode(example.words)]
        if self.features.names:
            columns.append(self.features.encode(example.features))
        tags = self.tags.encode(self.scheme.read(example.tags))
        return Item(np.column_stack(columns), tags)

    def decode(self, row: Sequence[int]) -> list[str]:
        return self.scheme.shown(self.tags.decode(row))

    def judge(self, example: Tagged, answer: list[str], nats: float) -> Mapping[str, Tally]:
        hits = sum(guess == tag for guess, tag in zip(answer, example.tags, strict=True))
        judged: dict[str, Tally] = {}
        if self.scheme.written != "none":
            counts = found_spans(entities(answer), entities(example.tags))
            names = ("entity_f1", "entity_precision", "entity_recall")
            judged = dict.fromkeys(names, counts)
        return judged | {
            "accuracy": Ratio(hits, len(example.tags)),
            "sentence_accuracy": Ratio(hits == len(example.tags), 1),
            "loss": Ratio(nats, len(example.tags)),
        }

    def pairs(self, example: Tagged, answer: list[str]) -> list[tuple[str, str]]:
        return list(zip(example.tags, answer, strict=True))

    def labels_of(self, example: Tagged) -> list[str]:
        return list(example.tags)

    def how_measured(self, examples: Sequence[Tagged]) -> dict[str, str]:
        if self.scheme.written == "none":
            return {}
        return {"entity_f1": "whole entities of the same kind, counted as conlleval does"}

    def judged(self, example: Tagged, answer: list[str], chances: Chances | None = None) -> Judged:
        if self.scheme.written == "none":
            return Judged("tag", _decided(example.tags, answer, self.tags.labels, chances))
        # B and I of one kind are no confusion: what matters is the kind of each word.
        right, guessed, known = (
            [cut(tag)[1] or OUTSIDE for tag in tags]
            for tags in (example.tags, answer, self.tags.labels)
        )
        decisions = _decided(right, guessed, known, chances)
        return Judged("entity", decisions, set(entities(example.tags)), set(entities(answer)))

    def show(self, answer: list[str]) -> str:
        return " ".join(answer)

    def shown_symbol(self, number: int) -> str:
        return self.tags.labels[number]

    def shown_question(self, example: Tagged) -> str:
        return example.text or " ".join(example.words)

    def marked(self, example: Tagged, answer: list[str]) -> Marked:
        kinds = sorted({cut(tag)[1] for tag in self.tags.labels} - {""})
        if self.scheme.written == "none":
            pieces = list(zip(example.words, answer, strict=True))
            return Marked(pieces, self.tags.labels, " ")
        text, places = _placed(example)
        pieces, last = [], 0
        for entity in entities(answer):
            start, end = places[entity.start][0], places[entity.end - 1][1]
            pieces += [(text[last:start], ""), (text[start:end], entity.kind)]
            last = end
        return Marked([*pieces, (text[last:], "")], kinds, "")

    def details(
        self, example: Tagged, answer: list[str], chances: Float[np.ndarray, "place classes"] | None
    ) -> dict[str, Any]:
        text, places = _placed(example)
        sure = None if chances is None else self._chances(answer, chances)
        found: dict[str, Any] = {"words": example.words, "tags": answer}
        found |= {"p": sure} if sure is not None else {}
        found["places"] = [list(place) for place in places]
        spans = entities(answer) if self.scheme.written != "none" else []
        return found | {"spans": [_span(entity, text, places, sure) for entity in spans]}

    def symbols(self, example: Tagged, answer: list[str]) -> tuple[list[str], list[str]]:
        return example.words, answer

    def unknown_labels(self, examples: Sequence[Tagged]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            pairs = zip(self.scheme.read(example.tags), example.tags, strict=True)
            unknown = dict.fromkeys(own for tag, own in pairs if self.tags.unknown([tag]))
            for tag in unknown:
                found.setdefault(tag, []).append(example.line)
        return found

    def is_known(self, example: Tagged) -> list[bool]:
        return self.words.knows(self._read(example))

    def _chances(
        self, answer: list[str], chances: Float[np.ndarray, "place classes"]
    ) -> list[float]:
        """How likely each tag of an answer is; where it has none of its own, its kind."""
        learned = answer
        if self.scheme.learned != self.scheme.written:
            learned = self.scheme.read(answer)
        kinds = [cut(label) for label in self.tags.labels]
        found = []
        for tag, row in zip(learned, chances, strict=True):
            same = [n for n, label in enumerate(self.tags.labels) if label == tag]
            same = same or [n for n, (_, kind) in enumerate(kinds) if kind == cut(tag)[1]]
            found.append(float(row[same].sum()))
        return found

    def _settle(self) -> None:
        """What follows from what the tags are."""
        self._barred = self.scheme.barred(self.tags.labels)
        self.headline = "accuracy" if self.scheme.written == "none" else "entity_f1"

    def _told(self) -> list[str]:
        if self.scheme.written == "none":
            return []
        learned = TITLES[self.scheme.learned]
        more = f", learned as {learned}" if self.scheme.learned != self.scheme.written else ""
        return [f"the tags mark entities by {TITLES[self.scheme.written]}{more}"]

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


def _names(features: str) -> tuple[str, ...]:
    """The names of features, as the option has them."""
    names = tuple(name.strip() for name in features.split(",") if name.strip())
    wrong = [name for name, count in Counter((*names, "word", "tag")).items() if count > 1]
    if wrong:
        raise UsageError(
            "U090",
            f"features = {features!r}: {wrong[0]!r} is there twice, or is not a feature",
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
    right: list[str], guessed: list[str], known: list[str], chances: Chances | None
) -> list[Decision]:
    """Place by place; how sure is the sum over all labels that count as the guessed one."""
    sure = [math.nan] * len(right)
    if chances is not None:
        sure = [
            float(row[np.array(known) == one].sum())
            for row, one in zip(chances, guessed, strict=True)
        ]
    return [Decision(*one) for one in zip(right, guessed, sure, strict=True)]
