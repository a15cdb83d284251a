"""ARPA files: back-off models as text, as the SRI toolkit and KenLM write and read them.

    \\data\\
    ngram 1=4                    how many grams of each length there are
    ngram 2=3

    \\1-grams:
    -0.6021  the  -0.3010        log10 of the probability, the gram, log10 of its back-off weight
    ...
    \\end\\

-99 stands for what cannot be.

Read an ARPA file: every line is looked at, and what is wrong is told with its line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...errors import DataError, ModelError, Place
from ...signature import BEGIN, END, PAD, UNKNOWN
from .backoff import UNSEEN, BackOff, Table

NAMES = {BEGIN: "<s>", END: "</s>", UNKNOWN: "<unk>"}
IMPOSSIBLE = -99.0
NATS = np.log(10)
LINES_AT_ONCE = 100_000
WHITE = " \t\n\r\v\f\0\x1c\x1d\x1e\x85\u2028\u2029"  # what some reader takes for an end


def arpa_of(model: BackOff, symbols: Sequence[str]) -> Iterator[str]:
    """The file of a model, in pieces; white space in a symbol is written by number: <U+0020>."""
    if model.is_flat and model.order > 1:
        raise ModelError(
            "M151",
            "a model smoothed by add-k has no ARPA form",
            notes=["What it has not seen is even, and not left to shorter contexts."],
            help=["train with another model.smoothing, or with model.order=1"],
        )
    names = np.array([NAMES.get(n, _plain(s)) for n, s in enumerate(symbols)], dtype=object)
    counts = [model.size - 1, *(len(table.words) for table in model.tables)]
    yield "\\data\\\n"
    yield from (f"ngram {n}={count}\n" for n, count in enumerate(counts, start=1))
    every = np.delete(np.arange(model.size), PAD)
    # The context of each gram as text, by the number of the context it becomes.
    texts = names
    yield "\n\\1-grams:\n"
    yield from _grams(names[every], model.first[every], _weights(model, 1, every))
    for length, table in enumerate(model.tables, start=2):
        link = model.links[length - 2]
        context = np.empty(len(table.back_offs), dtype=object)
        context[link[link >= 0]] = texts[link >= 0]
        texts = context[table.contexts] + " " + names[table.words]
        yield f"\n\\{length}-grams:\n"
        yield from _grams(texts, table.log_probs, _weights(model, length, None))
    yield "\n\\end\\\n"


def _weights(
    model: BackOff, length: int, which: Int[np.ndarray, " _"] | None
) -> Float[np.ndarray, " _"] | None:
    """The back-off weights of the grams of one length; the longest have none."""
    if length == model.order:
        return None
    link = model.links[length - 1] if which is None else model.links[length - 1][which]
    return np.where(link >= 0, np.append(model.tables[length - 1].back_offs, 0.0)[link], 0.0)


def _grams(texts: np.ndarray, log_probs: np.ndarray, weights: np.ndarray | None) -> Iterator[str]:
    chances = _base_ten(log_probs)
    ends = [""] * len(texts) if weights is None else [f"\t{w:.7g}" for w in _base_ten(weights)]
    for start in range(0, len(texts), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        lines = zip(chances[part], texts[part], ends[part], strict=True)
        yield "".join(f"{chance:.7g}\t{text}{end}\n" for chance, text, end in lines)


def _base_ten(logs: np.ndarray) -> list[float]:
    found: list[float] = np.maximum(logs.astype(np.float64) / NATS, IMPOSSIBLE).tolist()
    return found


def _plain(symbol: str) -> str:
    """A symbol without white space, so that a line can be taken apart again."""
    return "".join(f"<U+{ord(c):04X}>" if c in WHITE else c for c in symbol)


WRITTEN = re.compile("<U[+]([0-9A-F]{4})>")


def read_arpa(file: Iterable[str], path: str) -> tuple[BackOff, list[str]]:
    """The model of a file, and its symbols in the order of their numbers, the special ones first.

    What stands before \\data\\ is passed over, as others do. Without <unk>, symbols that the file
    does not name are impossible.
    """
    lines, book = _Lines(file, path), _Symbols()
    counts = _header(lines)
    sections = []
    for length, count in enumerate(counts, start=1):
        if lines.text.strip() != f"\\{length}-grams:":
            raise lines.wrong("D082", f"expected \\{length}-grams:")
        sections.append(_read_grams(lines, length, count, book.add if length == 1 else book.number))
    if lines.text.strip() != "\\end\\":
        raise lines.wrong("D082", "expected \\end\\")
    return _assembled(sections, len(book.symbols), path), book.symbols


class _Lines:
    """The lines of a file with their numbers; `text` is the one read last, blank ones aside."""

    def __init__(self, file: Iterable[str], path: str) -> None:
        self._lines, self._path = enumerate(file, start=1), path
        self.number, self.text = 0, ""

    def advance(self) -> str:
        """Read on to the next line."""
        for number, line in self._lines:
            self.number, self.text = number, line.rstrip("\r\n")
            if self.text.strip():
                return self.text
        raise self.wrong("D080", "the file ends after this line, before \\end\\: it was cut short")

    def wrong(self, code: str, problem: str) -> DataError:
        """What is wrong with the line that was read last."""
        place = Place(self._path, self.number, self.text)
        return DataError(code, problem, place=place, help=["write or copy the file again"])


class _Symbols:
    """The symbols of a file, numbered as they come."""

    def __init__(self) -> None:
        self.symbols = ["<pad>", *NAMES.values()]
        self._numbers = {name: number for number, name in NAMES.items()}

    def add(self, name: str) -> int:
        """The number of a symbol, which may be new."""
        if name not in self._numbers:
            self._numbers[name] = len(self.symbols)
            self.symbols.append(WRITTEN.sub(lambda found: chr(int(found[1], 16)), name))
        return self._numbers[name]

    def number(self, name: str) -> int:
        """The number of a symbol that must be there; KeyError where it is not."""
        return self._numbers[name]


@dataclass(frozen=True)
class _Grams:
    """The lines of one length."""

    words: Int[np.ndarray, "grams length"]
    log_probs: Float[np.ndarray, " grams"]
    weights: Float[np.ndarray, " grams"]
    lines: Int[np.ndarray, " grams"]  # where each stands in the file


def _header(lines: _Lines) -> list[int]:
    """How many grams of each length the file says it has; the line after that is read already."""
    while lines.advance().strip() != "\\data\\":
        if lines.text.startswith("\\"):
            raise lines.wrong("D081", "no \\data\\ stands before this line: it is no ARPA file")
    counts: list[int] = []
    while (line := lines.advance().strip()).startswith("ngram"):
        length, _, count = line.removeprefix("ngram").partition("=")
        if length.strip() != str(len(counts) + 1) or not count.strip().isdecimal():
            raise lines.wrong("D081", f"expected ngram {len(counts) + 1}=COUNT")
        counts.append(int(count))
    if not counts:
        raise lines.wrong("D081", "expected ngram 1=COUNT")
    return counts


def _read_grams(lines: _Lines, length: int, count: int, number_of: Callable[[str], int]) -> _Grams:
    """The lines of one length; the line after them is read already."""
    words, numbers, places = list[int](), list[tuple[float, float]](), list[int]()
    while not (line := lines.advance()).startswith("\\"):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not length + 1 <= len(fields) <= length + 2:
            raise lines.wrong("D084", f"expected a number, {length} symbols and at most one number")
        try:
            words += map(number_of, fields[1 : length + 1])
        except KeyError as error:
            raise lines.wrong("D083", f"{error.args[0]!r} is not among the 1-grams") from error
        numbers.append(_logarithms(lines, fields[0], *fields[length + 1 :]))
        places.append(lines.number)
    if len(places) != count:
        told = f"the header says {count:,} grams of length {length}; there are {len(places):,}"
        raise lines.wrong("D082", f"{told} above this line")
    logs = np.array(numbers, dtype=np.float64).reshape(-1, 2) * NATS
    return _Grams(np.array(words).reshape(-1, length), logs[:, 0], logs[:, 1], np.array(places))


def _logarithms(lines: _Lines, chance: str, weight: str = "0") -> tuple[float, float]:
    """Both numbers of a line; -99 and less is minus infinity."""
    try:
        found = float(chance), float(weight)
    except ValueError as error:
        raise lines.wrong("D084", f"{chance!r} or {weight!r} is not a number") from error
    if not found[0] <= 0 or not found[1] < np.inf:
        raise lines.wrong("D084", "a logarithm of a probability is not above 0")
    low, high = (-np.inf if value <= IMPOSSIBLE else value for value in found)
    return low, high


def _assembled(sections: list[_Grams], size: int, path: str) -> BackOff:
    """The sections as one model, length by length."""
    first = np.full(size, -np.inf, dtype=np.float32)
    single = sections[0].words[:, 0]
    first[single] = sections[0].log_probs
    first[[PAD, BEGIN]] = -np.inf
    weights = np.zeros(size)
    weights[single] = sections[0].weights
    model = BackOff(first, (), ())
    for section in sections[1:]:
        gram = _contexts(model, section.words[:, :-1])
        if (gram < 0).any():
            raise _lacking(path, section, int(np.flatnonzero(gram < 0)[0]))
        is_context = weights != 0
        is_context[gram] = True
        link = np.where(is_context, np.cumsum(is_context) - 1, UNSEEN).astype(np.int32)
        codes = link[gram].astype(np.int64) * size + section.words[:, -1]
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        if (twice := np.flatnonzero(codes[1:] == codes[:-1])).size:
            raise _repeated(path, section, int(order[twice[0] + 1]))
        table = Table(
            (codes % size).astype(np.int32),
            np.searchsorted(codes // size, np.arange(is_context.sum() + 1)),
            section.log_probs[order].astype(np.float32),
            weights[is_context].astype(np.float32),
        )
        model = BackOff(first, (*model.tables, table), (*model.links, link))
        weights = section.weights[order]
    return model


def _contexts(model: BackOff, words: Int[np.ndarray, "n length"]) -> Int[np.ndarray, " n"]:
    """Which gram of the longest length so far each row is."""
    gram = words[:, 0]
    for depth in range(1, words.shape[1]):
        context = np.where(gram >= 0, model.links[depth - 1][gram], UNSEEN).astype(np.int64)
        gram = model.find(depth, context, words[:, depth])
    return gram


def _lacking(path: str, section: _Grams, which: int) -> DataError:
    length = section.words.shape[1]
    return DataError(
        "D085",
        f"the first {length - 1} symbols of this gram are not among the {length - 1}-grams",
        place=Place(path, int(section.lines[which])),
        help=["write or copy the file again"],
    )


def _repeated(path: str, section: _Grams, which: int) -> DataError:
    return DataError(
        "D085",
        "this gram stands in the file twice",
        place=Place(path, int(section.lines[which])),
        help=["write or copy the file again"],
    )
