"""Sequence transduction: pairs of a source and a target, with several references if wanted."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..batch import Ids, Item
from ..data.checks.text import Side
from ..data.codec import Lengths
from ..data.formats import ParsedFile, Row, Sentence, read_rows
from ..data.options import Data
from ..data.text.normalise import NO_NORMALIZATION, NormalizationOptions
from ..data.text.options import WORD_TOKENS, TokenizerOptions
from ..data.text.tokenizers import Tokenizer, rarely_spaced
from ..errors import DataError, UsageError
from ..metrics import Ratio, Tally, translation
from ..metrics.edit_distance import token_error_rate
from ..signature import BEGIN, END, PAD, UNKNOWN, Form, Signature, Tokens
from ..task import Baseline, Task


class Pair(NamedTuple):
    """A source, a target, and every target that the file gives for this source.

    All are texts as they are cut into symbols: in the writing that the options ask for.
    """

    source: str
    target: str
    references: tuple[str, ...] = ()
    line: int = 0


class Translate(Task):
    """Sequence transduction: translation, pronunciation, transcription.

    As translations, outputs are compared with references as people write them, by BLEU and chrF;
    tokenised BLEU is taken on tokens, with punctuation split off where it was. As transductions,
    outputs are compared token by token, by error rates.

    Args:
        cutting: The tokens of both sides.
        wording: How texts are normalised.
        alternatives: A row may hold further references after the first, tab-separated.
        metrics: The metrics: BLEU and chrF (translation), or error rates (errors), as for
            pronunciations. Auto takes the first where both sides are words or subwords.
    """

    form = Form.TRANSDUCE
    verb = "translate"
    roles = ("source", "target")

    def __init__(
        self,
        *,
        cutting: TokenizerOptions = WORD_TOKENS,
        wording: NormalizationOptions = NO_NORMALIZATION,
        alternatives: bool = False,
        metrics: Literal["auto", "translation", "errors"] = "auto",
    ) -> None:
        self.alternatives, self.copies = alternatives, cutting.copies
        self.source, self.target = cutting.tokenizers()
        units = (self.source.unit, self.target.unit)
        self.input_unit = units[0]
        if wording.split_punctuation and "words" not in units:
            raise UsageError(
                "U084",
                f"split_punctuation makes words of marks, and no side has words: {units[0]} in,"
                f" {units[1]} out",
                help=["leave task.split_punctuation out: other symbols hold marks of their own"],
            )
        self.reading = wording.normalizer("source", units[0])
        self.writing = wording.normalizer("target", units[1])
        by_words = metrics == "auto" and {*units} <= {"words", "subwords"}
        self.is_translation = by_words or metrics == "translation"
        self.primary_metric = "bleu" if self.is_translation else "sequence_error"
        self.lengths = Lengths()

    def open(self, path: Path, data: Data) -> ParsedFile:
        try:
            return read_rows(path, self.roles, data, extra_fields=self.alternatives)
        except DataError as error:
            if error.code != "D011" or self.alternatives:
                raise
            more = "--set task.alternatives=true   further fields are further right answers"
            raise error.with_help(more) from None

    @classmethod
    def suggested_options(cls, source: ParsedFile) -> dict[str, str]:
        """Characters for a side whose texts rarely have blanks."""
        found = {}
        for place, role in enumerate(cls.roles):
            texts = [str(row.fields[place]) for row in source.rows]
            found[f"{role}_tokens"] = "characters" if rarely_spaced(texts) else "words"
        return found

    def sides(self, source: ParsedFile) -> list[Side]:
        """Both sides, each tokenized by itself: jointly learned subwords may differ a little."""
        found = []
        ways = ((self.source, self.reading), (self.target, self.writing))
        for place, (role, (symbols, writing)) in enumerate(zip(self.roles, ways, strict=True)):
            read = [writing.normalize(str(row.fields[place])) for row in source.rows]
            symbols.learn(read)
            lengths, counts = symbols.count(read)
            found.append(Side(role, symbols.unit, lengths, counts, dict(symbols.notes)))
        return found

    def tokens_with_known(self, example: Pair) -> dict[str, list[tuple[str, bool]]]:
        names = self.target.display_tokens(example.target)
        known = [number != UNKNOWN for number in self.target.encode(example.target).tolist()]
        return super().tokens_with_known(example) | {
            "target": list(zip(names, known, strict=False))
        }

    def example(self, row: Row | Sentence) -> Pair:
        source, *targets = (str(field) for field in row.fields)
        references = tuple(map(self.writing.normalize, targets))
        return Pair(self.reading.normalize(source), references[0], references, row.line)

    def link_examples(self, examples: Sequence[Pair]) -> list[Pair]:
        """One pair for each reference, each with all references of its source."""
        right: dict[Hashable, dict[str, Pair]] = {}
        for example in examples:
            known = right.setdefault(self.key(example), {})
            for target in example.references:
                written = self.target.round_trip(target)
                known.setdefault(written, example._replace(target=target))
        return [
            pair._replace(references=tuple(other.target for other in found.values()))
            for found in right.values()
            for pair in found.values()
        ]

    def distinct(self, examples: Sequence[Pair]) -> list[Pair]:
        """A source with several references is evaluated once."""
        first: dict[Hashable, Pair] = {}
        for example in examples:
            first.setdefault(self.key(example), example)
        return list(first.values())

    def question(self, text: str) -> Pair:
        return Pair(self.reading.normalize(text), "")

    def with_target(self, question: Pair, answer: str) -> Pair:
        return question._replace(target=self.writing.normalize(answer))

    def key(self, example: Pair) -> Hashable:
        return self.source.round_trip(example.source)

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
        self.lengths.source = max(map(self.source.length, sources), default=0)
        self.lengths.target = max(map(self.target.length, targets), default=0) + 1  # its END

    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self.source.notes.values(), *self.target.notes.values()]))

    def signature(self) -> Signature:
        # Earlier versions kept the longest source alone, and few targets are twice as long.
        longest = self.lengths.target or 2 * self.lengths.source
        source = Tokens(len(self.source.tokens), self.copies)
        target = Tokens(len(self.target.tokens), self.copies, longest)
        return Signature(self.form, source, target)

    def input_vocabulary(self) -> Sequence[str]:
        return self.source.tokens

    def max_source_length(self) -> int:
        return self.lengths.source

    def encode(self, example: Pair) -> Item:
        """The source with END after it, the target with END after it."""
        unknown = self._unknown(example)
        return Item(
            self._numbers(self.source, example.source, unknown),
            self._numbers(self.target, example.target, unknown),
        )

    def decode(self, row: Sequence[int]) -> str:
        size = len(self.target.tokens)
        known = [number if number < size else UNKNOWN for number in row]
        return self.writing.detokenize(self.target.decode(known))

    def decode_for(self, example: Pair, row: Sequence[int]) -> str:
        if not (unknown := self._unknown(example)):
            return self.decode(row)
        names = [*self.target.tokens, *unknown]
        shown = [names[n] if n < len(names) else names[UNKNOWN] for n in row if n not in _PLACES]
        return self.writing.detokenize(self.target.detokenize(shown))

    def reference(self, example: Pair) -> str:
        """The reference as it stands in the file, unknown tokens included."""
        return self.writing.detokenize(example.target)

    def baseline(self) -> Baseline:
        def copied(example: Pair) -> tuple[str, float]:
            return self.writing.detokenize(example.source), math.nan

        return Baseline("copy of the source", rule=lambda train: copied)

    def score(self, example: Pair, answer: str, nats: float) -> Mapping[str, Tally]:
        references = example.references or (example.target,)
        guess = self.writing.normalize(answer)
        symbols, right = self.target.tokenize(guess), list(map(self.target.tokenize, references))
        is_right = symbols in right
        judged: dict[str, Tally] = {"sequence_error": Ratio(not is_right, 1)}
        if self.is_translation:
            judged = self._translated(guess, references) | judged
        else:
            judged["symbol_error"] = token_error_rate(symbols, right)
            if self.target.unit != "words":
                words = [reference.split() for reference in references]
                judged["word_error"] = token_error_rate(guess.split(), words)
            judged["exact_match"] = Ratio(is_right, 1)
        return judged | {"loss": Ratio(nats, self.target.length(example.target) + 1)}

    def metric_variants(self, examples: Sequence[Pair]) -> dict[str, str]:
        if not self.is_translation:
            return {}
        counts = {max(1, len(example.references)) for example in examples}
        names = ("bleu", "chrf", "tokenised_bleu")
        return {n: translation.signature(n, counts, self.writing.lowercase) for n in names}

    def show(self, answer: str) -> str:
        return answer

    def show_token(self, number: int) -> str:
        return self.target.display(number)

    def show_question(self, example: Pair) -> str:
        return self.reading.detokenize(example.source)

    def show_tokens(self, example: Pair, answer: str) -> tuple[list[str], list[str]]:
        target = self.target.display_tokens(self.writing.normalize(answer))
        return [*self.source.display_tokens(example.source), "</s>"], [*target, "</s>"]

    def is_known(self, example: Pair) -> list[bool]:
        return [number != UNKNOWN for number in self.source.encode(example.source).tolist()]

    def _translated(self, guess: str, references: Sequence[str]) -> dict[str, Tally]:
        """The counts of sacrebleu: of texts as people write them, and of their tokens."""
        writing = self.writing
        texts = writing.detokenize(guess), [*map(writing.detokenize, references)]
        tokens = writing.tokenized(guess), [*map(writing.tokenized, references)]
        found = {"bleu": texts, "chrf": texts, "tokenised_bleu": tokens}
        return {
            name: translation.tally(name, *compared, writing.lowercase)
            for name, compared in found.items()
        }

    def _unknown(self, example: Pair) -> list[str]:
        """The first unknown tokens of a source that can be copied, each once."""
        if not self.copies:
            return []
        cut = zip(self.source.tokenize(example.source), self.is_known(example), strict=True)
        return list(dict.fromkeys(name for name, is_known in cut if not is_known))[: self.copies]

    @staticmethod
    def _numbers(side: Tokenizer, text: str, unknown: Iterable[str]) -> Ids:
        """The token ids of a text, with END; unknown tokens of the source have ids of their own."""
        ids = side.encode(text)
        if own := {name: len(side.tokens) + place for place, name in enumerate(unknown)}:
            strange = zip(side.tokenize(text), ids.tolist(), strict=True)
            ids = np.array([own.get(s, n) if n == UNKNOWN else n for s, n in strange], np.int64)
        return np.append(ids, END)


_PLACES = (PAD, BEGIN, END)  # numbers that only mark places
