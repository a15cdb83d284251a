"""Views of time series: the forecast with its intervals, and the components of a series."""

from ..inference.forecast import (
    ForecastRequest,
    components_of,
    forecast_series,
    forecast_view,
    select_series,
)
from ..model import Decomposable
from ..signature import Form
from ..views import View
from .base import ViewKind
from .context import InspectedModel, Inspection


def _forecast(inspection: Inspection) -> View:
    asked = ForecastRequest(series=inspection.series)
    return forecast_view(
        forecast_series(
            inspection.model, inspection.task, inspection.question, asked, inspection.name
        )
    )


def _components(inspection: Inspection) -> View:
    chosen = select_series(inspection.question, inspection.series)
    notes = [f"the first of {len(chosen)} series"] if len(chosen) > 1 else []
    return components_of(inspection.model, inspection.task, chosen[0], inspection.name, notes)


def _forecasts(subject: InspectedModel) -> bool:
    return subject.form is Form.FORECAST


def _is_decomposable(subject: InspectedModel) -> bool:
    """Protocols match by name: a model's option `components`, a number, is not this method."""
    model = subject.model
    return _forecasts(subject) and isinstance(model, Decomposable) and callable(model.components)


FORECAST = ViewKind(
    "forecast",
    "Forecast",
    "The forecast of a series: its mean and its 50, 80 and 95 % prediction intervals.",
    _forecasts,
    _forecast,
)
COMPONENTS = ViewKind(
    "components",
    "Components",
    "The components of a series, such as level, trend and seasonality.",
    _is_decomposable,
    _components,
)
