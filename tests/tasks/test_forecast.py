"""The task of forecasting: parts in time, scaling, answers in the units of the file, bad input."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.data.series.schema import steps_between
from seqloom.errors import SeqloomError
from seqloom.inference.stream import Stream
from seqloom.metrics import value_of
from seqloom.prediction import QuantileForecast
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.tasks.forecast import Forecast

CHANCE = np.random.default_rng(3)
has_sets = pytest.mark.skipif(not os.environ.get("SEQLOOM_DATA"), reason="needs SEQLOOM_DATA")


def write(folder, values, name="file.csv", *, start=0, head="t,x"):
    rows = np.asarray(values, dtype=float).reshape(len(values), -1)
    lines = [",".join([str(i), *(f"{n!r}" if np.isfinite(n) else "" for n in row)])
             for i, row in enumerate(rows.tolist(), start)]  # fmt: skip
    (folder / name).write_text("\n".join([head, *lines]) + "\n")
    return str(folder / name)


def parts_of(folder, task, values, **data):
    found = read_parts(
        task, Data(train=write(folder, values, head=data.pop("head", "t,x")), **data)
    )
    task.prepare(found.train)
    return found


def spans(windows):
    return [(one.start, one.origin, one.end) for one in windows]


def test_parts_follow_one_another_in_time(tmp_path):
    task = Forecast(horizon=5, history=20)
    found = parts_of(tmp_path, task, np.arange(100), valid_fraction=0.1, test_fraction=0.2)
    assert spans(found.train) == [(0, 0, 70)]
    assert spans(found.valid) == [(50, 70, 75), (55, 75, 80)]
    assert spans(found.test) == [(60, 80, 85), (65, 85, 90), (70, 90, 95), (75, 95, 100)]
    assert found.test[0].past[:, 0].tolist() == list(range(60, 80))


def test_a_part_has_room_for_a_forecast_at_least(tmp_path):
    task = Forecast(horizon=12)
    found = parts_of(tmp_path, task, np.arange(60))
    assert spans(found.valid) == [(0, 36, 48)] and spans(found.test) == [(0, 48, 60)]
    short = parts_of(tmp_path, Forecast(horizon=12), np.arange(30))
    assert not short.valid and spans(short.train) == [(0, 0, 18)]


def test_parts_in_steps(tmp_path):
    """As in ETTh1: 8640, 2880 and 2880 rows, of which the rest is not used; every origin."""
    task = Forecast(horizon=4, stride=1, history=6, train_steps=30, valid_steps=10, test_steps=10)
    found = parts_of(tmp_path, task, np.arange(60))
    assert spans(found.train) == [(0, 0, 30)] and len(found.valid) == 10 - 4 + 1
    assert spans(found.test)[0] == (34, 40, 44) and spans(found.test)[-1] == (40, 46, 50)


@pytest.mark.parametrize("fold, learned, test", [(1, 25, (25, 50)), (3, 75, (75, 100))])
def test_folds_in_time(tmp_path, fold, learned, test):
    task = Forecast(horizon=5)
    found = parts_of(tmp_path, task, np.arange(100), folds=3, fold=fold, valid_fraction=0.0)
    assert spans(found.train) == [(0, 0, learned)]
    assert (found.test[0].origin, found.test[-1].end) == test
    assert len(found.test) == 5 and all(one.insample_end == learned for one in found.test)


def test_a_test_file_that_goes_on_or_stands_by_itself(tmp_path):
    train, test = write(tmp_path, np.arange(40)), write(tmp_path, np.arange(40, 50), "t.csv")
    task = Forecast(horizon=5)
    found = read_parts(task, Data(train=train, test=test))
    task.prepare(found.train)
    assert spans(found.train) == [(0, 0, 35)] and spans(found.valid) == [(0, 35, 40)]
    assert spans(found.test) == [(0, 40, 45), (0, 45, 50)]
    assert found.test[0].past[:, 0].tolist() == list(range(40)) and found.test[0].insample_end == 40
    assert "the test file goes on where the training file ends" in task.notes()
    (tmp_path / "d.csv").write_text(
        "day,x\n" + "".join(f"2020-01-{i:02},{i}\n" for i in range(1, 31))
    )
    (tmp_path / "e.csv").write_text(
        "day,x\n" + "".join(f"2019-01-{i:02},{i}\n" for i in range(1, 21))
    )
    task = Forecast(horizon=5)
    found = read_parts(task, Data(train=str(tmp_path / "d.csv"), test=str(tmp_path / "e.csv")))
    assert found.test[0].series.times[0] == "2019-01-01" and found.test[0].origin >= 5
    assert "the test file is judged by itself" in task.notes()


def test_scaling_is_learned_from_the_training_part_alone(tmp_path):
    values = np.concatenate([CHANCE.normal(5, 2, 80), np.full(20, 1e6)])
    task = Forecast(horizon=5)
    found = parts_of(tmp_path, task, values, valid_fraction=0.0, test_fraction=0.2)
    item = task.encode(found.train[0])
    assert item.target.mean() == pytest.approx(0, abs=1e-12)
    assert item.target.std() == pytest.approx(1) and np.isnan(item.source).all()
    asked = task.encode(found.test[0])
    assert np.isnan(asked.source[-5:]).all() and not np.isnan(asked.source[:-5]).any()
    assert np.allclose(asked.target, (1e6 - values[:80].mean()) / values[:80].std())
    other = Forecast()
    other.restore(json.loads(json.dumps(task.state())))
    assert np.array_equal(other.encode(found.test[0]).target, asked.target)


def test_a_series_that_training_did_not_show_is_scaled_by_its_past(tmp_path):
    task = Forecast(horizon=2)
    parts_of(tmp_path, task, CHANCE.normal(size=(50, 2)), head="t,a,b")
    window = task.question("100 200 300")
    assert np.allclose(task.encode(window).source[:3].mean(), 0)
    answer = task.decode_for(window, QuantileForecast.normal(np.zeros((2, 1)), np.ones((2, 1))))
    assert np.allclose(answer.mean, 200) and answer.times == ("4", "5")


def test_columns_are_series_or_one_series(tmp_path):
    values = CHANCE.normal(size=(40, 3))
    apart = parts_of(tmp_path, Forecast(horizon=2), values, head="t,a,b,c")
    assert [one.series.name for one in apart.train] == ["a", "b", "c"]
    task = Forecast(horizon=2, together=True)
    (one,) = parts_of(tmp_path, task, values, head="t,a,b,c").train
    assert one.series.values.shape == (40, 3)
    assert (task.signature().target.width, task.signature().target.horizon) == (3, 2)
    assert task.question("1 2 3; 4,5,nan").past.shape == (2, 3)


def test_inputs_and_the_calendar(tmp_path):
    rows = "".join(f"2020-01-{i:02},{i % 7},{i * 100}\n" for i in range(1, 31))
    (tmp_path / "f.csv").write_text("day,x,price\n" + rows + "2020-01-31,,3100\n2020-02-01,,3200\n")
    data = Data(train=str(tmp_path / "f.csv"), columns="value=x,known=price")
    task = Forecast(horizon=2, calendar=("weekday",), valid_steps=4, test_steps=4)
    found = read_parts(task, data)
    task.prepare(found.train)
    space = task.signature().source
    assert (space.width, space.known, space.period) == (1, 3, 7)
    source = task.encode(found.train[0]).source
    assert source[:, 1].mean() == pytest.approx(0, abs=1e-12)  # prices are scaled
    angles = 2 * math.pi * ((np.arange(len(source)) + 2) % 7) / 7  # a Wednesday
    assert np.allclose(source[:, 2], np.sin(angles)) and np.allclose(source[:, 3], np.cos(angles))
    (asked,) = task.questions(tmp_path / "f.csv", data)
    assert (asked.origin, asked.end) == (30, 32) and asked.series.times[-1] == "2020-02-01"
    assert not np.isnan(task.encode(asked).source[:, 1:]).any()
    with pytest.raises(SeqloomError, match="D225.*2020-02-02.*price"):
        task.questions(tmp_path / "f.csv", data, 3)


def test_steps_are_numbered_from_the_beginning_of_training(tmp_path):
    """A past that begins later goes on counting, by its numbers or its dates; a stream cannot."""
    task = Forecast(horizon=2, history=4, clock=True)
    found = parts_of(tmp_path, task, np.arange(20), valid_fraction=0.2, test_fraction=0.2)
    assert task.encode(found.train[0]).source[:, 1].tolist() == [*range(12)]
    assert task.encode(found.test[0]).source[:, 1].tolist() == [12, 13, 14, 15, 16, 17]
    later = task.questions(Path(write(tmp_path, np.arange(5), "later.csv", start=30)), Data())
    assert task.encode_source(later[0])[:, 1].tolist() == [31, 32, 33, 34, 35, 36]
    again = Forecast(horizon=2, history=4, clock=True)
    again.restore(json.loads(json.dumps(task.state())))
    assert again.encode_source(later[0])[:, 1].tolist() == [31, 32, 33, 34, 35, 36]
    with pytest.raises(SeqloomError, match="U305"):
        task.encode_value("1")
    assert steps_between("2019-11", ("2020-02", "2020-03")) == 3
    assert steps_between("a", ("b", "c")) == 0


def test_a_trend_is_followed(data):
    """Autoregression with a clock finds the line and the months of the fixture."""
    settings = {"task.clock": True, "model.trend": True, "model.season": True, "model.order": 1}
    run = seqloom.train("forecast", data / "series.csv", model="autoregressive",
                        runs=data / "runs", settings=settings | {"data.test_fraction": 0.2})  # fmt: skip
    assert run.evaluate().values()["mase"] < 0.9


@pytest.mark.parametrize("transform", ["log", "sqrt"])
def test_logarithms_and_roots_and_their_density(tmp_path, transform):
    """A density in the units of the file: that of z, times |dz/dx|, by differences."""
    values = np.exp(CHANCE.normal(3, 0.5, 60))
    task = Forecast(horizon=2, transform=transform)
    found = parts_of(tmp_path, task, values)
    window = found.test[0]
    scale = task.scale_of(window)
    assert np.allclose(scale.invert(scale.apply(window.future)), window.future)
    step = 1e-6
    slope = (scale.apply(window.future + step) - scale.apply(window.future - step)) / (2 * step)
    judged = task.score(window, task.reference(window), 7.0)
    assert judged["loss"] == pytest.approx((7.0 - np.log(slope).sum(), 2.0))


def test_roots_of_counts(tmp_path):
    """A count of 0 has a finite density; what lies below is as good as 0."""
    task = Forecast(horizon=2, transform="sqrt")
    window = parts_of(tmp_path, task, np.tile([0.0, 4.0, 9.0], 20)).test[0]
    scale = task.scale_of(window)
    assert scale.invert(np.array([-1e3])) == 0
    assert np.isfinite(task.score(window, task.reference(window), 1.0)["loss"]).all()
    with pytest.raises(SeqloomError, match="-4 at 1 has no root: it is below 0"):
        parts_of(tmp_path, Forecast(horizon=2, transform="sqrt"), np.tile([1.0, -4.0], 20))


def test_judged_in_the_units_of_the_file(tmp_path):
    values = np.tile([1.0, 5.0, 3.0], 20) + np.arange(60)
    task = Forecast(horizon=3, period=3)
    window = parts_of(tmp_path, task, values).test[0]
    right = task.reference(window)
    guess = task.with_target(window, right)
    assert np.allclose(guess.future, window.future)
    off = type(right)(right.mean + 6, right.quantiles + 6)
    found = {name: value_of(name, [one]) for name, one in task.score(window, off, 0.0).items()}
    assert found["mae"] == pytest.approx(6) and found["rmse"] == pytest.approx(6)
    assert found["mase"] == pytest.approx(2)  # the seasonal naive is off by 3
    deviation = values[: window.insample_end - 3].std()
    assert found["scaled_mse"] == pytest.approx((6 / deviation) ** 2)
    assert found["coverage_80"] == 0 and found["crps"] == pytest.approx(6)


def test_naive_runs_from_file_to_answer(data):
    settings = {"task.horizon": 6, "data.test_fraction": 0.2}
    run = seqloom.train(
        "forecast", data / "series.csv", model="seasonal-naive", runs=data, settings=settings
    )
    found = run.evaluate()
    assert len(found.examples) == 4 and not found.has_diverged
    assert 0.3 < found.values()["mase"] < 2.5 and 0.5 < found.values()["coverage_80"] <= 1
    answer = found.predictions[-1].value
    assert answer.times == tuple(f"2019-{month:02}" for month in range(7, 13))
    notes = run.events()[0]["notes"]
    assert '"month" is read as the time' in notes and "the step is a month (from month)" in notes
    assert seqloom.load(run.folder).predict(["40 41 42"])[0].mean.shape == (6, 1)
    assert len(run.evaluate(data / "series.csv").examples) == 18  # a file of its own


def test_folds_are_trained_from_the_command(data):
    from seqloom.experiments.cross_validate import cross_validate

    came = cross_validate(
        "forecast", data / "series.csv", folds=3, model="naive", runs=data,
        settings={"task.horizon": 4},
    )  # fmt: skip
    assert came.shared == 0.5  # a block for each fold, of which 1, 2 and 3 come before
    assert not came.failed and not came.left and len(came.runs) == 3


def test_streams_of_numbers(data):
    run = seqloom.train("forecast", data / "series.csv", model="naive", runs=data)
    stream = Stream(run.model, run.task)
    stream.step("41.5")
    assert stream.step("nan").value == "41.5" and stream.step("").value == "41.5"
    assert stream.step(43.25).value == "43.25"
    for wrong in ("1 2", "x", "inf"):
        with pytest.raises(SeqloomError, match="D224"):
            stream.step(wrong)


def test_constant_series_are_told_and_survive(tmp_path):
    task = Forecast(horizon=5)
    found = parts_of(tmp_path, task, np.full(60, 7.0))
    assert 'constant in training: "x"; a forecast of it tells nothing' in task.notes()
    assert np.isfinite(task.encode(found.train[0]).target).all()
    judged = task.score(found.test[0], task.reference(found.test[0]), 0.0)
    assert all(math.isfinite(value_of(name, [one])) for name, one in judged.items())


def test_missing_numbers_are_neither_read_nor_judged(tmp_path):
    values = np.arange(40.0)
    values[[5, 36, 37]] = np.nan
    task = Forecast(horizon=4, scaling="none")
    window = parts_of(tmp_path, task, values).test[0]
    assert np.isnan(task.encode(window).source[5, 0])
    judged = task.score(window, task.reference(window), 3.0)
    assert judged["mae"] == (0.0, 2.0) and judged["loss"] == (3.0, 2.0)


BAD = {
    "far": ("D220", {"horizon": 60}, {}, "the longest series has 40"),
    "season": ("D221", {"period": 400}, {}, "a seasonal period of 400 steps is longer"),
    "log": ("D222", {"transform": "log"}, {}, "0 at 0 has no logarithm"),
    "steps": ("D226", {"train_steps": 30, "valid_steps": 10, "test_steps": 9}, {}, "49 steps"),
    "folds": ("U307", {"horizon": 20}, {"folds": 5}, "no room"),
    "one fold": ("U100", {}, {"folds": 1}, "nothing would be left"),
    "no fold": ("U101", {}, {"folds": 3, "fold": 4}, "no fold 4"),
    "place": ("U302", {"calendar": ("hours",)}, {}, "there is no calendar feature 'hours'"),
    "dates": ("U303", {"calendar": ("hour",)}, {}, "calendar features need dates"),
    "below": ("U306", {"horizon": -1}, {}, "horizon = -1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_sentence_for_every_bad_setting(tmp_path, name):
    code, options, data, words = BAD[name]
    with pytest.raises(SeqloomError) as caught:
        parts_of(tmp_path, Forecast(**options), np.arange(40.0), **data)
    assert caught.value.code == code and words in caught.value.problem


def test_other_columns_than_in_training_are_refused(tmp_path):
    task = Forecast(horizon=2, together=True)
    parts_of(tmp_path, task, np.ones((30, 2)).cumsum(0), head="t,a,b")
    other = write(tmp_path, np.arange(30.0), "other.csv")
    with pytest.raises(SeqloomError, match="D223.*1 numbers here, and in training it had 2"):
        task.read(Path(other), Data(columns="value=x"))
    with pytest.raises(SeqloomError, match='D227.*no column "a"'):
        task.read(Path(other), Data())
    with pytest.raises(SeqloomError, match="D224"):
        task.question("1 2 3; 4 5")


def test_learned_columns_are_found_by_their_names(tmp_path):
    """Other columns of numbers, or another order of them, change nothing; without them: an error."""
    values = np.ones((30, 2)).cumsum(0) * [1, 10]
    together, alone = Forecast(horizon=2, together=True), Forecast(horizon=2)
    for task in (together, alone):
        parts_of(tmp_path, task, values, head="t,a,b")
    more = np.column_stack([np.arange(30), values[:, ::-1]])
    other = Path(write(tmp_path, more, "other.csv", head="t,noise,B,a"))
    (window,) = together.read(other, Data())
    np.testing.assert_array_equal(window.series.values, values)
    assert [one.series.name for one in alone.read(other, Data())] == ["a", "B"]
    strange = Path(write(tmp_path, values, "strange.csv", head="t,c,d"))
    for task in (together, alone):
        with pytest.raises(SeqloomError, match='D227.*"strange.csv" has no column "a"'):
            task.read(strange, Data())
    assert len(alone.read(strange, Data(columns="value=c"))) == 1, "the user says so"
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n5,6\n")
    assert len(alone.read(tmp_path / "plain.csv", Data())) == 2, "numbers without names"
    with pytest.raises(SeqloomError, match="D227"):
        read_parts(Forecast(), Data(train=write(tmp_path, values, head="t,a,b"), test=str(strange)))


def test_tables_are_forecast_not_predicted(tmp_path):
    task = Forecast(horizon=2)
    parts_of(tmp_path, task, np.arange(30.0))
    with pytest.raises(SeqloomError, match="U318"):
        task.inputs(tmp_path / "series.csv", Data())
    assert task.inputs(tmp_path / "typed.txt", Data()) is None


def test_typed_numbers_need_no_inputs(tmp_path):
    task = Forecast(horizon=2)
    parts_of(tmp_path, task, np.arange(60.0).reshape(30, 2), head="t,x,p", columns="known=p")
    with pytest.raises(SeqloomError, match="U304.*p"):
        task.question("1 2 3")
    assert len(task.encode_value("5 6")[0]) == 2


@has_sets
def test_m4_is_cut_as_its_competition_did():
    folder = Path(os.environ["SEQLOOM_DATA"]) / "m4-hourly"
    made = Recipe(
        {"train": str(folder / "Hourly-train.csv"), "test": str(folder / "Hourly-test.csv")},
        {"name": "forecast", "horizon": 48, "period": 24},
    )
    task = made.build_task()
    found = read_parts(task, made.build_data())
    assert len(found.train) == len(found.valid) == len(found.test) == 414
    first = found.test[0]
    assert (first.series.name, first.origin, first.end, first.insample_end) == ("H1", 700, 748, 700)
    assert found.train[0].end == 700 - 48
