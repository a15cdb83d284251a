"""Find the regimes of a file of numbers: states, how long they last, and when they held."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import cast

import numpy as np

from ..batch import Batch, Sequences
from ..data.formats.series import read_series
from ..data.series.schema import Recorded
from ..errors import UsageError
from ..models.gaussian_hmm import HiddenRegimes
from ..recipe import Recipe
from ..signature import Form, Series, Signature
from ..statistical.hmm.gaussian_hmm import Regimes
from ..views.segmentation import NAMES, Regime, RegimesView

PASSES = 200  # of one start at most
# Columns are numbers of one series, read as they are: states are scaled by what is found.
AS_ONE = {"task.together": True, "task.scaling": "none"}


@dataclass(frozen=True)
class Found:
    """A model of the numbers of a file, and what was read."""

    model: HiddenRegimes
    series: Sequence[Recorded]
    names: tuple[str, ...]
    log_likelihood: float  # of all series
    said: Sequence[str] = ()


def find(recipe: Recipe, model: HiddenRegimes | None = None) -> Found:
    """The states that explain a file best, of all starts that were asked for; or those of a model.

    Columns of the file are the numbers of one series; several series are learned from together.
    """
    data = recipe.build_data()
    recording = read_series(Path(data.train), data)
    target = Sequences.pad([one.values for one in recording.series])
    batch = Batch(Sequences(np.full_like(target.values, np.nan), target.lengths), target)
    if model is None:
        space = Series(len(recording.names))
        made = recipe.build_model(Signature(Form.FORECAST, space, space))
        model = cast(HiddenRegimes, made)
        learn(model, batch)
    likelihood = float(np.sum(model.log_prob(batch)))
    return Found(model, recording.series, recording.names, likelihood, recording.said)


def learn(model: HiddenRegimes, batch: Batch) -> None:
    """Start as often as the model says, and keep the likeliest."""
    best, kept = -inf, model.weights()
    steps = max(1, int(batch.target.lengths.sum()))
    for start in range(model.restarts):
        model.restart(start)
        before = -inf
        for _ in range(PASSES):
            found = model.statistics(batch)
            if found.log_likelihood - before < model.tolerance * steps:
                break
            before = found.log_likelihood
            model.update(found)
        total = float(np.sum(model.log_prob(batch)))
        if total > best:
            best, kept = total, model.weights()
    model.restore(kept)


def view_of(found: Found, name: str = "") -> RegimesView:
    """The states behind one series: the one of this name, or the first."""
    series = found.series[0]
    if name:
        named = {one.name: one for one in found.series}
        if name not in named:
            raise UsageError(
                "U311",
                f"there is no series called {name!r}",
                help=[f"choose from: {', '.join(list(named)[:8])}"],
            )
        series = named[name]
    regimes = found.model.regimes[0]
    order = np.argsort(regimes.shown.means()[:, 0], kind="stable")
    path = regimes.path(series.values, np.array([len(series)]))
    starts = f"{found.model.restarts} start" + "s" * (found.model.restarts > 1)
    notes = [f"log-likelihood {found.log_likelihood:,.1f}, {starts}"]
    if len(found.series) > 1:
        notes.append(f"learned from {len(found.series):,} series; this is {series.name!r}")
    return RegimesView(
        _described(regimes, order, found.series),
        np.argsort(order)[path].tolist(),
        series.values,
        found.names,
        series.times,
        series.name or ", ".join(found.names[:3]),
        notes,
    )


def _described(regimes: Regimes, order: np.ndarray, series: Sequence[Recorded]) -> list[Regime]:
    """Each state, from the lowest mean to the highest."""
    rows = np.concatenate([one.values for one in series])
    shares = regimes.chances(rows, np.array([len(one) for one in series])).mean(0)
    means, deviations = regimes.shown.means(), regimes.shown.deviations()
    moves = regimes.moves[np.ix_(order, order)]
    with np.errstate(divide="ignore"):
        stays = 1 / (1 - np.diag(moves))
    return [
        Regime(
            NAMES[place] if place < len(NAMES) else str(place + 1),
            means[state],
            deviations[state],
            float(shares[state]),
            float(stays[place]),
            moves[place],
        )
        for place, state in enumerate(order.tolist())
    ]
