"""Regime detection: fit a Gaussian HMM to the series of a file and segment them by Viterbi.

Used by `seqloom segment`. The states are described by their means, standard deviations, expected
durations and transition probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import cast

import numpy as np

from ..batch import Batch, Sequences
from ..data.formats.series import read_series
from ..data.series.schema import TimeSeries
from ..errors import UsageError
from ..models.gaussian_hmm import GaussianHMM
from ..recipe import Recipe
from ..signature import Form, Series, Signature
from ..statistical.hmm.gaussian_hmm import SeriesHMM
from ..views.segmentation import NAMES, Regime, RegimesView

MAX_ITERATIONS = 200  # of EM (Baum-Welch), for each restart
# The columns are one multivariate series, unscaled: the emissions are in the units of the file.
AS_ONE = {"task.together": True, "task.scaling": "none"}


@dataclass(frozen=True)
class RegimeFit:
    """A Gaussian HMM fitted to a file, with the series and their log-likelihood."""

    model: GaussianHMM
    series: Sequence[TimeSeries]
    names: tuple[str, ...]
    log_likelihood: float  # of all series
    notes: Sequence[str] = ()


def fit_regimes(recipe: Recipe, model: GaussianHMM | None = None) -> RegimeFit:
    """Fit a Gaussian HMM to a file by EM with restarts, or use a trained `model`.

    The columns of the file are one multivariate series; several series share one HMM.
    """
    data = recipe.build_data()
    recording = read_series(Path(data.train), data)
    target = Sequences.pad([one.values for one in recording.series])
    batch = Batch(Sequences(np.full_like(target.values, np.nan), target.lengths), target)
    if model is None:
        space = Series(len(recording.names))
        with recipe.model_kind().kept_random_state():
            made = recipe.build_model(Signature(Form.FORECAST, space, space))
        model = cast(GaussianHMM, made)
        fit(model, batch)
    likelihood = float(np.sum(model.log_prob(batch)))
    return RegimeFit(model, recording.series, recording.names, likelihood, recording.notes)


def fit(model: GaussianHMM, batch: Batch) -> None:
    """EM (Baum-Welch) from `restarts` initialisations; the one with the highest likelihood wins."""
    best, kept = -inf, model.weights()
    steps = max(1, int(batch.target.lengths.sum()))
    for start in range(model.restarts):
        model.restart(start)
        before = -inf
        for _ in range(MAX_ITERATIONS):
            found = model.statistics(batch)
            if found.log_likelihood - before < model.tolerance * steps:
                break
            before = found.log_likelihood
            model.update(found)
        total = float(np.sum(model.log_prob(batch)))
        if total > best:
            best, kept = total, model.weights()
    model.restore(kept)


def regimes_view(found: RegimeFit, name: str = "") -> RegimesView:
    """The Viterbi segmentation of one series: the one with this name, or the first."""
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
    regimes = found.model.hmms[0]
    order = np.argsort(regimes.emission.means()[:, 0], kind="stable")
    path = regimes.viterbi(series.values, np.array([len(series)]))
    starts = f"{found.model.restarts} restart" + "s" * (found.model.restarts > 1)
    notes = [f"log-likelihood {found.log_likelihood:,.1f}, {starts}"]
    if len(found.series) > 1:
        notes.append(f"fitted to {len(found.series):,} series; this is {series.name!r}")
    return RegimesView(
        _regimes(regimes, order, found.series),
        np.argsort(order)[path].tolist(),
        series.values,
        found.names,
        series.times,
        series.name or ", ".join(found.names[:3]),
        notes,
    )


def _regimes(regimes: SeriesHMM, order: np.ndarray, series: Sequence[TimeSeries]) -> list[Regime]:
    """The regimes, ordered by the mean of the first column."""
    rows = np.concatenate([one.values for one in series])
    occupancy = regimes.state_probabilities(rows, np.array([len(one) for one in series])).mean(0)
    means, deviations = regimes.emission.means(), regimes.emission.deviations()
    transitions = regimes.transitions[np.ix_(order, order)]
    with np.errstate(divide="ignore"):
        durations = 1 / (1 - np.diag(transitions))  # mean of a geometric distribution
    return [
        Regime(
            NAMES[place] if place < len(NAMES) else str(place + 1),
            means[state],
            deviations[state],
            float(occupancy[state]),
            float(durations[place]),
            transitions[place],
        )
        for place, state in enumerate(order.tolist())
    ]
