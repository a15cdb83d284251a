"""Windows, calendar inputs, scales and steps of time series, beside loops that are written out."""

import math
from datetime import datetime, timedelta

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.data.loading.windows import WindowLoader
from seqloom.data.series.calendar import CALENDAR_FEATURES, add_calendar_features, cyclic_features
from seqloom.data.series.scaling import Scale, SeriesScaler
from seqloom.data.series.schema import TimeIndex, TimeSeries, parse_rows, steps_between
from seqloom.data.series.windows import (
    RollingOrigin,
    concatenate,
    extend,
    fold_bounds,
    follows,
    future_window,
    row_hashes,
    training_window,
    trim_future,
    univariate_series,
)
from seqloom.errors import DataError

SEEDS = range(8)


def series_of(seed, size, *, width=2, known=0, gaps=0.3, times=True, name="a"):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(size, width))
    values[rng.random((size, width)) < gaps] = np.nan
    begun = datetime(2023, 1, 30)
    dates = tuple(f"{begun + timedelta(days=n):%Y-%m-%d}" for n in range(size)) if times else ()
    return TimeSeries(name, values, rng.normal(size=(size, known)), dates)


def shown(windows):
    return [(one.start, one.origin, one.end, one.insample_end) for one in windows]


@pytest.mark.parametrize("seed", SEEDS)
def test_rolling_origins_are_every_so_many_steps(seed):
    """Futures lie between two rows; a past and a future without any observation are left out."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        size, horizon = int(rng.integers(1, 16)), int(rng.integers(1, 5))
        history, stride = int(rng.integers(0, 6)), int(rng.integers(0, 4))
        one = series_of(int(rng.integers(99)), size, gaps=0.6)
        start = int(rng.integers(0, size + 1))
        end = int(rng.integers(start, size + 1))
        wanted, origin = [], start
        while origin + horizon <= end:
            first = max(0, origin - history) if history else 0
            past, future = one.values[first:origin], one.values[origin : origin + horizon]
            if origin >= 1 and np.isfinite(past).any() and np.isfinite(future).any():
                wanted.append((first, origin, origin + horizon, 7))
            origin = origin + (stride or horizon) if origin >= 1 else 1
        found = list(RollingOrigin(horizon, history, stride).windows(one, start, end, 7))
        assert shown(found) == wanted
        for window in found:
            np.testing.assert_array_equal(window.past, one.values[window.start : window.origin])
            np.testing.assert_array_equal(window.future, one.values[window.origin : window.end])
            assert not window.is_training


@pytest.mark.parametrize(
    ("size", "least", "first"), [(20, 6, 6), (20, 19, 17), (20, 0, 1), (4, 6, 1), (3, 1, None)]
)
def test_a_series_that_was_not_learned_is_judged_by_its_own_past(size, least, first):
    """From the first origin with enough before it; scaled errors know all rows before the origin."""
    one = series_of(0, size, gaps=0.0)
    found = RollingOrigin(3, 0, 1).backtest(one, least)
    origins = range(first, size - 2) if first else []
    assert shown(found) == [(0, origin, origin + 3, origin) for origin in origins]


def test_a_training_window_ends_where_it_is_told():
    one = series_of(0, 9)
    assert shown([training_window(one), training_window(one, 5)]) == [(0, 0, 9, 9), (0, 0, 5, 5)]
    assert training_window(one).is_training and len(training_window(one, 5).past) == 0


@pytest.mark.parametrize("history", [0, 3, 50])
def test_a_forecast_begins_after_the_last_observed_row(history):
    """Rows after it are its future where inputs are known there, and a gap where they are not."""
    one = series_of(1, 10, known=1, gaps=0.0)
    one.values[7:] = np.nan
    found = future_window(one, 5, history)
    assert (found.origin, found.end, found.insample_end) == (7, 12, 7)
    assert found.start == (max(0, 7 - history) if history else 0)
    assert len(found.series) == 12 and len(found.series.times) == 12
    np.testing.assert_array_equal(found.series.known[:10], one.known)
    assert np.isnan(found.series.known[10:]).all() and np.isnan(found.series.values[7:]).all()
    assert found.series.times[9:] == ("2023-02-08", "2023-02-09", "2023-02-10")
    plain = series_of(1, 10, gaps=0.0)
    plain.values[7:] = np.nan
    assert (future_window(plain, 5).origin, future_window(plain, 5).end) == (10, 15)


def test_a_series_is_made_longer_never_shorter():
    one = series_of(2, 6, known=1)
    assert extend(one, 6) is one and extend(one, 3) is one
    assert len(extend(one, 7)) == 7


def test_rows_with_inputs_alone_are_cut_off():
    one = series_of(3, 8, known=1, gaps=0.0)
    one.values[5:, 0] = np.nan
    assert trim_future(one) is one, "the other column was observed"
    one.values[6:] = np.nan
    found = trim_future(one)
    assert (len(found), len(found.known), len(found.times)) == (6, 6, 6)
    one.values[:] = np.nan
    assert trim_future(one) is one


def test_a_series_follows_one_of_its_name_on_the_next_date():
    whole = series_of(4, 12, gaps=0.0)
    first = TimeSeries("a", whole.values[:7], whole.known[:7], whole.times[:7])
    then = TimeSeries("a", whole.values[7:], whole.known[7:], whole.times[7:])
    assert follows(first, then, dated=True)
    late = TimeSeries("a", whole.values[8:], whole.known[8:], whole.times[8:])
    assert not follows(first, late, dated=True) and follows(first, late, dated=False)
    assert not follows(first, series_of(4, 5, name="b"), dated=False)
    joined = concatenate(first, then)
    np.testing.assert_array_equal(joined.values, whole.values)
    assert joined.times == whole.times and len(joined.known) == 12


@pytest.mark.parametrize("size", [5, 11, 24, 100])
@pytest.mark.parametrize("folds", [1, 2, 4])
def test_forward_folds_are_the_later_of_equal_blocks(size, folds):
    """They touch, cover all but the first block, and differ by one row at most."""
    bounds = [fold_bounds(size, folds, fold) for fold in range(1, folds + 1)]
    edges = [0, *(low for low, _ in bounds), bounds[-1][1]]
    assert [high for _, high in bounds[:-1]] == [low for low, _ in bounds[1:]]
    assert edges[-1] == size and len(edges) == folds + 2
    sizes = np.diff(edges)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("width", [1, 3])
def test_a_row_is_known_by_its_name_its_time_and_the_values_up_to_it(width):
    one = series_of(5, 30, width=width, gaps=0.2)
    whole = row_hashes(one, 0, 30)
    assert len(set(whole.tolist())) == 30
    for first, end in ((0, 12), (7, 30), (29, 30), (13, 13)):
        np.testing.assert_array_equal(row_hashes(one, first, end), whole[first:end])
    values = one.values.copy()
    values[10, -1] = 123.0
    changed = row_hashes(TimeSeries("a", values, one.known, one.times), 0, 30)
    assert np.flatnonzero(changed != whole).tolist() == list(range(10, 18))
    other = row_hashes(TimeSeries("b", one.values, one.known, one.times), 0, 30)
    assert not (other == whole).any()
    times = (*one.times[:4], "2020-01-01", *one.times[5:])
    moved = row_hashes(TimeSeries("a", one.values, one.known, times), 0, 30)
    assert np.flatnonzero(moved != whole).tolist() == [4]
    grown = extend(one, 33)
    np.testing.assert_array_equal(row_hashes(grown, 0, 30), whole)
    zero, minus = (TimeSeries("a", np.array([[v]]), np.zeros((1, 0)), ("1",)) for v in (0.0, -0.0))
    assert row_hashes(zero, 0, 1) == row_hashes(minus, 0, 1)


def test_columns_become_series_with_names():
    one, unnamed = series_of(6, 4), series_of(6, 4, name="")
    assert [s.name for s in univariate_series([one, unnamed], ["x", "y"])] == [
        *("a x", "a y", "x", "y"),
    ]
    single = series_of(6, 4, width=1)
    assert [s.name for s in univariate_series([single], ["x"])] == ["a"]
    for column, found in enumerate(univariate_series([one], ["x", "y"])):
        np.testing.assert_array_equal(found.values, one.values[:, column : column + 1])


HAND = {  # what part of its circle has passed at a moment
    "minute": (60, lambda d: d.minute),
    "hour": (24, lambda d: d.hour + d.minute / 60),
    "weekday": (7, lambda d: (d.date() - datetime(2023, 1, 2).date()).days % 7),  # a Monday
    "day": (31, lambda d: d.day - 1),
    "week": (53, lambda d: int(d.strftime("%V")) - 1),
    "month": (12, lambda d: d.month - 1),
    "quarter": (
        4,
        lambda d: {1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 2, 8: 2, 9: 2}.get(d.month, 3),
    ),
    "year-day": (366, lambda d: (d.date() - datetime(d.year, 1, 1).date()).days),
}


@pytest.mark.parametrize("name", CALENDAR_FEATURES)
def test_calendar_inputs_are_places_on_a_circle(name):
    """At moments of many years and every hour, in the file's own clock."""
    begun = datetime(2019, 12, 28, 0, 30)
    dates = [begun + timedelta(hours=37 * n, minutes=7 * n) for n in range(400)]
    times = tuple(f"{date:%Y-%m-%d %H:%M}" for date in dates)
    one = TimeSeries("a", np.zeros((400, 1)), np.ones((400, 1)), times)
    period, place = HAND[name]
    found = cyclic_features(one, [name])
    for date, (sine, cosine) in zip(dates, found, strict=True):
        angle = 2 * math.pi * place(date) / period
        assert (sine, cosine) == (
            pytest.approx(math.sin(angle), abs=1e-9),
            pytest.approx(math.cos(angle), abs=1e-9),
        )
    added = add_calendar_features(one, [name])
    np.testing.assert_array_equal(added.known[:, 0], 1)
    np.testing.assert_array_equal(added.known[:, 1:], found)
    assert add_calendar_features(one, []) is one


def test_calendar_inputs_are_of_the_clock_that_the_file_shows():
    """Where times have a zone, noon in New York is noon, whatever it is elsewhere."""
    times = tuple(f"2023-0{month}-15T12:00-0{5 if month < 3 else 4}:00" for month in (1, 2, 3, 4))
    one = TimeSeries("a", np.zeros((4, 1)), np.zeros((4, 0)), times)
    np.testing.assert_allclose(cyclic_features(one, ["hour"]), [[0, -1]] * 4, atol=1e-12)


def test_the_number_of_a_step_counts_from_the_beginning_of_training():
    index, one = TimeIndex(is_on=True), series_of(7, 6)
    index.learn([one])
    assert index.column(one, 2, 5).ravel().tolist() == [2, 3, 4]
    later = TimeSeries("a", one.values, one.known, series_of(7, 20).times[9:15])
    assert index.column(later, 0, 2).ravel().tolist() == [9, 10]
    unknown = TimeSeries("b", one.values, one.known, later.times)
    assert index.column(unknown, 1, 3).ravel().tolist() == [1, 2]
    kept = TimeIndex(is_on=True)
    kept.restore(index.state())
    assert kept.column(later, 0, 1).tolist() == [[9]]
    assert TimeIndex().column(one, 2, 5).shape == (3, 0)


@pytest.mark.parametrize(
    ("start", "times", "steps"),
    [
        ("1", ("1", "2"), 0),
        ("1", ("8", "9"), 7),
        ("10", ("4", "6"), -3),
        ("20230101", ("20230111", "20230112"), 10),
        ("2023-01-01", ("2023-03-01", "2023-04-01"), 2),
        ("2023-01-01 00:00", ("2023-01-02 06:00", "2023-01-02 12:00"), 5),
        ("2022-12-30", ("2023-01-04", "2023-01-05"), 5),
        ("2023-01-01", ("2023-01-09",), 0),
        ("x", ("y", "z"), 0),
    ],
)
def test_steps_between_two_times(start, times, steps):
    assert steps_between(start, times) == steps


@pytest.mark.parametrize("kind", ["standard", "mean", "none"])
@pytest.mark.parametrize("transform", ["none", "log", "sqrt"])
def test_scales_are_fitted_to_what_was_observed(kind, transform):
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(size=(40, 2))) * [1, 50]
    values[rng.random((40, 2)) < 0.2] = np.nan
    scaler = SeriesScaler(kind, transform=transform)
    scaler.learn([("a", values), ("b", 2 * values), ("c", 3 * values)], np.zeros((0, 0)))
    found = scaler.scale_of("a", values[:3])
    change = {"none": lambda x: x, "log": np.log, "sqrt": np.sqrt}[transform]
    for column in range(2):
        x = change(values[:, column])
        shift = np.nanmean(x) if kind == "standard" else 0
        size = {"standard": np.nanstd(x), "mean": np.nanmean(np.abs(x)), "none": 1}[kind]
        assert found.shift[column] == pytest.approx(shift)
        assert found.factor[column] == pytest.approx(size)
        wanted = (x - shift) / size
        np.testing.assert_allclose(found.apply(values)[:, column], wanted)
    np.testing.assert_allclose(found.invert(found.apply(values)), values)
    levels = np.stack([found.apply(values)] * 3, axis=-1)
    np.testing.assert_allclose(found.invert(levels, levels=True)[..., 1], values)
    middle = scaler.scale_of("new", np.full((2, 2), np.nan))
    for name in ("shift", "factor"):
        each = [getattr(scaler.scale_of(other, values), name) for other in "abc"]
        np.testing.assert_allclose(getattr(middle, name), np.median(each, axis=0))
    own = scaler.scale_of("new", values[:9])
    alone = SeriesScaler(kind, transform=transform)
    alone.learn([("x", values[:9])], np.zeros((0, 0)))
    np.testing.assert_allclose(own.factor, alone.scale_of("x", values).factor)
    assert alone.only_name == "x" and scaler.only_name == ""
    # The density of a value is that of its scaled one, times how much scaling stretches there.
    step = 1e-6 * values
    slopes = (found.apply(values + step) - found.apply(values - step)) / (2 * step)
    wanted = -np.log(slopes[~np.isnan(slopes)]).sum()
    assert found.log_jacobian(values) == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    again = SeriesScaler()
    again.restore(scaler.state())
    np.testing.assert_allclose(
        again.scale_of("b", values).apply(values), scaler.scale_of("b", values).apply(values)
    )


def test_constant_columns_keep_their_size_and_are_told():
    scaler, flat = SeriesScaler(), np.full((5, 1), 7.0)
    inputs = np.array([[1.0, 4.0], [3.0, 4.0]])
    scaler.learn([("flat", flat), ("one", flat[:1]), ("moves", np.arange(5.0)[:, None])], inputs)
    assert scaler.constant_series == ["flat"]
    found = scaler.scale_of("flat", flat)
    assert (found.shift[0], found.factor[0]) == (7, 1)
    known = np.array([[1.0, 4.0, 9.0], [3.0, 5.0, 8.0]])
    np.testing.assert_allclose(scaler.scale_inputs(known), [[-1, 0, 9], [1, 1, 8]])
    assert isinstance(found, Scale)


@pytest.mark.parametrize("text", ["1 2; 3 4", "1,2;3,4;", " 1 2 ; 3   4 "])
def test_typed_rows(text):
    assert parse_rows(text, 2).tolist() == [[1, 2], [3, 4]]
    assert parse_rows(text, 1).tolist() == [[1], [2], [3], [4]]
    with pytest.raises(DataError, match="a step has 2 numbers; a step of this model has 3"):
        parse_rows(text, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_of_training_are_all_of_every_series(seed):
    """Each origin with its past and its future, once in an epoch; none without an observation."""
    rng = np.random.default_rng(seed)
    history, horizon = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    items, wanted = [], set()
    for number, size in enumerate([int(n) for n in rng.integers(1, 14, 4)] + [horizon + 3]):
        values = rng.normal(size=(size, 2)).astype(np.float32)
        values[rng.random(size) < 0.5] = np.nan
        values[-1] = 1.0
        known = np.arange(size, dtype=np.float32)[:, None] + 100 * number
        items.append(Item(np.concatenate([np.full_like(values, np.nan), known], axis=1), values))
        for origin in range(min(history, size - horizon), size - horizon + 1):
            if origin >= 1 and np.isfinite(values[origin : origin + horizon]).any():
                wanted.add((number, origin))
    loader = WindowLoader(items, history, horizon, batch_size=3, seed=seed)
    orders = []
    for epoch in (0, 1):
        seen = []
        for which in loader.epoch(epoch):
            assert len(which) <= 3
            batch = loader.batch(which)
            for source, target in zip(batch.source.rows(), batch.target.rows(), strict=True):
                known = [int(row[-1]) for row in source]
                number, first = divmod(known[0], 100)
                origin = first + len(known) - horizon
                seen.append((number, origin))
                assert known == list(range(known[0], known[0] + len(known)))
                assert len(known) - horizon == min(origin, history)
                values = items[number].target
                np.testing.assert_array_equal(target, values[origin : origin + horizon])
                past = np.array(source)[:-horizon, :-1]
                np.testing.assert_array_equal(past, values[first:origin])
                assert np.isnan(np.array(source)[-horizon:, :-1]).all()
            real = batch.source.mask
            assert not batch.source.values[~real].any()
        assert len(seen) == len(set(seen)) and set(seen) == wanted
        orders.append(seen)
    assert len(wanted) < 4 or orders[0] != orders[1]
