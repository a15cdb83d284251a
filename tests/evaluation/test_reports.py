"""Reports by label, length and horizon, and verdicts of every metric, beside counts by hand."""

import math

import numpy as np
import pytest
from sklearn.metrics import classification_report as oracle

from seqloom.data.series.schema import TimeSeries
from seqloom.data.series.windows import ForecastWindow
from seqloom.errors import UsageError
from seqloom.evaluation import by_length
from seqloom.evaluation.by_label import calibration_view, classification_report, label_decisions
from seqloom.evaluation.conformal import _num_independent
from seqloom.evaluation.evaluate import Evaluation, ExamplePrediction, evenly_spaced
from seqloom.evaluation.significance import (
    ComparedRun,
    common_metrics,
    describe_difference,
    difference,
    paired_tests,
    settings_diff,
    verdict,
)
from seqloom.metrics import METRICS
from seqloom.metrics.labels import Decision
from seqloom.prediction import QuantileForecast
from seqloom.recipe import Recipe
from seqloom.task import LabelDecisions
from seqloom.tasks.forecast_answer import ForecastAnswer

SEEDS = range(5)


def drawn(seed, *, examples=30, places=4):
    """Labels of several places, right and guessed, with what the model thought of its guesses."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(examples):
        pairs = zip(rng.choice(list("abcd"), places), rng.choice(list("bcde"), places), strict=True)
        made.append([Decision(str(r), str(g), float(rng.random())) for r, g in pairs])
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_a_report_is_that_of_scikit_learn(seed):
    made = drawn(seed)
    found = classification_report([LabelDecisions("label", one) for one in made])
    right, guessed = (
        [getattr(d, side) for one in made for d in one] for side in ("right", "guessed")
    )
    wanted = oracle(right, guessed, output_dict=True, zero_division=0)
    assert [one.label for one in found.scores] == list("abcde")
    for one in found.scores:
        theirs = wanted[one.label]
        assert (one.precision, one.recall, one.f1, one.right) == pytest.approx(
            (theirs["precision"], theirs["recall"], theirs["f1-score"], theirs["support"])
        )
    macro = wanted["macro avg"]
    assert found.macro() == pytest.approx(
        {"precision": macro["precision"], "recall": macro["recall"], "f1": macro["f1-score"]}
    )
    micro = found.micro()
    assert micro.f1 == micro.precision == pytest.approx(wanted["accuracy"])
    told = found.as_dict()
    assert told["micro"]["f1"] == micro.f1 and told["what"] == "label"
    assert np.sum(told["confusion"]["counts"]) == len(right)
    assert np.trace(told["confusion"]["counts"]) == micro.hits


def test_entities_count_as_a_whole():
    """Half an entity is none, and one of another kind is two mistakes."""
    decided = [
        LabelDecisions(
            "entity",
            [Decision("B-X", "B-X"), Decision("I-X", "O")],
            right=[("X", 0, 2), ("Y", 5, 6)],
            guessed=[("X", 0, 1), ("Y", 5, 6), ("X", 8, 9)],
        ),
        LabelDecisions("entity", [], right=[("Z", 0, 1), ("X", 3, 4)], guessed=[("X", 3, 4)]),
    ]
    found = {one.label: one for one in classification_report(decided).scores}
    assert {name: (s.hits, s.guessed, s.right) for name, s in found.items()} == {
        "X": (1, 3, 2),
        "Y": (1, 1, 1),
        "Z": (0, 0, 1),
    }
    report = classification_report(decided)
    assert (report.micro().hits, report.micro().guessed, report.micro().right) == (2, 4, 4)
    assert report.macro()["recall"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert report.confusion.matrix().sum() == 2, "positions are counted beside them"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reliability_diagram_has_the_counts_of_its_bins(seed):
    made = drawn(seed)
    view = calibration_view([LabelDecisions("label", one) for one in made], "m")
    flat = [decision for one in made for decision in one]
    assert sum(one.count for one in view.bins) == len(flat)
    for one in view.bins:
        inside = [d for d in flat if one.low <= d.confidence < one.high]
        assert one.high - one.low == pytest.approx(0.1)
        assert one.count == len(inside)
        assert one.confidence == pytest.approx(np.mean([d.confidence for d in inside]))
        assert one.accuracy == pytest.approx(np.mean([d.right == d.guessed for d in inside]))


def test_what_gives_no_labels_or_no_probabilities_has_no_report():
    nothing = Evaluation(["x"], [None], {}, 0.0)
    with pytest.raises(UsageError) as told:
        label_decisions(Recipe(task={"name": "translate"}).build_task(), nothing)
    assert told.value.code == "U096"
    unsure = LabelDecisions("label", [Decision("a", "a", 0.5), Decision("a", "b")])
    with pytest.raises(UsageError) as told:
        calibration_view([unsure], "m")
    assert told.value.code == "U097"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("step", [1, 3, 10])
def test_buckets_of_lengths_are_equally_wide(seed, step):
    """But for the last, which is open where one in twenty is longer."""
    rng = np.random.default_rng(seed)
    lengths = (rng.gamma(2, 8, 60).astype(int)).tolist()
    high = max(1.0, float(np.quantile(lengths, 0.95)))
    last = math.ceil(high / step)  # the number of the last bucket, from 1
    wanted: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        number = next((n for n in range(1, last) if length <= n * step), last)
        wanted.setdefault(number, []).append(index)
    found = by_length.length_buckets(lengths, step)
    assert [(first, indices) for first, _, indices in found] == [
        (step * (n - 1) + 1, indices) for n, indices in sorted(wanted.items())
    ]
    for first, end, indices in found:
        is_open = first == step * (last - 1) + 1 and max(lengths) > step * last
        assert end == (None if is_open else first + step - 1)
        assert max(lengths[n] for n in indices) <= (end or math.inf)


@pytest.mark.parametrize("step", [0, 2, 5])
def test_metrics_by_horizon_are_those_of_its_steps_alone(step):
    """Sums over the windows of the errors at these steps, in the units of the file."""
    task = Recipe(task={"name": "forecast", "horizon": 7, "period": 1}).build_task()
    rng = np.random.default_rng(1)
    one = TimeSeries("a", rng.normal(size=(40, 1)).cumsum(0), np.zeros((40, 0)))
    one.values[33] = np.nan
    windows = [ForecastWindow(one, 0, origin, origin + 7, 20) for origin in (20, 26, 33)]
    drawn = [QuantileForecast.normal(rng.normal(size=(7, 1)), np.ones((7, 1))) for _ in windows]
    forecasts = [ForecastAnswer(one.mean, one.quantiles) for one in drawn]
    tallies = [task.score(w, f, 0.0) for w, f in zip(windows, forecasts, strict=True)]
    every = {name: [one[name] for one in tallies] for name in tallies[0]}
    answers = [ExamplePrediction(forecast, 0.0) for forecast in forecasts]
    found = by_length.by_horizon(task, Evaluation(windows, answers, every, 0.0), "m", step)
    width = step or 1
    assert found.buckets == [(n, min(n + width - 1, 7)) for n in range(1, 8, width)]
    for (first, last), mae, coverage in zip(
        found.buckets, found.values["mae"], found.values["coverage_80"], strict=True
    ):
        errors, inside = [], []
        for window, forecast in zip(windows, forecasts, strict=True):
            for k in range(first - 1, last):
                actual = one.values[window.origin + k, 0]
                if not math.isnan(actual):
                    errors.append(abs(actual - forecast.mean[k, 0]))
                    low, high = forecast.interval(0.8)
                    inside.append(low[k, 0] <= actual <= high[k, 0])
        assert mae == pytest.approx(np.mean(errors))
        assert coverage == pytest.approx(np.mean(inside))
    assert "loss" not in found.values and math.isnan(one.values[33, 0])
    assert not np.isnan(one.values[20:33]).any(), "what is hidden is hidden in a copy"


@pytest.mark.parametrize(("size", "most"), [(0, 5), (4, 5), (5, 5), (11, 5), (1000, 7)])
def test_examples_for_evaluations_are_taken_evenly(size, most):
    plain, text = (
        Recipe(task={"name": "language", "layout": layout}).build_task()
        for layout in ("lines", "stream")
    )
    found = evenly_spaced(plain, list(range(size)), most)
    assert len(found) == min(size, most) and found == sorted(set(found))
    if size > most:
        steps = np.diff([*found, size])
        assert found[0] == 0 and steps.max() - steps.min() <= 1
    assert evenly_spaced(text, list(range(size)), most) == list(range(min(size, most)))


def run_of(name, metric, values):
    tallies = [(value, 1.0) for value in values]
    values_of = {metric: METRICS[metric].measure(tallies)}
    return ComparedRun(
        name, {}, values_of, {metric: tallies}, tuple(range(len(values))), 1.0, 1, 1, 1.0
    )


SIMPLE = [name for name, metric in METRICS.items() if METRICS[name].value is METRICS["loss"].value]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", SIMPLE)
def test_the_better_of_two_is_named_whichever_way_its_metric_goes(name, swapped):
    """Low errors, high scores, and a coverage near its level; by the same amount on 40 examples."""
    metric, rng = METRICS[name], np.random.default_rng(3)
    noise = 0.02 * rng.random(40)
    low, high = 0.3 + noise, 0.7 + noise[::-1]  # of a coverage the higher is nearer its aim
    runs = [run_of("low", name, low), run_of("high", name, high)]
    runs = runs[::-1] if swapped else runs
    better, worse = (
        ("low", "high") if metric.lower_is_better and metric.aim is None else ("high", "low")
    )
    told = verdict(runs, paired_tests(runs))
    assert told.startswith(f"{better} is better: {metric.title} ") and f" of {worse}" in told
    assert "more than chance" in told
    found = difference(name, *runs)
    assert found.value == pytest.approx(runs[1].metrics[name].value - runs[0].metrics[name].value)
    sentence = describe_difference(name, runs[0].name, runs[1].name, found)
    if metric.aim is None:
        assert f"{better} is better than {worse} by" in sentence
    else:
        more = "less" if swapped else "more"
        assert f"{more} than {runs[0].name}" in sentence and sentence.endswith("is right")


def test_settings_that_differ_and_metrics_that_all_have():
    def run(settings, *names):
        found = {name: METRICS[name].measure([(1.0, 1.0)]) for name in names}
        return ComparedRun("r", settings, found, {}, (), 1.0, 1, 1, 1.0)

    runs = [
        run({"a": 1, "b": 2, "c": 3}, "loss", "accuracy", "mae"),
        run({"a": 1, "b": 5}, "mae", "loss"),
        run({"a": 1, "b": 2, "d": None}, "mae", "loss", "smape"),
    ]
    differ, equal = settings_diff(runs)
    assert differ == {"b": [2, 5, 2], "c": [3, None, None]}
    assert equal == {"a": 1, "d": None}
    assert common_metrics(runs) == ["loss", "mae"]


@pytest.mark.parametrize(
    ("spans", "count"),
    [
        ([(10, 14), (14, 18), (18, 22)], 3),
        ([(10, 14), (11, 15), (12, 16), (13, 17), (14, 18)], 2),
        ([(10, 14)], 1),
        ([(10, 14), (30, 34)], 2),
        ([(10, 14), (12, 16)], 1.5),
    ],
)
def test_windows_that_overlap_count_as_those_that_cover_as_much(spans, count):
    series = [TimeSeries(name, np.zeros((40, 1)), np.zeros((40, 0))) for name in "ab"]
    windows = [ForecastWindow(one, 0, *span, 10) for one in series for span in spans]
    assert _num_independent(windows) == 2 * count
