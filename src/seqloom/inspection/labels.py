"""Views of label posteriors by position, and of the hidden states of an HMM as a trellis."""

from typing import Any

import numpy as np

from ..batch import Sequences
from ..inference.forecast import ForecastTask, select_series
from ..model import HiddenStates, Search, StatePosterior
from ..signature import Form, Labels, Series
from ..views import TagsView, TrellisView
from ..views.tags import TaggedToken
from .base import ViewKind
from .context import InspectedModel, Inspection

MIN_PROBABILITY, ALTERNATIVES, EMISSIONS = 0.0005, 5, 5  # what is listed of labels and states


def _tags(inspection: Inspection) -> TagsView:
    subject = inspection.subject
    with inspection.model.inference_mode():
        prediction = inspection.model.predict(
            Sequences.pad([inspection.inputs]), Search(probabilities=True)
        )
    probs = np.asarray(prediction.probabilities, dtype=np.float64)[0]
    numbers = [int(number) for number in prediction.target.rows()[0]]
    labels = [subject.output_name(number) for number in range(probs.shape[1])]
    answer = inspection.task.decode_for(inspection.question, numbers)
    shown = inspection.task.show_tokens(inspection.question, answer)[1]
    tags = []
    for position, number in enumerate(numbers):
        order = np.argsort(-probs[position], kind="stable").tolist()
        others = [n for n in order if n != number][:ALTERNATIVES]
        alternatives = [(labels[n], float(probs[position, n])) for n in others]
        alternatives = [(label, p) for label, p in alternatives if p >= MIN_PROBABILITY]
        probability = float(probs[position, number])
        tags.append(TaggedToken(shown[position], probability, tuple(alternatives)))
    spans = _spans(inspection, answer)
    return TagsView(inspection.source, tags, labels, spans, inspection.name)


def _spans(inspection: Inspection, answer: Any) -> list[tuple[str, int, int]]:
    """The entities that the labels mark, by their positions."""
    decisions = inspection.task.label_decisions(
        inspection.task.with_target(inspection.question, answer), answer
    )
    return [] if decisions is None else sorted(decisions.guessed, key=lambda one: one[1:])


def _trellis(inspection: Inspection) -> TrellisView:
    subject = inspection.subject
    tokens, inputs, notes = _observations(inspection)
    posterior = _posterior(inspection, inputs)
    is_label = isinstance(subject.target, Labels) and subject.form is Form.EACH
    count = posterior.filtered.shape[1]
    names = [subject.output_name(n) if is_label else str(n + 1) for n in range(count)]
    if subject.form is Form.WHOLE:
        notes = [*notes, "the states of the most probable label"]
    return TrellisView(
        tokens,
        names,
        posterior.filtered,
        posterior.smoothed,
        posterior.path.tolist(),
        inspection.name,
        transitions=posterior.transitions,
        emissions=_emissions(subject, posterior),
        offset=int(subject.is_language_model),
        notes=notes,
    )


def _posterior(inspection: Inspection, inputs: np.ndarray) -> StatePosterior:
    if not isinstance(inspection.model, HiddenStates):
        raise TypeError(f"{type(inspection.model).__name__} has no hidden states")
    if not len(inputs):
        none = inspection.model.infer_states(inspection.subject.sample_batch.source)
        empty = np.zeros((0, none.filtered.shape[1]))
        path = np.zeros(0, dtype=np.int64)
        return StatePosterior(empty, empty, path, none.transitions, none.emissions)
    with inspection.model.inference_mode():
        return inspection.model.infer_states(Sequences.pad([inputs]))


def _observations(inspection: Inspection) -> tuple[list[str], np.ndarray, list[str]]:
    """The names of the positions, the observations there, and notes on them."""
    if inspection.subject.form is Form.FORECAST:
        several = select_series(inspection.question, inspection.series)
        if not isinstance(inspection.task, ForecastTask):
            raise TypeError(f"{type(inspection.task).__name__} does not forecast")
        window = inspection.task.ahead(several[0], 1)
        rows = np.asarray(inspection.task.encode_source(window))[: window.origin - window.start]
        notes = [f"the first of {len(several)} series"] if len(several) > 1 else []
        return list(several[0].times[window.start : window.origin]), rows, notes
    if inspection.subject.is_language_model:
        return inspection.source[1:], inspection.inputs[1:], []
    return inspection.source, inspection.inputs, []


def _emissions(subject: InspectedModel, posterior: StatePosterior) -> list[list[tuple[str, float]]]:
    """The most probable emissions of each state; of real values their mean."""
    if posterior.emissions is None:
        return []
    if isinstance(subject.source, Series):
        return [[("", float(value)) for value in row] for row in posterior.emissions]
    best = np.argsort(-posterior.emissions, axis=1, kind="stable")[:, :EMISSIONS]
    return [
        [(subject.output_name(n), float(row[n])) for n in order.tolist() if row[n] > 0]
        for row, order in zip(posterior.emissions, best, strict=True)
    ]


TAGS = ViewKind(
    "tags",
    "Labels of tokens",
    "The label of each token with its probability, and the alternatives.",
    lambda subject: subject.form is Form.EACH and isinstance(subject.target, Labels),
    _tags,
)
TRELLIS = ViewKind(
    "trellis",
    "Hidden states",
    "The trellis of an HMM: filtered and smoothed state probabilities, and the Viterbi path.",
    lambda subject: isinstance(subject.model, HiddenStates),
    _trellis,
)
