"""What comes next, how much a text surprises, and which labels are likely."""

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..data.text.vocabulary import SPECIAL
from ..decoding.sampling import kept
from ..errors import UsageError
from ..inference.score import score_of
from ..model import Generator, Search
from ..signature import BEGIN, END, Bits, Form, Labels, Tokens
from ..views import ChoicesView, NextView, SurpriseView
from ..views.next_token import Drawn
from .base import Kind
from .context import Looking, Subject
from .options import LAST, Inspecting

BITS = np.log(2)
Chances = Float[np.ndarray, "time symbols"]


def writes_symbols(subject: Subject) -> bool:
    """Whether it writes one symbol after another."""
    is_writing = subject.form in (Form.NEXT, Form.TRANSDUCE)
    return (
        is_writing and isinstance(subject.target, Tokens) and isinstance(subject.model, Generator)
    )


def names_of(looking: Looking, count: int) -> list[str]:
    """What all symbols are called, those beyond the vocabulary being of this question."""
    target = looking.subject.target
    known = target.size if isinstance(target, Tokens | Labels) else 0
    names = [looking.subject.label(number) for number in range(min(known, count))]
    if count > known:
        unknown = dict.fromkeys(
            symbol
            for symbol, number in zip(looking.source, looking.read.tolist(), strict=False)
            if number >= known
        )
        names += [*unknown, *["<unk>"] * count][: count - known]
    return names


def _next(looking: Looking) -> NextView:
    """The symbols at one place; where a model writes, the place that it was least sure of."""
    log_probs, options = looking.after, looking.options
    chances = np.exp(log_probs)
    if looking.subject.is_next:
        at = place(options.at, looking.source, "the text")
        came = int(looking.read[at + 1]) if at + 1 < len(looking.read) else None
        rail, source, notes, here = looking.source, None, [], at
    else:
        written = looking.batch.target.values[0]
        here = place(options.at, looking.target, "the answer")
        if options.at == LAST:
            here = int(chances[np.arange(len(written)), written].argmin())
        came, source = int(written[here]), looking.source
        rail, at = [SPECIAL[BEGIN], *looking.target], here
        notes = [f"the place at which it writes symbol {here + 1} of its answer"]
        notes += ["of all places the one it was least sure of"] * (options.at == LAST)
    drawn = drawn_with(log_probs[here], options)
    names = names_of(looking, len(chances[here]))
    return NextView(
        rail, at, names, chances[here], drawn, looking.name, came=came, source=source, notes=notes
    )


def drawn_with(log_probs: Float[np.ndarray, " symbols"], options: Inspecting) -> Drawn:
    """The chance with which each symbol is drawn; 0 where it is cut off."""
    sampling = options.sampling()
    found, shares = kept(log_probs, sampling)
    after = np.zeros(len(log_probs))
    after[found] = shares
    return Drawn(after, sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p)


def place(at: int, names: list[str], where: str) -> int:
    """A place by its number, the last where none is asked for."""
    if at == LAST:
        return len(names) - 1
    if at < len(names):
        return at
    raise UsageError(
        "U351",
        f"at {at}: {where} has {len(names)} places, the first being 0",
        help=[f"at {len(names) - 1}   is the last of them"],
    )


def _surprise(looking: Looking) -> SurpriseView:
    """Each symbol of a text as `score` has it, and how many symbols were likelier."""
    log_probs, found = looking.after, score_of(looking.model, looking.task, looking.question)
    numbers = [*looking.read[1:].tolist(), END][: len(found.log_probs)]
    ranks = [
        int((row > row[number]).sum()) + 1 for row, number in zip(log_probs, numbers, strict=False)
    ]
    with np.errstate(divide="ignore"):
        bits = [np.nan, *(-found.log_probs / BITS)]
    symbols = [*looking.source[:1], *found.symbols]
    notes = [f"never seen in training: {', '.join(found.unknown)}"] if found.unknown else []
    return SurpriseView(symbols, bits, [0, *ranks], looking.name, notes)


def _choices(looking: Looking) -> ChoicesView:
    subject = looking.subject
    source = Sequences.pad([looking.read])
    with looking.model.at_rest():
        found = looking.model.predict(source, Search(chances=True)).chances
    chances = np.asarray(found, dtype=np.float64)[0, 0]
    labels = [subject.label(number) for number in range(len(chances))]
    several = isinstance(subject.target, Bits)
    return ChoicesView(looking.source, labels, chances, looking.name, several=several)


NEXT = Kind(
    "next",
    "What comes next",
    "The likeliest symbols after a place, and what temperature, top-k and top-p cut off.",
    writes_symbols,
    _next,
    ("at", "temperature", "top_k", "top_p", "min_p", "beam"),
)
SURPRISE = Kind(
    "surprise",
    "Surprise",
    "How many bits each symbol surprises by, and how many symbols were likelier.",
    lambda subject: subject.is_next,
    _surprise,
)
CHOICES = Kind(
    "choices",
    "Labels of the whole",
    "How likely every label of the whole is.",
    lambda subject: subject.form is Form.WHOLE and isinstance(subject.target, Labels | Bits),
    _choices,
)
