"""How series go on: the work behind `seqloom forecast` and `run.forecast`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ..data.series.scaling import Scale, bent
from ..data.series.schema import Recorded
from ..data.series.windows import Window
from ..errors import DataError, UsageError, nearest
from ..evaluation.evaluate import predict
from ..model import Decomposes, Model, Search
from ..prediction import Foreseen
from ..signature import Series
from ..task import Task
from ..views import Component, ComponentsView, Fan, ForecastView, fans_of
from ..views.forecast import plain_fan

LISTED = 8  # names of series that an error lists


@runtime_checkable
class AsksAhead(Protocol):
    """A task whose questions are what comes after a series."""

    history: int

    def ahead(self, series: Recorded, horizon: int = 0) -> Window:
        """What comes after a series that was read; 0 steps are as many as were learned."""
        ...

    def scale_of(self, example: Window) -> Scale:
        """How its numbers are written for a model."""
        ...


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a forecast.

    Args:
        horizon: How many steps ahead; 0: as many as were learned.
        samples: How many futures are drawn at random.
        seed: Where chance starts when they are drawn.
        hold_out: Whether the last steps of each series are forecast from those before them.
        series: The names of those that are forecast; none: all of them.
    """

    horizon: int = 0
    samples: int = 0
    seed: int = 1
    hold_out: bool = False
    series: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Outlook:
    """One series and how it goes on, in the units of its file.

    Args:
        model: who says so.
        name: of the series.
        names: of its numbers.
        times: what the steps are called, of the past and then of those ahead.
        past: the numbers up to now; NaN where one is missing.
        foreseen: the mean, the quantiles and the futures drawn at random.
        actual: what came, where that is known.
    """

    model: str
    name: str
    names: tuple[str, ...]
    times: tuple[str, ...]
    past: Float[np.ndarray, "past width"]
    foreseen: Foreseen
    actual: Float[np.ndarray, "ahead width"] | None = None

    @property
    def ahead(self) -> tuple[str, ...]:
        """What the steps ahead are called."""
        return self.times[len(self.past) :]

    @property
    def mean(self) -> Float[np.ndarray, "ahead width"]:
        """What is expected at each step ahead."""
        return self.foreseen.mean

    def band(
        self, share: float
    ) -> tuple[Float[np.ndarray, "ahead width"], Float[np.ndarray, "ahead width"]]:
        """Where the middle share of chance begins and ends: 0.5, 0.8 or 0.95."""
        return self.foreseen.band(share)

    def fans(self) -> list[Fan]:
        """One for each number, named after the series and the number."""
        titles = [_title(self.name, name, len(self.names)) for name in self.names]
        return fans_of(titles, self.past, self.foreseen, self.times, self.actual)

    def view(self, *, history: int = 0, dark: bool = False) -> ForecastView:
        """The forecast as a picture, with so many steps of the past; 0: some."""
        return view_of([self], history=history, dark=dark)

    def as_dict(self) -> dict[str, Any]:
        """The forecast for programs; None where a number is not known."""
        found = []
        for name, fan in zip(self.names, self.fans(), strict=True):
            plain = plain_fan(fan)
            kept = {key: plain[key] for key in ("mean", "quantiles", "actual")}
            drawn = {"samples": plain["paths"]} if "paths" in plain else {}
            found.append({"name": name, **kept, **drawn})
        return {
            "run": self.model,
            "series": self.name,
            "after": self.times[len(self.past) - 1] if len(self.past) else None,
            "horizon": len(self.ahead),
            "times": list(self.ahead),
            "numbers": found,
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the picture."""
        return self.view()._repr_mimebundle_(include, exclude)

    def __str__(self) -> str:
        return self.view().to_text()


def outlooks(  # noqa: PLR0913, PLR0917 - who is asked what of which series, and who is told
    model: Model,
    task: Task,
    series: Sequence[Recorded],
    asked: Asked,
    name: str,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Outlook]:
    """How each of the series goes on, in their order."""
    if not isinstance(task, AsksAhead):
        raise TypeError(f"{type(task).__name__} forecasts nothing")
    learned = task.signature().target
    steps = asked.horizon or (learned.horizon if isinstance(learned, Series) else 1)
    asked = replace(asked, horizon=steps)
    windows = [_window(task, one, asked) for one in chosen_series(series, asked.series)]
    search = Search(horizon=asked.horizon, samples=asked.samples, seed=asked.seed)
    answers = predict(model, task, windows, search, tell)
    found = [answer.value for answer in answers]
    return [_outlook(name, *pair) for pair in zip(windows, found, strict=True)]


def view_of(found: Sequence[Outlook], *, history: int = 0, dark: bool = False) -> ForecastView:
    """Several series as one picture."""
    fans = [fan for one in found for fan in one.fans()]
    names = ", ".join(dict.fromkeys(one.model for one in found))
    return ForecastView(fans, names, history=history, dark=dark)


def components_of(
    model: Model, task: Task, series: Recorded, name: str, notes: Sequence[str] = ()
) -> ComponentsView:
    """What a series is made of, in the units of its file; of logarithms or roots in those."""
    if not (isinstance(model, Decomposes) and isinstance(task, AsksAhead)):
        raise TypeError(f"{type(model).__name__} takes no series apart")
    window = task.ahead(series, 1)
    rows = np.asarray(task.ask(window))[: window.cut - window.begin]
    scale = task.scale_of(window)
    seen = bent(window.past, scale.transform)
    columns = getattr(task, "outline", None)
    names = columns.names if columns is not None and seen.shape[1] > 1 else ("",)
    parts = [
        _component(part, number, found, scale, seen, names)
        for part, found in model.components(rows).items()
        for number in range(found[0].shape[1])
    ]
    units = {"none": [], "log": ["in natural logarithms"], "sqrt": ["in square roots"]}
    told = [*notes, *units[scale.transform]]
    return ComponentsView(parts, name, series.times[window.begin : window.cut], told)


def _component(  # noqa: PLR0913, PLR0917 - one column of what was found, and all it is told by
    part: str,
    number: int,
    found: tuple[np.ndarray, np.ndarray],
    scale: Scale,
    seen: Float[np.ndarray, "time width"],
    names: Sequence[str],
) -> Component:
    mean, deviation = found[0][:, number], found[1][:, number]
    if part.startswith("state ") or found[0].shape[1] != seen.shape[1]:
        return Component(part, mean, deviation)  # it has no unit of the file
    factor, shift = scale.factor[number], scale.shift[number]
    title = f"{part} · {names[number]}" if len(names) > 1 else part
    if part != "level":
        return Component(title, factor * mean, factor * deviation)
    return Component(title, factor * mean + shift, factor * deviation, seen[:, number])


def typed(task: Task, rows: Sequence[Any]) -> Recorded:
    """Numbers as a series, or rows of numbers; None where one is missing."""
    lines = [[row] if row is None or np.ndim(row) == 0 else row for row in rows]
    texts = [" ".join("nan" if n is None else repr(float(n)) for n in line) for line in lines]
    window: Window = task.question("; ".join(texts))
    return until(window)


def until(window: Window) -> Recorded:
    """A series up to where the future begins."""
    series, cut = window.series, window.cut
    return replace(
        series, values=series.values[:cut], known=series.known[:cut], times=series.times[:cut]
    )


def _window(task: AsksAhead, series: Recorded, asked: Asked) -> Window:
    if not np.isfinite(series.values).any():
        of = f' of "{series.name}"' if series.name else ""
        raise DataError("D261", f"there is no number{of} to begin a forecast from")
    if not asked.hold_out:
        return task.ahead(series, asked.horizon)
    seen = np.flatnonzero(np.isfinite(series.values).any(1))
    end, steps = int(seen[-1]) + 1, asked.horizon
    if end <= steps:
        of = f' "{series.name}"' if series.name else ""
        raise DataError(
            "D260",
            f"the series{of} has {len(series):,} steps: with {steps:,} held out, nothing is left"
            " to read",
            help=[f"--horizon {max(1, len(series) // 4)}   hold out fewer"],
        )
    cut = end - steps
    begin = max(0, cut - task.history) if task.history else 0
    return Window(series, begin, cut, end, cut)


def chosen_series(series: Sequence[Recorded], names: Sequence[str]) -> list[Recorded]:
    """Those of these names, in the order of the names."""
    found: list[Recorded] = []
    for name in names:
        mine = [one for one in series if one.name == name]
        if not mine:
            known = [one.name for one in series]
            near = nearest(name, known)
            listed = ", ".join(known[:LISTED]) + ", …" * (len(known) > LISTED)
            raise UsageError(
                "U315",
                f"there is no series called {name!r}",
                help=[f"did you mean {near!r}?"] * (near is not None) + [f"there are: {listed}"],
            )
        found += mine
    return found if names else list(series)


def _outlook(model: str, window: Window, answer: Any) -> Outlook:
    """What a model answered, beside what was known and what came."""
    series, cut = window.series, window.cut
    came = series.values[cut : window.end]
    return Outlook(
        model,
        series.name,
        tuple(answer.names) or (series.name or "value",),
        tuple(series.times[: window.end]),
        series.values[:cut],
        Foreseen(answer.mean, answer.quantiles, answer.paths),
        came if np.isfinite(came).any() else None,
    )


def _title(series: str, number: str, count: int) -> str:
    """What one number of a series is called: by what tells it from the others."""
    if not series or series == number:
        return number
    return f"{series} · {number}" if count > 1 else series
