"""Views of series: how they go on, and what they are made of."""

from ..inference.forecast import Asked, chosen_series, components_of, outlooks, view_of
from ..model import Decomposes
from ..signature import Form
from ..views import View
from .base import Kind
from .context import Looking, Subject


def _forecast(looking: Looking) -> View:
    asked = Asked(series=looking.series)
    return view_of(outlooks(looking.model, looking.task, looking.question, asked, looking.name))


def _components(looking: Looking) -> View:
    chosen = chosen_series(looking.question, looking.series)
    notes = [f"the first of {len(chosen)} series"] if len(chosen) > 1 else []
    return components_of(looking.model, looking.task, chosen[0], looking.name, notes)


def _is_ahead(subject: Subject) -> bool:
    return subject.form is Form.FORECAST


def _is_made_of_parts(subject: Subject) -> bool:
    """A number called components, which some models have, is no such ability."""
    model = subject.model
    return _is_ahead(subject) and isinstance(model, Decomposes) and callable(model.components)


FORECAST = Kind(
    "forecast",
    "Forecast",
    "How a series goes on: the mean and the bands that hold half, 80 and 95 % of futures.",
    _is_ahead,
    _forecast,
)
COMPONENTS = Kind(
    "components",
    "Components",
    "What a series is made of, such as its level, its trend and its season.",
    _is_made_of_parts,
    _components,
)
