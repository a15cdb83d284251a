"""Turn one sequence into another: pairs, several right answers allowed."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..batch import Ids, Item
from ..data.checks.text import Side
from ..data.formats import Row, Sentence, Source, read_rows
from ..data.options import Data
from ..data.text.normalise import PLAIN_WORDING, Wording
from ..data.text.options import WORDS, Cutting
from ..data.text.tokenizers import Symbols
from ..errors import DataError, UsageError
from ..metrics import Ratio, Tally, translation
from ..metrics.edit_distance import symbol_error
from ..signature import BEGIN, END, PAD, UNKNOWN, Form, Signature, Tokens
from ..task import Task


class Pair(NamedTuple):
    """A source, a target, and every target that the file gives for this source.

    All are texts as they are cut into symbols: in the writing that the options ask for.
    """

    source: str
    target: str
    references: tuple[str, ...] = ()
    line: int = 0


class Translate(Task):
    """A sequence in, another out: a translation, a pronunciation, a transcription.

    Judged as translations, answers are compared with references as people write them, by BLEU and
    chrF; tokenised BLEU is taken on what stands between blanks, marks split off where they were.
    Judged by errors, answers are compared symbol by symbol.

    Args:
        cutting: What the symbols are.
        wording: How texts are written.
        alternatives: A row may hold further right answers after the first, tab-separated.
        judged_by: How answers are judged: as a translation, by BLEU and chrF, or by the rate of
            errors, as a pronunciation. Auto takes the first where both sides are words or subwords.
    """

    form = Form.TRANSDUCE
    verb = "translate"
    roles = ("source", "target")

    def __init__(
        self,
        *,
        cutting: Cutting = WORDS,
        wording: Wording = PLAIN_WORDING,
        alternatives: bool = False,
        judged_by: Literal["auto", "translation", "errors"] = "auto",
    ) -> None:
        self.alternatives, self.copies = alternatives, cutting.copies
        self.source, self.target = cutting.sides()
        units = (self.source.unit, self.target.unit)
        self.read_unit = units[0]
        if wording.split_punctuation and "words" not in units:
            raise UsageError(
                "U084",
                f"split_punctuation makes words of marks, and no side has words: {units[0]} in,"
                f" {units[1]} out",
                help=["leave task.split_punctuation out: other symbols hold marks of their own"],
            )
        self.reading = wording.writing("source", units[0])
        self.writing = wording.writing("target", units[1])
        by_words = judged_by == "auto" and {*units} <= {"words", "subwords"}
        self.is_translation = by_words or judged_by == "translation"
        self.headline = "bleu" if self.is_translation else "sequence_error"
        self.lengths = Lengths()

    def open(self, path: Path, data: Data) -> Source:
        try:
            return read_rows(path, self.roles, data, more=self.alternatives)
        except DataError as error:
            if error.code != "D011" or self.alternatives:
                raise
            more = "--set task.alternatives=true   further fields are further right answers"
            raise error.with_help(more) from None

    @classmethod
    def suited(cls, source: Source) -> dict[str, str]:
        """Each side in characters where few of its texts have blanks."""
        found = {}
        for place, role in enumerate(cls.roles):
            texts = [str(row.fields[place]) for row in source.rows]
            spaced = 10 * sum(" " in text.strip() for text in texts) > len(texts)
            found[f"{role}_symbols"] = "words" if spaced else "characters"
        return found

    def sides(self, source: Source) -> list[Side]:
        """Both sides, each learned by itself: together they may be cut a little otherwise."""
        found = []
        ways = ((self.source, self.reading), (self.target, self.writing))
        for place, (role, (symbols, writing)) in enumerate(zip(self.roles, ways, strict=True)):
            read = [writing.read(str(row.fields[place])) for row in source.rows]
            symbols.learn(read)
            cut = [symbols.cut(text) for text in read]
            found.append(Side(role, symbols.unit, cut, dict(symbols.notes)))
        return found

    def seen(self, example: Pair) -> dict[str, list[tuple[str, bool]]]:
        names = self.target.labels(example.target)
        known = [number != UNKNOWN for number in self.target.encode(example.target).tolist()]
        return super().seen(example) | {"target": list(zip(names, known, strict=False))}

    def example(self, row: Row | Sentence) -> Pair:
        source, *targets = (str(field) for field in row.fields)
        references = tuple(map(self.writing.read, targets))
        return Pair(self.reading.read(source), references[0], references, row.line)

    def related(self, examples: Sequence[Pair]) -> list[Pair]:
        """One pair for each right answer, each told all right answers of its source."""
        right: dict[Hashable, dict[str, Pair]] = {}
        for example in examples:
            known = right.setdefault(self.key(example), {})
            for target in example.references:
                written = self.target.written(target)
                known.setdefault(written, example._replace(target=target))
        return [
            pair._replace(references=tuple(other.target for other in found.values()))
            for found in right.values()
            for pair in found.values()
        ]

    def distinct(self, examples: Sequence[Pair]) -> list[Pair]:
        """A source with several right answers is asked once."""
        first: dict[Hashable, Pair] = {}
        for example in examples:
            first.setdefault(self.key(example), example)
        return list(first.values())

    def question(self, text: str) -> Pair:
        return Pair(self.reading.read(text), "")

    def answered(self, question: Pair, answer: str) -> Pair:
        return question._replace(target=self.writing.read(answer))

    def key(self, example: Pair) -> Hashable:
        return self.source.written(example.source)

    def length(self, example: Pair) -> int:
        targets = map(self.target.length, (example.target, *example.references))
        return max(self.source.length(example.source), *targets)

    def prepare(self, examples: Sequence[Pair]) -> None:
        sources, targets = [e.source for e in examples], [e.target for e in examples]
        if self.source is self.target:
            self.source.learn(chain(sources, targets))
        else:
            self.source.learn(sources)
            self.target.learn(targets)
        self.lengths.longest = max(map(self.source.length, sources), default=0)

    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self.source.notes.values(), *self.target.notes.values()]))

    def signature(self) -> Signature:
        source, target = (
            Tokens(len(side.symbols), self.copies) for side in (self.source, self.target)
        )
        return Signature(self.form, source, target)

    def read_symbols(self) -> Sequence[str]:
        return self.source.symbols

    def longest_source(self) -> int:
        return self.lengths.longest

    def encode(self, example: Pair) -> Item:
        """The source with END after it, the target with END after it."""
        unknown = self._unknown(example)
        return Item(
            self._numbers(self.source, example.source, unknown),
            self._numbers(self.target, example.target, unknown),
        )

    def decode(self, row: Sequence[int]) -> str:
        size = len(self.target.symbols)
        known = [number if number < size else UNKNOWN for number in row]
        return self.writing.written(self.target.decode(known))

    def answer_to(self, example: Pair, row: Sequence[int]) -> str:
        if not (unknown := self._unknown(example)):
            return self.decode(row)
        names = [*self.target.symbols, *unknown]
        shown = [names[n] if n < len(names) else names[UNKNOWN] for n in row if n not in _PLACES]
        return self.writing.written(self.target.join(shown))

    def right_answer(self, example: Pair) -> str:
        """As it stands in the file, unknown symbols too."""
        return self.writing.written(example.target)

    def judge(self, example: Pair, answer: str, nats: float) -> Mapping[str, Tally]:
        references = example.references or (example.target,)
        guess = self.writing.read(answer)
        symbols, right = self.target.cut(guess), list(map(self.target.cut, references))
        is_right = symbols in right
        judged: dict[str, Tally] = {"sequence_error": Ratio(not is_right, 1)}
        if self.is_translation:
            judged = self._translated(guess, references) | judged
        else:
            judged["symbol_error"] = symbol_error(symbols, right)
            if self.target.unit != "words":
                words = [reference.split() for reference in references]
                judged["word_error"] = symbol_error(guess.split(), words)
            judged["exact_match"] = Ratio(is_right, 1)
        return judged | {"loss": Ratio(nats, self.target.length(example.target) + 1)}

    def how_measured(self, examples: Sequence[Pair]) -> dict[str, str]:
        if not self.is_translation:
            return {}
        counts = {max(1, len(example.references)) for example in examples}
        names = ("bleu", "chrf", "tokenised_bleu")
        return {n: translation.signature(n, counts, self.writing.lowercase) for n in names}

    def show(self, answer: str) -> str:
        return answer

    def shown_symbol(self, number: int) -> str:
        return self.target.shown(number)

    def shown_question(self, example: Pair) -> str:
        return self.reading.written(example.source)

    def symbols(self, example: Pair, answer: str) -> tuple[list[str], list[str]]:
        target = self.target.labels(self.writing.read(answer))
        return [*self.source.labels(example.source), "</s>"], [*target, "</s>"]

    def is_known(self, example: Pair) -> list[bool]:
        return [number != UNKNOWN for number in self.source.encode(example.source).tolist()]

    def _translated(self, guess: str, references: Sequence[str]) -> dict[str, Tally]:
        """What sacrebleu counts: of texts as people write them, and of their tokens."""
        writing = self.writing
        texts = writing.written(guess), [*map(writing.written, references)]
        tokens = writing.tokens(guess), [*map(writing.tokens, references)]
        found = {"bleu": texts, "chrf": texts, "tokenised_bleu": tokens}
        return {
            name: translation.tally(name, *compared, writing.lowercase)
            for name, compared in found.items()
        }

    def _unknown(self, example: Pair) -> list[str]:
        """The first so many unknown symbols of a source, each once."""
        if not self.copies:
            return []
        cut = zip(self.source.cut(example.source), self.is_known(example), strict=True)
        return list(dict.fromkeys(name for name, is_known in cut if not is_known))[: self.copies]

    @staticmethod
    def _numbers(side: Symbols, text: str, unknown: Iterable[str]) -> Ids:
        """The numbers of a text's symbols, with END; those unknown to the source have their own."""
        ids = side.encode(text)
        if own := {name: len(side.symbols) + place for place, name in enumerate(unknown)}:
            strange = zip(side.cut(text), ids.tolist(), strict=True)
            ids = np.array([own.get(s, n) if n == UNKNOWN else n for s, n in strange], np.int64)
        return np.append(ids, END)


class Lengths:
    """How long the sources of training were; a codec, so that a run remembers it."""

    longest = 0

    def state(self) -> int:
        return self.longest

    def restore(self, state: int) -> None:
        self.longest = int(state)


_PLACES = (PAD, BEGIN, END)  # numbers that only mark places
