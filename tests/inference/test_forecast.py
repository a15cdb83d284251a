"""What a series is made of, in the units of its file."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.batch import Batch
from seqloom.data.options import Data
from seqloom.errors import ModelError, UsageError
from seqloom.inference.forecast import ForecastRequest, components_of, forecast_series
from seqloom.inspection import InspectedModel, InspectionOptions, inspect
from seqloom.models.naive import Naive
from seqloom.tasks.forecast import Forecast
from seqloom.views import ComponentsView, ForecastView


class Apart(Naive):
    """Says that a level is what was observed, and that a trend and a state are ones."""

    def components(self, past):
        rows = past[:, : self.width]
        ones = np.ones_like(rows)
        return {
            "level": (rows, 0.5 * ones),
            "trend": (ones, 0.1 * ones),
            "state 1": (ones[:, :1], ones[:, :1]),
        }


def trained(tmp_path: Path, kind: type, text: str, **options):
    """A model that has learned from a file, its task and the series of the file."""
    path = tmp_path / "file.csv"
    path.write_text(text)
    task = Forecast(horizon=2, **options)
    parts = task.temporal_splits({"train": task.read(path, Data())}, Data())
    task.prepare(parts["train"])
    model = kind(task.signature())
    batch: Batch = task.batch(parts["train"])
    model.update(model.statistics(batch))
    return model, task, [window.series for window in task.read(path, Data())]


TWO = "month,a,b\n" + "".join(
    f"{2010 + n // 12}-{n % 12 + 1:02},{n},{100 + 2 * n % 7}\n" for n in range(60)
)


@pytest.mark.parametrize("transform", ["none", "log"])
def test_components_are_in_the_units_of_the_file(tmp_path: Path, transform: str) -> None:
    text = TWO.replace(",0,", ",5,")
    model, task, series = trained(
        tmp_path, Apart, text, together=True, transform=transform, period=1
    )
    view = components_of(model, task, series[0], "x")
    assert [part.name for part in view.components] == [
        "level · a",
        "level · b",
        "trend · a",
        "trend · b",
        "state 1",
    ]
    level, _, trend, _, state = view.components
    seen = series[0].values[:, 0]
    expected = np.log(seen) if transform == "log" else seen
    assert np.allclose(level.mean, expected) and np.allclose(level.observed, expected)
    factor = task.scaling.scale_of(series[0].name, series[0].values).factor[0]
    assert np.allclose(trend.mean, factor) and np.allclose(trend.deviation, 0.1 * factor)
    assert np.allclose(level.deviation, 0.5 * factor) and np.allclose(state.mean, 1)
    assert trend.observed is None and state.observed is None
    assert view.times == list(series[0].times)
    assert view.notes == (("in natural logarithms",) if transform == "log" else ())


def test_the_view_that_is_asked_for(tmp_path: Path) -> None:
    model, task, series = trained(tmp_path, Apart, TWO)
    subject, parts = InspectedModel(model, task, "x"), InspectionOptions(view="components")
    assert isinstance(inspect(subject, series, InspectionOptions()), ForecastView)
    apart = inspect(subject, series, parts)
    assert isinstance(apart, ComponentsView) and apart.notes == ("the first of 2 series",)
    second = inspect(subject, series, parts, series=("b",))
    assert second.notes == () and np.allclose(second.components[0].mean, series[1].values[:, 0])
    plain, task, series = trained(tmp_path, Naive, TWO)
    with pytest.raises(ModelError, match="M114"):
        inspect(InspectedModel(plain, task, "x"), series, parts)


def test_series_are_answered_in_the_order_of_their_names(tmp_path: Path) -> None:
    model, task, series = trained(tmp_path, Naive, TWO)
    found = forecast_series(model, task, series, ForecastRequest(series=("b", "a"), horizon=3), "x")
    assert [one.name for one in found] == ["b", "a"]
    assert np.allclose(found[0].mean, 100 + 118 % 7) and np.allclose(found[1].mean, 59)
    assert found[0].names == ("b",) and found[0].ahead == ("2015-01", "2015-02", "2015-03")
    with pytest.raises(UsageError, match="U315"):
        forecast_series(model, task, series, ForecastRequest(series=("c",)), "x")
