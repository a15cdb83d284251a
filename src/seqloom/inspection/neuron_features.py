"""What can be said of the symbols of a text, place by place: what a cell may follow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_OPEN, _SHUT = "([{", ")]}"
_ENDS = {".", "!", "?", "…"}
_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœαεηιουωаеёиоуыэюя")
_BORDERS = ("<s>", "</s>", "<pad>", "<unk>")


@dataclass(frozen=True, eq=False)
class Feature:
    """Something that holds at some places, or a number at each; `words` completes a sentence.

    Of a number, `ends` say where it is small and where it is large.
    """

    words: str
    values: Float[np.ndarray, " time"]
    is_number: bool = False
    ends: tuple[str, str] = ("at first", "later")


def features(symbols: Sequence[str], labels: Sequence[str] = ()) -> list[Feature]:
    """All that differs within the text: marks, kinds of symbols, positions, labels."""
    plain = ["" if symbol in _BORDERS else symbol for symbol in symbols]
    is_letters = all(len(symbol) <= 1 for symbol in plain)
    found = [
        Feature("inside quotation marks", _quoted(plain)),
        Feature("inside brackets", _bracketed(plain)),
        Feature("on a capital" if is_letters else "on words with a capital", _holds(plain, _large)),
        Feature("on digits" if is_letters else "on numbers", _holds(plain, _counts)),
        Feature("on punctuation", _holds(plain, _points)),
        Feature("on line breaks", _holds(plain, lambda symbol: "\n" in symbol)),
        Feature("position in the sentence", _since(plain, _ends_sentence), is_number=True),
    ]
    if is_letters:
        found += [
            Feature("on spaces", _holds(plain, str.isspace)),
            Feature("at the beginning of words", _begins(plain)),
            Feature("on vowels", _holds(plain, lambda s: s.lower() in _VOWELS and s != "")),
            Feature("position in the word", _since(plain, str.isspace), is_number=True),
        ]
    if any("\n" in symbol for symbol in plain):
        found.append(Feature("position in the line", _since(plain, _breaks), is_number=True))
    for label in dict.fromkeys(labels):
        found.append(Feature(f"on {label}", np.array([float(one == label) for one in labels])))
    return [one for one in found if len(np.unique(one.values)) > 1]


def features_of_series(numbers: Float[np.ndarray, " time"]) -> list[Feature]:
    """All that differs along a series: how large its numbers are, whether they rise, gaps."""
    known = np.isfinite(numbers)
    if not known.any():
        return []
    filled = np.where(known, numbers, np.median(numbers[known]))
    change = np.diff(filled, prepend=filled[:1])
    found = [
        Feature("number that is read", filled, is_number=True, ends=("where low", "where high")),
        Feature("where the numbers rise", (change > 0).astype(np.float64)),
        Feature("where a number is missing", (~known).astype(np.float64)),
        Feature("position in the past", np.arange(len(numbers), dtype=np.float64), is_number=True),
    ]
    return [one for one in found if len(np.unique(one.values)) > 1]


def _holds(symbols: Sequence[str], test: object) -> Float[np.ndarray, " time"]:
    return np.array([float(bool(s) and bool(test(s))) for s in symbols])  # type: ignore[operator]


def _large(symbol: str) -> bool:
    return symbol[:1].isupper()


def _counts(symbol: str) -> bool:
    return any(character.isdigit() for character in symbol)


def _points(symbol: str) -> bool:
    return not any(character.isalnum() or character.isspace() for character in symbol)


def _breaks(symbol: str) -> bool:
    return "\n" in symbol


def _ends_sentence(symbol: str) -> bool:
    return symbol in _ENDS


def _quoted(symbols: Sequence[str]) -> Float[np.ndarray, " time"]:
    """From an opening mark up to the one that closes it, the first being inside."""
    inside, found = False, []
    for symbol in symbols:
        marks = sum(symbol.count(mark) for mark in '"“”«»')
        found.append(float(inside or marks == 1))
        inside ^= marks % 2 == 1
        found[-1] = float(inside) if marks else found[-1]
    return np.array(found)


def _bracketed(symbols: Sequence[str]) -> Float[np.ndarray, " time"]:
    depth, found = 0, []
    for symbol in symbols:
        depth += sum(character in _OPEN for character in symbol)
        depth = max(0, depth - sum(character in _SHUT for character in symbol))
        found.append(float(depth > 0))
    return np.array(found)


def _begins(symbols: Sequence[str]) -> Float[np.ndarray, " time"]:
    before = ["", *symbols[:-1]]
    pairs = zip(before, symbols, strict=True)
    return np.array([float(now.isalnum() and not last.isalnum()) for last, now in pairs])


def _since(symbols: Sequence[str], test: object) -> Float[np.ndarray, " time"]:
    """How many symbols ago it held last, or the text began."""
    count, found = 0, []
    for symbol in symbols:
        count = 0 if symbol and test(symbol) else count + 1  # type: ignore[operator]
        found.append(float(count))
    return np.array(found)
