"""Features of tokens and of time series by position, which a cell may follow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_OPENING, _CLOSING = "([{", ")]}"
_ENDS = {".", "!", "?", "…"}
_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœαεηιουωаеёиоуыэюя")
_BORDERS = ("<s>", "</s>", "<pad>", "<unk>")


@dataclass(frozen=True, eq=False)
class Feature:
    """A binary feature, or a number, at each position; `words` completes a sentence on a cell.

    For a number, `ends` say where it is small and where it is large.
    """

    words: str
    values: Float[np.ndarray, " time"]
    is_number: bool = False
    ends: tuple[str, str] = ("at first", "later")


def token_features(tokens: Sequence[str], labels: Sequence[str] = ()) -> list[Feature]:
    """All features that vary within the text: quotes, token classes, positions, labels."""
    plain = ["" if token in _BORDERS else token for token in tokens]
    is_letters = all(len(token) <= 1 for token in plain)
    features = [
        Feature("inside quotation marks", _quoted(plain)),
        Feature("inside brackets", _bracketed(plain)),
        Feature(
            "on a capital" if is_letters else "on words with a capital",
            _holds(plain, _is_capitalised),
        ),
        Feature("on digits" if is_letters else "on numbers", _holds(plain, _has_digit)),
        Feature("on punctuation", _holds(plain, _is_punctuation)),
        Feature("on line breaks", _holds(plain, lambda token: "\n" in token)),
        Feature("position in the sentence", _since(plain, _ends_sentence), is_number=True),
    ]
    if is_letters:
        features += [
            Feature("on spaces", _holds(plain, str.isspace)),
            Feature("at the beginning of words", _begins(plain)),
            Feature("on vowels", _holds(plain, lambda s: s.lower() in _VOWELS and s != "")),
            Feature("position in the word", _since(plain, str.isspace), is_number=True),
        ]
    if any("\n" in token for token in plain):
        features.append(
            Feature("position in the line", _since(plain, _is_line_break), is_number=True)
        )
    for label in dict.fromkeys(labels):
        features.append(Feature(f"on {label}", np.array([float(one == label) for one in labels])))
    return [one for one in features if len(np.unique(one.values)) > 1]


def series_features(values: Float[np.ndarray, " time"]) -> list[Feature]:
    """All features that vary along a series: value, rise, missing values, position."""
    known = np.isfinite(values)
    if not known.any():
        return []
    filled = np.where(known, values, np.median(values[known]))
    change = np.diff(filled, prepend=filled[:1])
    features = [
        Feature("value that is read", filled, is_number=True, ends=("where low", "where high")),
        Feature("where the values rise", (change > 0).astype(np.float64)),
        Feature("where a value is missing", (~known).astype(np.float64)),
        Feature("position in the past", np.arange(len(values), dtype=np.float64), is_number=True),
    ]
    return [one for one in features if len(np.unique(one.values)) > 1]


def _holds(tokens: Sequence[str], test: object) -> Float[np.ndarray, " time"]:
    return np.array([float(bool(s) and bool(test(s))) for s in tokens])  # type: ignore[operator]


def _is_capitalised(token: str) -> bool:
    return token[:1].isupper()


def _has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _is_punctuation(token: str) -> bool:
    return not any(character.isalnum() or character.isspace() for character in token)


def _is_line_break(token: str) -> bool:
    return "\n" in token


def _ends_sentence(token: str) -> bool:
    return token in _ENDS


def _quoted(tokens: Sequence[str]) -> Float[np.ndarray, " time"]:
    """From an opening mark, included, up to the one that closes it."""
    inside, values = False, []
    for token in tokens:
        marks = sum(token.count(mark) for mark in '"“”«»')
        values.append(float(inside or marks == 1))
        inside ^= marks % 2 == 1
        values[-1] = float(inside) if marks else values[-1]
    return np.array(values)


def _bracketed(tokens: Sequence[str]) -> Float[np.ndarray, " time"]:
    depth, values = 0, []
    for token in tokens:
        depth += sum(character in _OPENING for character in token)
        depth = max(0, depth - sum(character in _CLOSING for character in token))
        values.append(float(depth > 0))
    return np.array(values)


def _begins(tokens: Sequence[str]) -> Float[np.ndarray, " time"]:
    before = ["", *tokens[:-1]]
    pairs = zip(before, tokens, strict=True)
    return np.array([float(now.isalnum() and not last.isalnum()) for last, now in pairs])


def _since(tokens: Sequence[str], test: object) -> Float[np.ndarray, " time"]:
    """The number of tokens since the test held last, or since the beginning."""
    count, values = 0, []
    for token in tokens:
        count = 0 if token and test(token) else count + 1  # type: ignore[operator]
        values.append(float(count))
    return np.array(values)
