"""NLinear and DLinear against the published equations."""

import numpy as np
import pytest
import torch
from torch import nn

import seqloom
from seqloom.batch import Batch, Sequences
from seqloom.model import Search
from seqloom.models.linear import DLinear, NLinear, forward_filled
from seqloom.nn.forecast.options import ForecastOptions
from seqloom.nn.forecast.windows import forecast_batch
from seqloom.recipe import Recipe
from seqloom.signature import Form, Series, Signature

SIGNATURE = Signature(Form.FORECAST, Series(3, 0, 1, 5), Series(3, 0, 1, 5))
OUTLOOK = ForecastOptions(output="squared", ahead="direct", look_back=12, center="none")


def made(kind=NLinear, **options):
    torch.manual_seed(0)
    return kind(SIGNATURE, forecast_options=OUTLOOK, **options).double().eval()


def windows(rows=2):
    values = np.random.default_rng(0).normal(size=(rows, 17, 3)).cumsum(1)
    target = values[:, 12:].copy()
    values[:, 12:] = np.nan
    lengths = np.full(rows, 17)
    return Batch(Sequences(values, lengths), Sequences(target, np.full(rows, 5)))


def published(x, model, individual):
    """As in the paper's code, number by number: x (batch, 12, 3) to (batch, 5, 3)."""
    found = []
    for number in range(3):
        kind = number if individual else 0
        one = x[:, :, number]
        first = model.swing.weight[kind], model.swing.bias[kind, 0]
        if isinstance(model, NLinear):
            last = one[:, -1:]
            found.append((one - last) @ first[0] + first[1] + last)
            continue
        front, end = one[:, :1].repeat(1, 2), one[:, -1:].repeat(1, 2)
        ends = torch.cat([front, one, end], dim=1)
        trend = nn.AvgPool1d(kernel_size=5, stride=1)(ends[:, None])[:, 0]
        second = model.trend.weight[kind], model.trend.bias[kind, 0]
        found.append((one - trend) @ first[0] + first[1] + trend @ second[0] + second[1])
    return torch.stack(found, dim=-1)


@pytest.mark.parametrize("individual", [False, True])
@pytest.mark.parametrize("kind, options", [(NLinear, {}), (DLinear, {"average": 5})])
def test_forecasts_are_those_of_the_paper(kind, options, individual):
    model, batch = made(kind, individual=individual, **options), windows()
    with model.inference_mode():
        found = model.predict(batch.source, Search()).target.values
        right = published(torch.from_numpy(batch.source.values[:, :12]), model, individual)
    np.testing.assert_allclose(found, right, rtol=1e-10)


def test_the_loss_is_the_squared_error_and_the_deviation_what_is_left():
    """By descent on one batch: the mean as by squared error alone, the deviation its root."""
    model, batch = made(), windows(64)
    model.train()
    descent = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(150):
        descent.zero_grad()
        model.loss(batch).backward()
        descent.step()
    with model.inference_mode():
        found = model.predict(batch.source, Search()).forecasts
    errors = batch.target.values - np.stack([one.mean for one in found])
    low, high = zip(*(one.interval(0.95) for one in found), strict=True)
    deviation = (np.stack(high) - np.stack(low))[0] / (2 * 1.959964)
    np.testing.assert_allclose(deviation, np.sqrt((errors**2).mean(0)), rtol=0.05)


def test_what_is_missing_is_as_before_it():
    nan = np.nan
    rows = np.array([[nan, 1, nan, 3, nan, nan], [nan] * 6])[..., None]
    source = Sequences(rows, np.array([6, 6]))
    piece = forecast_batch(
        source, np.array([1, 1]), 1, look_back=8, center="none", dtype=torch.float64
    )
    found = forward_filled(piece, 7)[:, 0]
    np.testing.assert_array_equal(found[0], [1, 1, 1, 1, 1, 3, 3])
    np.testing.assert_array_equal(found[1], np.zeros(7))


def test_a_short_series_is_learned_by_default(tmp_path):
    """Twelve years of months that grow: better than the value of a year ago, without options."""
    months = np.arange(144)
    rise = (100 + 2 * months) * (1 + 0.2 * np.sin(months * np.pi / 6))
    noisy = rise * np.random.default_rng(0).normal(1, 0.02, 144)
    dates = [f"{1949 + month // 12}-{month % 12 + 1:02d}" for month in months]
    rows = [f"{date},{value:.1f}\n" for date, value in zip(dates, noisy, strict=True)]
    (tmp_path / "sales.csv").write_text("month,sales\n" + "".join(rows))
    recipe = Recipe(
        {"train": str(tmp_path / "sales.csv")},
        {"name": "forecast"},
        {"name": "nlinear"},
        {"probes": 0},
    )
    errors = [
        seqloom.train(recipe, model=name, runs=tmp_path / "runs").evaluate().values()["mase"]
        for name in ("nlinear", "seasonal-naive")
    ]
    assert errors[0] < 0.7 * errors[1]
