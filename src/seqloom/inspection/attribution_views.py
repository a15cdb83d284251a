"""Views of attribution, and of gradient flow through time in recurrent layers."""

from ..inference.forecast import ForecastTask, select_series
from ..model import GradientTrained
from ..signature import Bits, Form
from ..views import AttributionView, GradientFlowView
from .attribution import AttributionOptions, TargetOptions, attribute_question
from .attribution.forecast import attribute_forecast, steps_ahead
from .base import ViewKind
from .context import InspectedModel, Inspection
from .layers import resolve_index
from .next_token import position
from .options import LAST


def _influence(inspection: Inspection) -> AttributionView:
    if inspection.subject.form is Form.FORECAST:
        return _influence_on_forecast(inspection)
    options = inspection.options
    at = ""
    if options.at != LAST:
        is_transduced = inspection.subject.form is Form.TRANSDUCE
        names = inspection.target if is_transduced else inspection.source
        number = position(options.at, names, "the sequence")
        is_after = inspection.subject.is_language_model and number == len(names) - 1
        at = "" if is_after else str(number + 1)
    about = TargetOptions(at=at, beam=options.beam or 1, limit=options.limit)
    how = AttributionOptions(by=options.by)
    subject = (inspection.model, inspection.task, inspection.question, inspection.name)
    return attribute_question(*subject, how=how, about=about)


def _influence_on_forecast(inspection: Inspection) -> AttributionView:
    """The influence of the observations on the forecast of a series."""
    task, options = inspection.task, inspection.options
    if not isinstance(task, ForecastTask):
        raise TypeError(f"{type(task).__name__} does not forecast")
    series, at = select_series(inspection.question, inspection.series), ""
    if options.at != LAST:
        names = steps_ahead(task.ahead(series[0], 0))
        at = str(position(options.at, names, "the forecast") + 1)
    subject = (inspection.model, task, series, inspection.name)
    return attribute_forecast(
        *subject, how=AttributionOptions(by=options.by), about=TargetOptions(at=at)
    )


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
    ("at", "by", "beam", "limit"),
    is_quadratic=True,
)
GRADIENT_FLOW = ViewKind(
    "gradient_flow",
    "Gradient flow",
    "How fast gradients vanish or explode through time in a recurrent layer.",
    lambda subject: _num_layers(subject) > 0,
    _gradient_flow,
    ("layer", "beam", "limit"),
    edits=False,  # gradients are taken in a copy of the model, without interventions
    is_quadratic=True,
)
