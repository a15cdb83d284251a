"""ARPA files: back-off models as text, as the SRI toolkit and KenLM write and read them.

    \\data\\
    ngram 1=4                    how many grams of each length there are
    ngram 2=3

    \\1-grams:
    -0.6021  the  -0.3010        log10 of the probability, the gram, log10 of its back-off weight
    ...
    \\end\\

-99 stands for what cannot be.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from ..errors import ModelError
from ..forms import BEGIN, END, PAD, UNKNOWN
from .backoff import BackOff

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
