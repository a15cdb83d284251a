"""Vectors of words from a text file, as word2vec and GloVe write them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ...errors import DataError, Place
from .reading import open_lines

Row = Float[np.ndarray, " width"]


def read_vectors(path: Path, symbols: Sequence[str], width: int) -> dict[int, Row]:
    """The vectors of those symbols that the file has, by their numbers.

    A line is a symbol and its numbers, parted by spaces; a first line of two numbers, how many and
    how wide, may stand before them. The file may be larger than memory.
    """
    wanted = {symbol: number for number, symbol in enumerate(symbols)}
    found: dict[int, Row] = {}
    for line, text in enumerate(open_lines(path), start=1):
        if line == 1 and _is_header(text):
            continue
        symbol, *numbers = text.rstrip("\n ").rsplit(" ", width)
        if len(numbers) != width or " " in symbol.strip():
            raise _wrong_width(path, line, len(text.split()) - 1, width)
        place = wanted.get(symbol)
        if place is None or place in found:
            continue
        try:
            found[place] = np.array(numbers, dtype=np.float32)
        except ValueError:
            raise DataError(
                "D051",
                f"the vector of {symbol!r} is not made of numbers",
                place=Place(str(path), line),
            ) from None
    if not found:
        raise DataError(
            "D051",
            f'"{path.name}" has none of the symbols of the training data',
            place=Place(str(path)),
            help=["the vectors must be of the same kind of symbols, in the same spelling"],
        )
    return found


def _is_header(text: str) -> bool:
    parts = text.split()
    return len(parts) == 2 and all(part.isdigit() for part in parts)


def _wrong_width(path: Path, line: int, numbers: int, width: int) -> DataError:
    return DataError(
        "D051",
        f"a vector has {numbers} numbers, but symbols are {width} wide here",
        place=Place(str(path), line),
        help=[f"--set model.width={numbers}"] if numbers > 1 else ["a symbol and its numbers"],
    )
