"""Pretrained word embeddings from text files, as word2vec, GloVe and fastText write them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ...errors import DataError, Place
from .reading import iterate_lines

Embedding = Float[np.ndarray, " width"]


def read_embeddings(path: Path, tokens: Sequence[str], size: int) -> dict[int, Embedding]:
    """The embeddings of the tokens that are in a file, by token id.

    A line has a token and its vector, separated by spaces. A header with the number of tokens and
    the embedding size may come first. The file may be larger than memory.
    """
    ids = {token: i for i, token in enumerate(tokens)}
    found: dict[int, Embedding] = {}
    for line, text in enumerate(iterate_lines(path), start=1):
        if line == 1 and _is_header(text):
            continue
        # From the right: the token may itself be a space, if tokens are characters.
        token, *numbers = text.rstrip("\n ").rsplit(" ", size)
        if len(numbers) != size or " " in token.strip():
            raise _wrong_size(path, line, len(text.split()) - 1, size)
        i = ids.get(token)
        if i is None or i in found:
            continue
        try:
            found[i] = np.array(numbers, dtype=np.float32)
        except ValueError:
            raise DataError(
                "D051",
                f"the embedding of {token!r} has a value that is not a number",
                place=Place(str(path), line),
            ) from None
    if not found:
        raise DataError(
            "D051",
            f'"{path.name}" has none of the tokens of the training data',
            place=Place(str(path)),
            help=["its tokens must be of the same kind as task.tokens, in the same spelling"],
        )
    return found


def _is_header(text: str) -> bool:
    parts = text.split()
    return len(parts) == 2 and all(part.isdigit() for part in parts)


def _wrong_size(path: Path, line: int, found: int, size: int) -> DataError:
    return DataError(
        "D051",
        f"an embedding has {found} components, but embedding_size is {size}",
        place=Place(str(path), line),
        help=[f"--set model.embedding_size={found}"]
        if found > 1
        else ["each line is a token and its vector, separated by spaces"],
    )
