"""ARPA files: back-off n-gram models as text, as the SRI toolkit and KenLM write and read them.

    \\data\\
    ngram 1=4                    how many n-grams of each order there are
    ngram 2=3

    \\1-grams:
    -0.6021  the  -0.3010        log10 of the probability, the n-gram, log10 of its back-off weight
    ...
    \\end\\

-99 stands for a probability of 0. `read_arpa` checks every line and reports errors with their line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...errors import DataError, ModelError, Place
from ...signature import BEGIN, END, PAD, UNKNOWN
from .backoff import UNSEEN, BackoffModel, NGramTable

NAMES = {BEGIN: "<s>", END: "</s>", UNKNOWN: "<unk>"}
IMPOSSIBLE = -99.0
NATS = np.log(10)
LINES_AT_ONCE = 100_000
WHITE = " \t\n\r\v\f\0\x1c\x1d\x1e\x85\u2028\u2029"  # what some reader takes for an end


def format_arpa(model: BackoffModel, tokens: Sequence[str]) -> Iterator[str]:
    """The file of a model, in chunks; white space in a token is written by number: <U+0020>."""
    if model.is_uniform and model.order > 1:
        raise ModelError(
            "M151",
            "a model smoothed by add-k has no ARPA form",
            notes=["Its unseen n-grams are uniform; they do not back off to shorter contexts."],
            help=["train with another model.smoothing, or with model.order=1"],
        )
    names = np.array([NAMES.get(n, _escaped(t)) for n, t in enumerate(tokens)], dtype=object)
    counts = [model.size - 1, *(len(table.tokens) for table in model.tables)]
    yield "\\data\\\n"
    yield from (f"ngram {n}={count}\n" for n, count in enumerate(counts, start=1))
    every = np.delete(np.arange(model.size), PAD)
    # The context of each n-gram as text, by the number of the context it becomes: text is joined
    # once for each n-gram, and not once for each token of it.
    texts = names
    yield "\n\\1-grams:\n"
    yield from _lines(names[every], model.unigrams[every], _weights(model, 1, every))
    for length, table in enumerate(model.tables, start=2):
        link = model.links[length - 2]
        context = np.empty(len(table.backoffs), dtype=object)
        context[link[link >= 0]] = texts[link >= 0]
        texts = context[table.contexts] + " " + names[table.tokens]
        yield f"\n\\{length}-grams:\n"
        yield from _lines(texts, table.log_probs, _weights(model, length, None))
    yield "\n\\end\\\n"


def _weights(
    model: BackoffModel, length: int, which: Int[np.ndarray, " _"] | None
) -> Float[np.ndarray, " _"] | None:
    """The back-off weights of the n-grams of one order; those of the highest have none."""
    if length == model.order:
        return None
    link = model.links[length - 1] if which is None else model.links[length - 1][which]
    return np.where(link >= 0, np.append(model.tables[length - 1].backoffs, 0.0)[link], 0.0)


def _lines(texts: np.ndarray, log_probs: np.ndarray, weights: np.ndarray | None) -> Iterator[str]:
    logs = _base_ten(log_probs)
    ends = [""] * len(texts) if weights is None else [f"\t{w:.7g}" for w in _base_ten(weights)]
    for start in range(0, len(texts), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        lines = zip(logs[part], texts[part], ends[part], strict=True)
        yield "".join(f"{log:.7g}\t{text}{end}\n" for log, text, end in lines)


def _base_ten(logs: np.ndarray) -> list[float]:
    found: list[float] = np.maximum(logs.astype(np.float64) / NATS, IMPOSSIBLE).tolist()
    return found


def _escaped(token: str) -> str:
    """A token without white space, so that the fields of a line can be split again."""
    return "".join(f"<U+{ord(c):04X}>" if c in WHITE else c for c in token)


ESCAPED = re.compile("<U[+]([0-9A-F]{4})>")


def read_arpa(file: Iterable[str], path: str) -> tuple[BackoffModel, list[str]]:
    """The model of a file, and its tokens in the order of their ids, the special ones first.

    Text before \\data\\ is skipped, as other readers do. Without <unk>, tokens that the file does
    not name are impossible.
    """
    lines, vocabulary = _LineReader(file, path), _Vocabulary()
    counts = _header(lines)
    sections = []
    for length, count in enumerate(counts, start=1):
        if lines.text.strip() != f"\\{length}-grams:":
            raise lines.error("D082", f"expected \\{length}-grams:")
        id_of = vocabulary.add if length == 1 else vocabulary.id
        sections.append(_read_section(lines, length, count, id_of))
    if lines.text.strip() != "\\end\\":
        raise lines.error("D082", "expected \\end\\")
    return _assembled(sections, len(vocabulary.tokens), path), vocabulary.tokens


class _LineReader:
    """The lines of a file with their numbers, without blank ones; `text` is the current line."""

    def __init__(self, file: Iterable[str], path: str) -> None:
        self._lines, self._path = enumerate(file, start=1), path
        self.number, self.text = 0, ""

    def advance(self) -> str:
        """Go on to the next line."""
        for number, line in self._lines:
            self.number, self.text = number, line.rstrip("\r\n")
            if self.text.strip():
                return self.text
        raise self.error("D080", "the file ends after this line, before \\end\\: it was cut short")

    def error(self, code: str, problem: str) -> DataError:
        """An error at the current line."""
        place = Place(self._path, self.number, self.text)
        return DataError(code, problem, place=place, help=["write or copy the file again"])


class _Vocabulary:
    """The tokens of a file, numbered in the order in which they appear."""

    def __init__(self) -> None:
        self.tokens = ["<pad>", *NAMES.values()]
        self._ids = {name: number for number, name in NAMES.items()}

    def add(self, name: str) -> int:
        """The id of a token, which may be new."""
        if name not in self._ids:
            self._ids[name] = len(self.tokens)
            self.tokens.append(ESCAPED.sub(lambda found: chr(int(found[1], 16)), name))
        return self._ids[name]

    def id(self, name: str) -> int:
        """The id of a known token; KeyError for others."""
        return self._ids[name]


@dataclass(frozen=True)
class _Section:
    """The n-grams of one order."""

    tokens: Int[np.ndarray, "grams length"]
    log_probs: Float[np.ndarray, " grams"]
    weights: Float[np.ndarray, " grams"]
    lines: Int[np.ndarray, " grams"]  # the line of each in the file


def _header(lines: _LineReader) -> list[int]:
    """The number of n-grams of each order; reads up to the line after the header."""
    while lines.advance().strip() != "\\data\\":
        if lines.text.startswith("\\"):
            raise lines.error("D081", "no \\data\\ stands before this line: it is no ARPA file")
    counts: list[int] = []
    while (line := lines.advance().strip()).startswith("ngram"):
        length, _, count = line.removeprefix("ngram").partition("=")
        if length.strip() != str(len(counts) + 1) or not count.strip().isdecimal():
            raise lines.error("D081", f"expected ngram {len(counts) + 1}=COUNT")
        counts.append(int(count))
    if not counts:
        raise lines.error("D081", "expected ngram 1=COUNT")
    return counts


def _read_section(
    lines: _LineReader, length: int, count: int, id_of: Callable[[str], int]
) -> _Section:
    """The n-grams of one order; reads up to the line after them."""
    tokens, numbers, places = list[int](), list[tuple[float, float]](), list[int]()
    while not (line := lines.advance()).startswith("\\"):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not length + 1 <= len(fields) <= length + 2:
            raise lines.error("D084", f"expected a number, {length} tokens and at most one number")
        try:
            tokens += map(id_of, fields[1 : length + 1])
        except KeyError as error:
            raise lines.error("D083", f"{error.args[0]!r} is not among the 1-grams") from error
        numbers.append(_logarithms(lines, fields[0], *fields[length + 1 :]))
        places.append(lines.number)
    if len(places) != count:
        problem = f"the header says {count:,} n-grams of order {length}; there are {len(places):,}"
        raise lines.error("D082", f"{problem} above this line")
    logs = np.array(numbers, dtype=np.float64).reshape(-1, 2) * NATS
    grams = np.array(tokens, dtype=np.int64).reshape(-1, length)  # an empty section has none
    return _Section(grams, logs[:, 0], logs[:, 1], np.array(places, dtype=np.int64))


def _logarithms(lines: _LineReader, probability: str, weight: str = "0") -> tuple[float, float]:
    """Both logarithms of a line; -99 and less is minus infinity."""
    try:
        found = float(probability), float(weight)
    except ValueError as error:
        raise lines.error("D084", f"{probability!r} or {weight!r} is not a number") from error
    if not found[0] <= 0 or not found[1] < np.inf:
        raise lines.error("D084", "the logarithm of a probability cannot be above 0")
    low, high = (-np.inf if value <= IMPOSSIBLE else value for value in found)
    return low, high


def _assembled(sections: list[_Section], size: int, path: str) -> BackoffModel:
    """The sections as one model, order by order."""
    unigrams = np.full(size, -np.inf, dtype=np.float32)
    single = sections[0].tokens[:, 0]
    unigrams[single] = sections[0].log_probs
    unigrams[[PAD, BEGIN]] = -np.inf
    weights = np.zeros(size)
    weights[single] = sections[0].weights
    model = BackoffModel(unigrams, (), ())
    for section in sections[1:]:
        gram = _longest_grams(model, section.tokens[:, :-1])
        if (gram < 0).any():
            raise _missing_context(path, section, int(np.flatnonzero(gram < 0)[0]))
        # Other tools keep a weight where they pruned all n-grams that follow: such an n-gram is a
        # context, too, or backing off from it would cost nothing.
        is_context = weights != 0
        is_context[gram] = True
        link = np.where(is_context, np.cumsum(is_context) - 1, UNSEEN).astype(np.int32)
        codes = link[gram].astype(np.int64) * size + section.tokens[:, -1]
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        if (twice := np.flatnonzero(codes[1:] == codes[:-1])).size:
            raise _repeated(path, section, int(order[twice[0] + 1]))
        table = NGramTable(
            (codes % size).astype(np.int32),
            np.searchsorted(codes // size, np.arange(is_context.sum() + 1)),
            section.log_probs[order].astype(np.float32),
            weights[is_context].astype(np.float32),
        )
        model = BackoffModel(unigrams, (*model.tables, table), (*model.links, link))
        weights = section.weights[order]
    return model


def _longest_grams(
    model: BackoffModel, tokens: Int[np.ndarray, "n length"]
) -> Int[np.ndarray, " n"]:
    """The number of each row among the n-grams of the highest order so far."""
    gram = tokens[:, 0]
    for depth in range(1, tokens.shape[1]):
        context = np.where(gram >= 0, model.links[depth - 1][gram], UNSEEN).astype(np.int64)
        gram = model.find(depth, context, tokens[:, depth])
    return gram


def _missing_context(path: str, section: _Section, which: int) -> DataError:
    length = section.tokens.shape[1]
    return DataError(
        "D085",
        f"the first {length - 1} tokens of this n-gram are not among the {length - 1}-grams",
        place=Place(path, int(section.lines[which])),
        help=["write or copy the file again"],
    )


def _repeated(path: str, section: _Section, which: int) -> DataError:
    return DataError(
        "D085",
        "this n-gram is in the file twice",
        place=Place(path, int(section.lines[which])),
        help=["write or copy the file again"],
    )
