"""Views of output distributions: next-token probabilities, surprisal, and label probabilities."""

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..data.text.vocabulary import SPECIAL_TOKENS
from ..decoding.sampling import truncated_distribution
from ..errors import UsageError
from ..inference.score import score_of
from ..model import Generator, Search
from ..signature import BEGIN, END, Bits, Form, Labels, Tokens
from ..views import LabelProbabilitiesView, NextTokenView, SurprisalView
from ..views.next_token import SamplingDistribution
from .base import ViewKind
from .context import InspectedModel, Inspection
from .options import LAST, InspectionOptions

NATS_PER_BIT = np.log(2)


def generates_tokens(subject: InspectedModel) -> bool:
    """Whether it generates one token after another."""
    has_form = subject.form in (Form.NEXT, Form.TRANSDUCE)
    return has_form and isinstance(subject.target, Tokens) and isinstance(subject.model, Generator)


def output_names(inspection: Inspection, count: int) -> list[str]:
    """Names of all output tokens; those beyond the vocabulary are copied from this input."""
    target = inspection.subject.target
    known = target.size if isinstance(target, Tokens | Labels) else 0
    names = [inspection.subject.output_name(number) for number in range(min(known, count))]
    if count > known:
        unknown = dict.fromkeys(
            name
            for name, token in zip(inspection.source, inspection.inputs.tolist(), strict=False)
            if token >= known
        )
        names += [*unknown, *["<unk>"] * count][: count - known]
    return names


def _next(inspection: Inspection) -> NextTokenView:
    """The distribution at one position: of an output, by default the least certain one."""
    log_probs, options = inspection.next_log_probs, inspection.options
    probs = np.exp(log_probs)
    if inspection.subject.is_language_model:
        at = position(options.at, inspection.source, "the text")
        inputs = inspection.inputs
        actual = int(inputs[at + 1]) if at + 1 < len(inputs) else None
        context, source, notes, row = inspection.source, None, [], at
    else:
        output = inspection.batch.target.values[0]
        row = position(options.at, inspection.target, "the output")
        if options.at == LAST:
            row = int(probs[np.arange(len(output)), output].argmin())
        actual, source = int(output[row]), inspection.source
        context, at = [SPECIAL_TOKENS[BEGIN], *inspection.target], row
        notes = [f"the position of token {row + 1} of the output"]
        notes += ["the least certain of all positions"] * (options.at == LAST)
    sampling = sampling_distribution(log_probs[row], options)
    names = output_names(inspection, len(probs[row]))
    return NextTokenView(
        context,
        at,
        names,
        probs[row],
        sampling,
        inspection.name,
        actual=actual,
        source=source,
        notes=notes,
    )


def sampling_distribution(
    log_probs: Float[np.ndarray, " tokens"], options: InspectionOptions
) -> SamplingDistribution:
    """The probability with which each token is sampled; 0 where it is truncated."""
    sampling = options.sampling()
    kept, probs = truncated_distribution(log_probs, sampling)
    after = np.zeros(len(log_probs))
    after[kept] = probs
    return SamplingDistribution(
        after, sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p
    )


def position(at: int, names: list[str], where: str) -> int:
    """A position by its number; the last where none is requested."""
    if at == LAST:
        return len(names) - 1
    if at < len(names):
        return at
    raise UsageError(
        "U351",
        f"at {at}: {where} has {len(names)} positions, the first being 0",
        help=[f"at {len(names) - 1}   is the last of them"],
    )


def _surprisal(inspection: Inspection) -> SurprisalView:
    """The surprisal of each token of a text, as `score` has it, and its rank."""
    log_probs = inspection.next_log_probs
    scored = score_of(inspection.model, inspection.task, inspection.question)
    tokens = [*inspection.inputs[1:].tolist(), END][: len(scored.log_probs)]
    ranks = [
        int((row > row[token]).sum()) + 1 for row, token in zip(log_probs, tokens, strict=False)
    ]
    with np.errstate(divide="ignore"):
        bits = [np.nan, *(-scored.log_probs / NATS_PER_BIT)]
    names = [*inspection.source[:1], *scored.tokens]
    notes = [f"not in the training data: {', '.join(scored.unknown)}"] if scored.unknown else []
    return SurprisalView(names, bits, [0, *ranks], inspection.name, notes)


def _label_probabilities(inspection: Inspection) -> LabelProbabilitiesView:
    subject = inspection.subject
    source = Sequences.pad([inspection.inputs])
    with inspection.model.inference_mode():
        prediction = inspection.model.predict(source, Search(probabilities=True))
    probs = np.asarray(prediction.probabilities, dtype=np.float64)[0, 0]
    labels = [subject.output_name(number) for number in range(len(probs))]
    several = isinstance(subject.target, Bits)
    return LabelProbabilitiesView(
        inspection.source, labels, probs, inspection.name, several=several
    )


NEXT = ViewKind(
    "next",
    "Next token",
    "The most probable next tokens, and what temperature, top-k, top-p and min-p cut off.",
    generates_tokens,
    _next,
    ("at", "temperature", "top_k", "top_p", "min_p", "beam", "limit"),
)
SURPRISE = ViewKind(
    "surprise",
    "Surprisal",
    "The surprisal of each token in bits, and its rank among all tokens.",
    lambda subject: subject.is_language_model,
    _surprisal,
)
CHOICES = ViewKind(
    "choices",
    "Label probabilities",
    "The probability of every label of the whole input.",
    lambda subject: subject.form is Form.WHOLE and isinstance(subject.target, Labels | Bits),
    _label_probabilities,
)
