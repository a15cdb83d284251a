"""Views of attribution, and of gradient flow through time in recurrent layers."""

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..errors import ModelError
from ..inference.forecast import ForecastTask, select_series
from ..model import GradientTrained, Search
from ..signature import Bits, Form, Series
from ..views import AttributionTarget, AttributionView, GradientFlowView
from .attribution import AttributionOptions, TargetOptions, attribute_question
from .base import ViewKind
from .context import InspectedModel, Inspection, ReceptiveField
from .layers import resolve_index
from .next_token import position
from .options import LAST

MAX_OBSERVATIONS, MAX_HORIZON = 100, 24  # steps of the past and of the forecast that are shown
STEP_SIZE = 0.05  # of finite differences, in standard deviations of the series


def _influence(inspection: Inspection) -> AttributionView:
    if inspection.subject.form is Form.FORECAST:
        return _forecast_weights(inspection)
    options = inspection.options
    at = ""
    if options.at != LAST:
        is_transduced = inspection.subject.form is Form.TRANSDUCE
        names = inspection.target if is_transduced else inspection.source
        number = position(options.at, names, "the sequence")
        is_after = inspection.subject.is_language_model and number == len(names) - 1
        at = "" if is_after else str(number + 1)
    about = TargetOptions(at=at, beam=options.beam or 1)
    how = AttributionOptions(by=options.by)
    subject = (inspection.model, inspection.task, inspection.question, inspection.name)
    return attribute_question(*subject, how=how, about=about)


def _forecast_weights(inspection: Inspection) -> AttributionView:
    """∂ forecast / ∂ observation by finite differences, exact for linear models (Kalman filters).

    Each observation is moved up and down by a little, and the forecast is computed again.
    """
    task, options = inspection.task, inspection.options
    space = inspection.subject.source
    if not isinstance(task, ForecastTask) or not isinstance(space, Series):
        raise TypeError(f"{type(task).__name__} does not forecast")
    if options.by:
        raise ModelError(
            "M341",
            f"{inspection.name} cannot be explained by {options.by}: it forecasts time series",
            help=["leave by out: finite differences are taken"],
        )
    several = select_series(inspection.question, inspection.series)
    series = several[0]
    window = task.ahead(series, 0)
    rows = np.asarray(task.encode_source(window), dtype=np.float64)
    past = window.origin - window.start
    reach = ReceptiveField.of(inspection.model).rows or past
    first = max(0, past - min(MAX_OBSERVATIONS, reach))
    with inspection.model.inference_mode():
        weights = _finite_differences(inspection, rows, first, past)
    steps = range(weights.shape[0])
    times = window.series.times
    ahead = [time_name(times, window.origin, step) for step in steps]
    if options.at != LAST:
        steps = range(at := position(options.at, ahead, "the forecast"), at + 1)
    steps = steps[:MAX_HORIZON]
    notes = ["by how much the forecast rises where an observation is one higher"]
    notes += [f"the first of {len(several)} series"] * (len(several) > 1)
    notes += ["of its first variable alone"] * (space.width > 1)
    notes += [f"the last {past - first} of {past} steps"] * (first > 0)
    return AttributionView(
        list(times[window.start + first : window.origin]),
        [AttributionTarget(ahead[step], step + 1) for step in steps],
        weights[list(steps)],
        inspection.name,
        by="finite differences",
        unit="weight",
        notes=notes,
    )


def _finite_differences(
    inspection: Inspection, rows: Float[np.ndarray, "time all"], first: int, past: int
) -> Float[np.ndarray, "horizon observations"]:
    """The derivative of the forecast of the first variable with respect to each observation.

    Central differences; forward differences of 1 for counts, which must stay whole numbers.
    """
    observed = rows[:past, 0]
    known = observed[np.isfinite(observed)]
    is_count = bool(len(known)) and bool((known == np.round(known)).all())
    size = 1.0 if is_count else STEP_SIZE * (float(known.std()) if len(known) else 1.0) or STEP_SIZE
    moved = [rows]
    for step in range(first, past):
        for by in (size,) if is_count else (size, -size):
            other = rows.copy()
            other[step, 0] += by
            moved.append(other)
    forecasts = inspection.model.predict(Sequences.pad(moved), Search()).forecasts
    base, *others = (np.asarray(one.mean)[:, 0] for one in forecasts)
    if is_count:
        weights = np.array([(other - base) / size for other in others]).T
    else:
        pairs = zip(others[::2], others[1::2], strict=True)
        weights = np.array([(up - down) / (2 * size) for up, down in pairs]).T
    weights = weights.reshape(len(base), past - first)
    weights[:, ~np.isfinite(observed[first:])] = np.nan
    return np.asarray(weights)


def time_name(times: tuple[str, ...], origin: int, step: int) -> str:
    """The name of a step of the forecast."""
    return times[origin + step] if origin + step < len(times) else f"step {step + 1} ahead"


def _gradient_flow(inspection: Inspection) -> GradientFlowView:
    # torch is imported only where it is needed
    from .gradient_flow.models import gradient_flow_of_model  # noqa: PLC0415

    names = [f"layer {number + 1}" for number in range(_num_layers(inspection.subject))]
    number = resolve_index(inspection.options.layer, names, "layer") + 1
    flow = gradient_flow_of_model(
        inspection.model,
        [inspection.training_batch],
        inspection.name,
        clip=inspection.clip,
        layer=number,
    )
    return GradientFlowView([flow], layers=names, layer=number - 1)


def _num_layers(subject: InspectedModel) -> int:
    """The number of recurrent layers through which gradients can be followed."""
    if not isinstance(subject.model, GradientTrained):
        return 0
    from .gradient_flow.models import num_recurrent_layers  # noqa: PLC0415

    return num_recurrent_layers(subject.model, subject.sample_batch)


INFLUENCE = ViewKind(
    "influence",
    "Attribution",
    "How much each input token contributed to the prediction, and how far back that reaches.",
    lambda subject: not (subject.form is Form.NEXT and isinstance(subject.target, Bits)),
    _influence,
    ("at", "by", "beam"),
)
GRADIENT_FLOW = ViewKind(
    "gradient_flow",
    "Gradient flow",
    "How fast gradients vanish or explode through time in a recurrent layer.",
    lambda subject: _num_layers(subject) > 0,
    _gradient_flow,
    ("layer", "beam"),
    edits=False,  # gradients are taken in a copy of the model, without interventions
)
