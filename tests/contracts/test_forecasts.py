"""Contract of every model that forecasts time series, over MODELS × their signatures."""

import copy

import numpy as np
import pytest
from torch import nn

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.inference.stream import stepper_of
from seqloom.model import Filtering, Search
from seqloom.prediction import LEVELS
from seqloom.signature import Form

from .cases import CASES, IDS, batch_for, build, numbers

FORECASTS = [
    pytest.param(*case, id=number)
    for case, number in zip(CASES, IDS, strict=True)
    if case[1].form is Form.FORECAST
]
every_forecast = pytest.mark.parametrize("name, signature, settings", FORECASTS)


def close(one, other):
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-4, atol=1e-5)


def made(name, signature, settings):
    """A model in double precision, so that what differs is not the rounding."""
    model = build(name, signature, settings)
    return model.double() if isinstance(model, nn.Module) else model


def log_prob(model, source, target):
    with model.inference_mode():
        return numbers(model.log_prob(Batch(source, target))).numpy()


def foreseen(model, source, **asked):
    with model.inference_mode():
        return model.predict(source, Search(**asked))


def hide(values, length, ahead, width):
    """The first rows of a series, the last of them in the future."""
    found = values[None, :length].copy()
    found[0, length - ahead :, :width] = np.nan
    return Sequences(found, np.array([length]))


def told(*rows):
    return Sequences(np.array([rows]), np.array([len(rows)]))


@every_forecast
def test_what_is_missing_in_the_future_is_not_scored(name, signature, settings):
    """Nothing observed has nothing to say; one number less is another density, whatever it was."""
    model, batch = made(name, signature, settings), batch_for(signature, (5, 4))
    none = Sequences(np.full_like(batch.target.values, np.nan), batch.target.lengths)
    close(log_prob(model, batch.source, none), np.zeros(2))
    whole = log_prob(model, batch.source, batch.target)
    batch.target.values[0, 1, 0] = np.nan
    some = log_prob(model, batch.source, batch.target)
    assert np.isfinite(some).all() and abs(some[0] - whole[0]) > 1e-6
    close(some[1], whole[1])


@every_forecast
def test_quantiles_rise_around_the_mean(name, signature, settings):
    model, batch = made(name, signature, settings), batch_for(signature, (5, 4))
    found = foreseen(model, batch.source)
    assert len(found.forecasts) == 2
    for row, one in zip(found.target.rows(), found.forecasts, strict=True):
        assert one.mean.shape == (signature.target.horizon, signature.target.width)
        assert one.quantiles.shape == (*one.mean.shape, len(LEVELS))
        assert (np.diff(one.quantiles, axis=-1) > 0).all()
        low, high = one.interval(0.95)
        assert ((low < one.mean) & (one.mean < high)).all()
        close(row, one.mean)


@every_forecast
def test_the_density_of_a_forecast_is_told(name, signature, settings):
    model, batch = made(name, signature, settings), batch_for(signature, (5, 4))
    found = foreseen(model, batch.source)
    close(found.log_prob, log_prob(model, batch.source, found.target))


@every_forecast
def test_the_first_steps_of_a_longer_forecast(name, signature, settings):
    """They are those of a shorter one."""
    model, source = made(name, signature, settings), batch_for(signature, (5, 4)).source
    short = Sequences(source.values[:, :-1], source.lengths - 1)
    longer, shorter = foreseen(model, source).forecasts, foreseen(model, short, horizon=2).forecasts
    for one, other in zip(longer, shorter, strict=True):
        close(one.mean[:2], other.mean)
        close(one.quantiles[:2], other.quantiles)


@every_forecast
@pytest.mark.parametrize("past", [1, 2, 6])
def test_two_steps_are_one_and_another(name, signature, settings, past):
    """log p(x, y | past) = log p(x | past) + log p(y | past, x)."""
    model = made(name, signature, settings)
    if not model.is_joint:
        pytest.skip("each step of the future is forecast by itself")
    width = signature.target.width
    rows = batch_for(signature, (past,)).source.values[0]
    first, second = np.random.default_rng(3).normal(size=(2, width))
    both = log_prob(model, hide(rows, past + 2, 2, width), told(first, second))
    one = log_prob(model, hide(rows, past + 1, 1, width), told(first))
    rows[past, :width] = first
    other = log_prob(model, hide(rows, past + 2, 1, width), told(second))
    close(both, one + other)


@every_forecast
def test_densities_sum_to_one(name, signature, settings):
    """Over a fine grid of the first number of one step; the others are not observed."""
    model = made(name, signature, settings)
    source = batch_for(signature, (6,)).source
    short = hide(source.values[0], 7, 1, signature.target.width)
    found = foreseen(model, short, horizon=1).forecasts[0]
    low, high = (q[0, 0] for q in found.interval(0.95))
    fine = 4001 if isinstance(model, nn.Module) else 401  # densities by quantiles have jumps
    grid = np.linspace(low - 5 * (high - low), high + 5 * (high - low), fine)
    target = np.full((len(grid), 1, signature.target.width), np.nan)
    target[:, 0, 0] = grid
    many = Sequences(np.repeat(short.values, len(grid), 0), np.full(len(grid), 7))
    densities = np.exp(log_prob(model, many, Sequences(target, np.ones(len(grid), dtype=int))))
    # A Student's t has a little of its mass further out.
    assert densities.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=5e-3)
    # The middle 95 % of the density is where the quantiles say.
    inside = densities[(grid > low) & (grid < high)].sum() * (grid[1] - grid[0])
    assert inside == pytest.approx(0.95, abs=0.02)


@every_forecast
def test_futures_that_are_drawn_have_the_mean_and_the_quantiles(name, signature, settings):
    model, source = made(name, signature, settings), batch_for(signature, (5, 4)).source
    count = 1000
    for one in foreseen(model, source, samples=count, seed=2).forecasts:
        assert one.paths.shape == (count, *one.mean.shape)
        deviation = one.paths.std(0)
        assert (np.abs(one.paths.mean(0) - one.mean) < 5 * deviation / count**0.5).all()
        below = (one.paths[..., None] < one.quantiles).mean(0)
        levels = np.array(LEVELS)
        assert (np.abs(below - levels) < 5 * (levels * (1 - levels) / count) ** 0.5).all()


@every_forecast
def test_the_same_seed_draws_the_same_futures(name, signature, settings):
    model, source = made(name, signature, settings), batch_for(signature, (4,)).source
    drawn = [foreseen(model, source, samples=3, seed=s).forecasts[0].paths for s in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])


@every_forecast
def test_steps_answer_as_a_forecast_of_one_step(name, signature, settings):
    """After each row, with gaps, what is expected next; its inputs are those of the last row."""
    model = made(name, signature, settings)
    rows = batch_for(signature, (9,)).source.values[0, :9]
    width = signature.target.width
    rows[[0, 3, 4], 0] = np.nan
    try:
        stepper = stepper_of(copy.deepcopy(model))
    except ModelError as error:
        assert error.code == "M130"
        pytest.skip("needs the whole past at once")
    state = stepper.begin()
    for length in range(1, 10):
        answer, state = stepper.step(rows[length - 1], state)
        more = np.concatenate([rows[:length], rows[length - 1 : length]])
        found = foreseen(model, hide(more, length + 1, 1, width), horizon=1).forecasts[0]
        assert answer.shape == (1 + len(LEVELS), width)
        close(answer[0], found.mean[0])
        close(answer[1:].T, found.quantiles[0])
        if isinstance(stepper, Filtering):
            assert all(np.isfinite(known).all() for known in stepper.posterior(state).values())


@every_forecast
def test_a_step_does_not_change_its_state(name, signature, settings):
    model = made(name, signature, settings)
    rows = batch_for(signature, (4,)).source.values[0, :4]
    try:
        stepper = stepper_of(model)
    except ModelError:
        pytest.skip("needs the whole past at once")
    _, state = stepper.step(rows[1], stepper.begin())
    once, _ = stepper.step(rows[2], state)
    stepper.step(rows[3], state)
    again, _ = stepper.step(rows[2], state)
    assert np.array_equal(once, again)


@every_forecast
def test_missing_numbers_of_the_past_simply_work(name, signature, settings):
    """Some, one of the numbers always, or all of them: forecasts are numbers, and less sure."""
    model = made(name, signature, settings)
    batch, width = batch_for(signature, (8,)), signature.target.width
    pasts = [slice(3, 5), slice(6, 8), slice(0, 8)]
    for gap in pasts:
        values = batch.source.values.copy()
        values[0, gap, :width] = np.nan
        source = Sequences(values, batch.source.lengths)
        one = foreseen(model, source).forecasts[0]
        assert np.isfinite(one.mean).all() and np.isfinite(one.quantiles).all()
        assert np.isfinite(log_prob(model, source, batch.target)).all()
