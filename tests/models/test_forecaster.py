"""Neural forecasts: windows, losses, direct and recursive forecasts, sample paths."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments
from seqloom.errors import ModelError
from seqloom.model import LookBackWindow, Search
from seqloom.models import MODELS
from seqloom.models.forecaster import stratified_uniforms
from seqloom.nn.forecast.options import ForecastOptions
from seqloom.nn.forecast.windows import patches
from seqloom.prediction import LEVELS
from seqloom.signature import Form, Series, Signature

SIGNATURE = Signature(Form.FORECAST, Series(2, 1, 3, 4), Series(2, 0, 3, 4))
SMALL = {
    "recurrent": {"embedding_size": 5, "hidden_size": 6},
    "feedforward": {"embedding_size": 5, "hidden_size": 6, "context": 4},
    "convolutional": {"embedding_size": 5, "hidden_size": 6, "num_layers": 2},
    "transformer": {"hidden_size": 8, "num_heads": 2, "num_layers": 1, "context": 12},
    "nlinear": {"look_back": 6, "ahead": "direct"},
}


def made(name, **options):
    kind = MODELS[name]
    kind.seed(3)
    return (
        kind(SIGNATURE, **constructor_arguments(kind, SMALL.get(name, SMALL["nlinear"]) | options))
        .double()
        .eval()
    )


def asked(past=7, ahead=4, seed=1, rows=1):
    """Series with gaps, and what follows them."""
    values = np.random.default_rng(seed).normal(size=(rows, past + ahead, 3))
    target = values[:, past:, :2].copy()
    values[:, past:, :2] = np.nan
    values[:, 2, 1] = np.nan
    lengths = np.full(rows, past + ahead)
    return Batch(Sequences(values, lengths), Sequences(target, np.full(rows, ahead)))


@pytest.mark.parametrize("center", ["none", "last", "standard"])
@pytest.mark.parametrize("name", ["recurrent", "feedforward", "convolutional", "transformer"])
def test_drawn_futures_go_on_from_themselves(name, center):
    """Each step is what the distribution gives that `log_prob` has there, path by path."""
    model = made(name, center=center, output="student", look_back=5)
    batch, count = asked(), 6
    with model.inference_mode():
        found = model.predict(batch.source, Search(samples=count, seed=4)).forecasts[0]
    forecaster, paths = model.forecaster, model.forecaster.forecast_options.paths
    u = stratified_uniforms(4, 4, paths, 2, torch.float64)[:count]
    many = Sequences(np.repeat(batch.source.values, count, 0), np.full(count, 11))
    written = Sequences(found.paths, np.full(count, 4))
    with model.inference_mode():
        window = forecaster._windows(many, written.lengths, written)
        p = forecaster.output(window.future(forecaster._shifted(forecaster._states(window))))
        drawn = forecaster.density.sample(p, u).numpy() * window.scale + window.shift
    np.testing.assert_allclose(found.paths, drawn, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"output": "quantile"}, {"ahead": "direct"}])
def test_a_batch_draws_what_each_series_draws_alone(options):
    model = made("recurrent", **options)
    long, short = asked(9, 6), asked(5, 6, seed=2)
    both = Sequences.pad([long.source.values[0], short.source.values[0]])
    with model.inference_mode():
        together = model.predict(both, Search(horizon=6, samples=5)).forecasts
        alone = [
            model.predict(s.source, Search(horizon=6, samples=5)).forecasts[0]
            for s in (long, short)
        ]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.paths, other.paths, atol=1e-9)
        np.testing.assert_allclose(one.quantiles, other.quantiles, atol=1e-9)


@pytest.mark.parametrize("name", ["recurrent", "nlinear"])
def test_beyond_the_horizon_it_goes_on_from_there(name):
    """The density is that of blocks one after another, and the drawn mean is near the true one."""
    model = made(name, ahead="direct", look_back=6)
    batch = asked(8, 7)
    source, target = batch.source, batch.target
    with model.inference_mode():
        whole = model.log_prob(batch)
        first = Batch(
            Sequences(source.values[:, :12], np.array([12])),
            Sequences(target.values[:, :4], np.array([4])),
        )
        rest = source.values.copy()
        rest[:, 8:12, :2] = target.values[:, :4]
        second = Batch(
            Sequences(rest, np.array([15])), Sequences(target.values[:, 4:], np.array([3]))
        )
        torch.testing.assert_close(whole, model.log_prob(first) + model.log_prob(second))
        longer = model.predict(source, Search(horizon=7, samples=3)).forecasts[0]
        shorter = model.predict(first.source, Search()).forecasts[0]
    np.testing.assert_allclose(longer.quantiles[:4], shorter.quantiles)
    assert longer.mean.shape == (7, 2) and longer.paths.shape == (3, 7, 2)
    assert (np.diff(longer.quantiles, axis=-1) >= 0).all()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("center", ["last", "mean", "standard"])
def test_a_piece_that_is_moved_is_forecast_as_far_away(name, center, monkeypatch):
    """Centred, only the shape of a series counts; stretched, not its size either."""
    monkeypatch.setattr("seqloom.nn.forecast.windows.MIN_VARIANCE", 0.0)
    model, batch = made(name, center=center), asked()
    size = 3.0 if center == "standard" else 1.0
    with model.inference_mode():
        here = model.predict(batch.source, Search()).forecasts[0]
        values = batch.source.values.copy()
        values[..., :2] = 100 + size * values[..., :2]
        there = model.predict(Sequences(values, batch.source.lengths), Search()).forecasts[0]
        moved = Batch(
            Sequences(values, batch.source.lengths),
            Sequences(100 + size * batch.target.values, batch.target.lengths),
        )
        near, far = model.log_prob(batch), model.log_prob(moved)
    np.testing.assert_allclose(there.quantiles, 100 + size * here.quantiles, atol=1e-8)
    np.testing.assert_allclose(far, near - 8 * np.log(size), atol=1e-8)


@pytest.mark.parametrize("name", SMALL)
def test_only_the_last_steps_are_read(name):
    model = made(name, look_back=4)
    assert isinstance(model, LookBackWindow) and model.look_back == 4
    batch = asked(9, 4)
    with model.inference_mode():
        before = model.log_prob(batch)
        batch.source.values[:, :5] = 7.0
        torch.testing.assert_close(model.log_prob(batch), before)
        batch.source.values[:, 5] = 7.0
        assert (model.log_prob(batch) - before).abs() > 1e-6


@pytest.mark.parametrize("ahead", ["sampled", "direct"])
@pytest.mark.parametrize("name", SMALL)
def test_inputs_of_the_future_are_read_at_their_step(name, ahead):
    """What is known of a step changes its forecast, and none before it."""
    if name == "nlinear" and ahead == "sampled":
        return
    model, batch = made(name, ahead=ahead), asked()
    with model.inference_mode():
        before = model.predict(batch.source, Search()).forecasts[0]
        batch.source.values[0, 9, 2] += 3
        after = model.predict(batch.source, Search()).forecasts[0]
    np.testing.assert_allclose(before.mean[:2], after.mean[:2])
    assert (np.abs(before.mean[2] - after.mean[2]) > 1e-6).all()


def test_teacher_forcing_learns_every_step_that_has_one_before_it():
    """The loss is the mean surprise of all these steps, each forecast with horizon 1."""
    model, batch = made("recurrent", look_back=20, center="none"), asked(5, 3)
    rows = batch.source.values[0].copy()
    rows[5:, :2] = batch.target.values[0]
    nats, count = 0.0, 0
    with model.inference_mode():
        for length in range(1, 8):
            read = rows[: length + 1].copy()
            read[length, :2] = np.nan
            step = Sequences(rows[None, length : length + 1, :2], np.array([1]))
            nats -= model.log_prob(Batch(Sequences.pad([read]), step)).item()
            count += int((~np.isnan(rows[length, :2])).sum())
        assert model.loss(batch).item() == pytest.approx(nats / count)
        centred = made("recurrent", look_back=20, center="last")
        nats = -centred.log_prob(batch).item() / 6
        assert centred.loss(batch).item() == pytest.approx(nats), "the past would know too much"


def test_a_past_without_rows_is_one_of_which_nothing_is_known():
    model = made("recurrent")
    values = np.full((1, 3, 3), np.nan)
    values[..., 2] = [0.5, 1.0, 2.0]
    batch = Batch(Sequences(values, np.array([3])), Sequences(np.ones((1, 3, 2)), np.array([3])))
    longer = np.concatenate([np.full((1, 1, 3), np.nan), values], axis=1)
    longer[0, 0, 2] = 0.0  # the inputs of the first row are never read
    other = Batch(Sequences(longer, np.array([4])), batch.target)
    with model.inference_mode():
        torch.testing.assert_close(model.log_prob(batch), model.log_prob(other))


def test_chance_is_spread_over_the_paths_of_each_step():
    u = stratified_uniforms(7, 3, 50, 2, torch.float64).numpy()
    assert u.shape == (50, 3, 2, 2)
    np.testing.assert_array_equal(np.sort((u * 50).astype(int), 0)[:, 1, 0, 1], np.arange(50))
    np.testing.assert_array_equal(stratified_uniforms(7, 2, 50, 2, torch.float64), u[:, :2])
    assert abs(np.corrcoef(u[:, 0, 0, 0], u[:, 1, 0, 0])[0, 1]) < 0.5


@pytest.mark.parametrize(
    "name, options, code",
    [
        ("recurrent", {"look_back": -1}, "M460"),
        ("recurrent", {"paths": 1}, "M460"),
        ("recurrent", {"bidirectional": True}, "M461"),
        ("convolutional", {"bidirectional": True}, "M461"),
        ("recurrent", {"label_smoothing": 0.1}, "M324"),
        ("convolutional", {"filters": [3]}, "M321"),
        ("nlinear", {"ahead": "sampled"}, "M462"),
        ("dlinear", {"average": 4}, "M462"),
        ("nlinear", {"patch": 2}, "M462"),
        ("recurrent", {"patch": 0}, "M463"),
        ("transformer", {"patch": 2}, "M463"),
    ],
)
def test_what_cannot_be_is_refused(name, options, code):
    with pytest.raises(ModelError) as told:
        made(name, **options)
    assert told.value.code == code and told.value.help


def test_patches_end_with_the_last_row():
    """Row by row what a loop puts side by side; what lacks before the first row is missing."""
    rows = torch.arange(2 * 7 * 3, dtype=torch.float64).reshape(2, 7, 3)
    found, counts = patches(rows, torch.tensor([7, 4]), 2, 3)
    assert counts.tolist() == [3, 2]
    for row, length in enumerate((7, 4)):
        for patch in range(int(counts[row])):
            for step in range(3):
                place = length - 3 * (int(counts[row]) - patch) + step
                numbers = found[row, patch, 2 * step : 2 * step + 2]
                known = found[row, patch, 6 + step]
                if place < 0:
                    assert numbers.isnan().all() and known == 0
                else:
                    assert [*numbers.tolist(), float(known)] == rows[row, place].tolist()


@pytest.mark.parametrize("name", ["recurrent", "feedforward", "convolutional", "transformer"])
def test_a_patch_is_read_whatever_stands_beside_it(name):
    """Alone or beside a longer series, and only as far back as is read."""
    model = made(name, ahead="direct", patch=3, look_back=7)
    long, short = asked(11, 4), asked(5, 4, seed=2)
    both = Sequences.pad([long.source.values[0], short.source.values[0]])
    with model.inference_mode():
        together = model.predict(both, Search()).forecasts
        alone = [model.predict(one.source, Search()).forecasts[0] for one in (long, short)]
        moved = long.source.values.copy()
        moved[:, :4, :2] += 5  # before what is read
        later = model.predict(Sequences(moved, long.source.lengths), Search()).forecasts[0]
        moved[:, 4, :2] += 5
        other = model.predict(Sequences(moved, long.source.lengths), Search()).forecasts[0]
    for one, single in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.quantiles, single.quantiles, atol=1e-9)
    np.testing.assert_allclose(later.mean, alone[0].mean, atol=1e-9)
    assert np.abs(other.mean - later.mean).max() > 1e-6
    assert model.input.project.in_features == 3 * (2 + 2 + 1)


def test_how_far_back_is_read():
    space = Series(1, 0, 24, 48)
    assert ForecastOptions().look_back_steps(space) == 96
    assert ForecastOptions().look_back_steps(Series(1)) == 24
    assert ForecastOptions().look_back_steps(space, own=12) == 12
    assert ForecastOptions(look_back=7).look_back_steps(space, own=12) == 7
    assert ForecastOptions(ahead="direct", patch=4).look_back_steps(space, own=12) == 48
    assert len(LEVELS) == 15
