"""Captions of views of random numbers, with ties, gaps, constants and extremes, are true."""

import math
import re

import numpy as np
import pytest

from seqloom.inspection.neuron_features import Feature, series_features, token_features
from seqloom.inspection.neurons import cell_features
from seqloom.prediction import QuantileForecast
from seqloom.views import (
    ActivationsView,
    AttentionView,
    AttributionTarget,
    AttributionView,
    ForecastView,
    GateStatistics,
    GateStatisticsView,
    GatesView,
    HeadsView,
    NeuronView,
    fan_charts,
)
from seqloom.views.activations import bound_of
from seqloom.views.base import intervention_effect
from seqloom.views.calibration import CalibrationBin, ReliabilityView
from seqloom.views.confusion_matrix import ConfusionMatrixView
from seqloom.views.decomposition import Component, ComponentsView
from seqloom.views.gradient_flow import GradientFlow, GradientFlowView
from seqloom.views.heads import AttentionHead, AttentionLayer
from seqloom.views.hierarchy import HierarchyView
from seqloom.views.hmm import TrellisView
from seqloom.views.ladder import LadderView, RungPoint
from seqloom.views.metric_by_length import LengthBucket, LengthCurve, LengthView
from seqloom.views.next_token import LabelProbabilitiesView, NextTokenView, SamplingDistribution
from seqloom.views.piano_roll import PianoRollView, name_of
from seqloom.views.segmentation import Regime, RegimesView
from seqloom.views.surprisal import SurprisalView
from seqloom.views.tags import TaggedToken, TagsView

from ..sentences import check, is_share, near

SEEDS = range(60)


def rows(rng, count, size):
    """Distributions: smooth, peaked, uniform, tied, and with zeros."""
    shares = rng.dirichlet(np.full(size, rng.choice([0.05, 0.5, 5, 500])), count)
    kind = rng.integers(4)
    if kind == 0:
        shares = np.round(shares * 4) / 4 + 1e-3
    elif kind == 1:
        shares[:] = 1
    return shares / shares.sum(1, keepdims=True)


def numbers(rng, *shape):
    """Values: any size, ties, constants, and rounded ones."""
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-4, 4)
    return [values, np.round(values), np.zeros(shape), np.full(shape, values.flat[0])][
        rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])
    ]


def names(count, word="t"):
    return [f"{word}{number}" for number in range(count)]


def attention(rng):
    shape = rng.integers(1, 9, size=2)
    return AttentionView(names(shape[1]), names(shape[0], "q"), rows(rng, *shape), "m")


def heads(rng):
    size, count = rng.integers(3, 9), rng.integers(1, 5)
    made = [AttentionHead.of(rows(rng, size, size), is_same=True) for _ in range(count)]
    made += [AttentionHead.of(np.zeros((size, size)), is_same=True)] * int(rng.integers(2))
    layers = [AttentionLayer(name, names(size), names(size), made) for name in ("one", "two")]
    return HeadsView(layers, names(size), names(size), "m")


def hierarchy(rng):
    lengths = rng.integers(0, 5, size=rng.integers(0, 5))
    sentences = [names(length) for length in lengths]
    words = [rows(rng, 1, length)[0] if length else [] for length in lengths]
    return HierarchyView(
        sentences, rows(rng, 1, len(lengths))[0] if len(lengths) else [], words, "m"
    )


def next_token(rng):
    size, length = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    shares = rows(rng, 1, size)[0]
    kept = np.where(shares >= np.median(shares), shares, 0)
    sampling = SamplingDistribution(shares)
    if rng.integers(2):
        sampling = SamplingDistribution(kept / kept.sum(), top_k=2)
    actual = int(rng.integers(size)) if rng.integers(2) else None
    return NextTokenView(names(length), int(rng.integers(-1, length)), names(size, "n"), shares,
                         sampling, "m", actual=actual)  # fmt: skip


def choices(rng):
    size, several = int(rng.integers(1, 60)), bool(rng.integers(2))
    shares = rng.uniform(size=size) ** rng.integers(1, 6) if several else rows(rng, 1, size)[0]
    return LabelProbabilitiesView(["a"], names(size, "l"), shares, "m", several=several)


def surprise(rng):
    length = int(rng.integers(1, 9))
    bits = rng.choice([0.5, 2.0, math.inf, 7.25], size=length)
    ranks = rng.integers(1, 4, size=length)
    bits[0], ranks[0] = math.nan, 0
    return SurprisalView(names(length), bits, ranks.tolist(), "m")


def tags(rng):
    length = int(rng.integers(0, 6))
    made = [TaggedToken(f"L{rng.integers(3)}", float(p), (("other", float(1 - p)),))
            for p in rng.choice([0.5, 0.75, 0.994, 1.0], size=length)]  # fmt: skip
    return TagsView(names(length), made, ["L0", "L1", "L2"], [("L0", 0, 1)] * (length > 2), "m")


def trellis(rng):
    time, states = int(rng.integers(0, 8)), int(rng.integers(1, 30))
    shares = [rows(rng, time, states) if time else np.zeros((0, states)) for _ in range(2)]
    path = rng.integers(states, size=time).tolist()
    return TrellisView(names(time), names(states, "s"), *shares, path, "m")


def states(rng):
    shape = int(rng.integers(1, 9)), int(rng.integers(1, 80))
    return ActivationsView(names(shape[0]), numbers(rng, *shape), "m", layers=["layer 1"], layer=0)


def gates(rng):
    shape = int(rng.integers(1, 9)), int(rng.integers(1, 80))
    kinds = [rng.uniform(size=shape), np.ones(shape), np.zeros(shape), rng.uniform(size=shape) ** 9]
    picked = {name: kinds[rng.integers(4)] for name in ("gate.input", "gate.forget", "gate.update")}
    return GatesView(names(shape[0]), picked, "m")


def gradient_flow(rng):
    flows = []
    for name in names(int(rng.integers(1, 4)), "model "):
        rate, lags = rng.choice([0.3, 0.99, 1.0, 1.4, 3.0]), int(rng.integers(1, 300))
        with np.errstate(over="ignore"):
            state = (np.float64(rate) ** np.arange(lags) * rng.uniform(0.9, 1.1, lags)).tolist()
        flows.append(GradientFlow(name, state, state, None, 1.0))
    return GradientFlowView(flows)


def forecast(rng):
    """Seasons, jumps, gaps: what follows may go another way than from the last to the last."""
    ahead, past = int(rng.integers(1, 15)), int(rng.integers(0, 30))
    width = int(rng.integers(1, 6))
    values = np.array(numbers(rng, past, width) if past else np.zeros((0, width)))
    values[rng.uniform(size=values.shape) < 0.2] = np.nan
    mean = np.array(numbers(rng, ahead, width)).cumsum(0)
    deviation = np.full((ahead, width), float(rng.uniform(0.1, 5)))
    known = mean + rng.normal(size=mean.shape) * 3
    known[rng.uniform(size=known.shape) < 0.3] = np.nan
    foreseen = QuantileForecast.normal(mean, deviation)
    charts = fan_charts(names(width, "c"), values, foreseen, (), known if rng.integers(2) else None)
    return ForecastView(charts, "m")


def components(rng):
    time = int(rng.integers(1, 9))
    made = [
        Component(name, np.asarray(numbers(rng, time)), np.full(time, float(rng.uniform(0, 20))))
        for name in ("level", "trend", "season")
    ]
    return ComponentsView(made, "m")


def influence(rng):
    targets, source = int(rng.choice([1, 1, 3])), int(rng.integers(1, 9))
    unit = str(rng.choice(["nats", "share", "number", "weight"]))
    values = np.asarray(numbers(rng, targets, source))
    if unit == "share":
        values = rows(rng, targets, source)
    elif rng.integers(3) == 0:
        values = np.where(rng.uniform(size=values.shape) < 0.3, math.nan, values)
    made = [AttributionTarget(f"o{n}", n + 1, "tok" * (targets > 1)) for n in range(targets)]
    distance = unit == "nats" and targets == 1
    return AttributionView(names(source), made, values, "m", by="x", unit=unit, distance=distance)


def cell(rng):
    """Cells of noise, constants, and such as follow something, some with a peak in the middle."""
    time = 90
    series = np.cumsum(rng.normal(size=time))
    features = series_features(series)
    values = rng.normal(scale=0.3, size=(time, 12))
    values[:, 0] = rng.choice([0.0, 0.37, -1.0])  # clamped
    values[:, 1] = np.where(np.arange(time) < 3, 1e-4, 0)
    values[:, 2] += np.arange(time) / 20
    values[:, 3] -= abs(np.arange(time) - 45) / 9
    values[:, 4] = np.maximum(0, values[:, 4])  # many equal values
    values[:, 5] -= series / 2
    found = cell_features(values, features)
    assert not {0, 1} & {one.cell for one in found}
    shown = int(rng.integers(12))
    return NeuronView(names(time), values[:, shown], "m", layers=["layer 1"], layer=0, cell=shown,
                      cells=12, features=found, bound=bound_of(values))  # fmt: skip


MAKERS = [attention, heads, hierarchy, next_token, choices, surprise, tags, trellis, states, gates,
          gradient_flow, forecast, components, influence, cell]  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_a_caption_says_what_its_numbers_say(maker):
    for seed in SEEDS:
        check(maker(np.random.default_rng(seed)).to_json())


def test_a_cell_that_is_clamped_follows_nothing():
    """Equal values are in one quarter: their order in time is no order of theirs."""
    text = [*"one two three.\nfour five six seven.\n" * 4]
    for value in (0.0, 0.25, -3.0):
        assert cell_features(np.full((len(text), 5), value), token_features(text)) == []


def test_a_peak_in_the_middle_is_no_rise():
    place = np.arange(120.0)
    feature = Feature("position", place, is_number=True)
    values = np.stack([np.minimum(place, 95 - place), place], axis=1)
    told = {one.cell: one.sentence for one in cell_features(values, [feature])}
    assert told[0].startswith("Cell 0 varies with") and told[1].startswith("Cell 1 rises with")


def test_a_forecast_that_falls_is_not_told_to_rise():
    """The last observation is far below the first step, and the forecast falls from there."""
    mean = np.linspace(30.0, 20.0, 6)[:, None]
    chart = fan_charts([""], np.array([[10.0]]), QuantileForecast.normal(mean, np.ones((6, 1))))
    caption = ForecastView(chart, "m").caption
    assert caption == "Falls from 30 at 2 to 20 at 7 (80 % interval 18.7 to 21.3), after 10 at 1."


def test_what_only_a_picture_leaves_out_is_not_said_of_the_numbers():
    """The studio draws all that the JSON has, and a file of it names no picture."""
    rng = np.random.default_rng(0)
    views = [
        GatesView(names(5), {"gate.input": rng.uniform(size=(5, 192))}, "m"),
        ActivationsView(names(5), rng.normal(size=(5, 192)), "m", layers=["layer 1"], layer=0),
        TrellisView(
            names(4), names(40, "s"), rows(rng, 4, 40), rows(rng, 4, 40), [0, 1, 2, 3], "m"
        ),
        LabelProbabilitiesView(["a"], names(60), rows(rng, 1, 60)[0], "m"),
        ConfusionMatrixView(names(60), rng.integers(9, size=(60, 60)), "m"),
    ]
    for view in views:
        assert "drawn" not in " ".join(view.to_json()["notes"]) and "drawn" in view.to_svg()


# --- Views of evaluations -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_other_captions(seed):
    rng = np.random.default_rng(seed)
    for told in (_confusion, _reliability, _ladder, _lengths, _gate_shares, _regimes, _piano):
        told(rng)


def _confusion(rng):
    size = int(rng.integers(1, 6))
    counts = rng.integers(0, 4, size=(size, size)) * int(rng.integers(2))
    caption = ConfusionMatrixView(names(size, "l"), counts, "m").caption
    total, hits = int(counts.sum()), int(np.trace(counts))
    if not total:
        assert caption == "There are no predictions to count."
        return
    found = re.match(r"(\d+) of (\d+) are correct \((.*?)\)\.", caption)
    assert found and (int(found[1]), int(found[2])) == (hits, total)
    assert is_share(found[3], hits / total)
    wrong = counts - np.diag(np.diag(counts))
    if not wrong.any():
        assert "Most frequent" not in caption
        return
    row, column, most, of, share = re.search(
        r'"l(\d)" predicted as "l(\d)" \((\d+) of (\d+), (.*?)\)\.$', caption
    ).groups()
    assert int(most) == wrong.max() == counts[int(row), int(column)]
    assert int(of) == counts[int(row)].sum() and is_share(share, int(most) / int(of))


def _reliability(rng):
    count = rng.integers(0, 30, size=5)
    count[0] += 1
    bins = [
        CalibrationBin(n / 5, (n + 1) / 5, int(count[n]), float(rng.uniform(n / 5, (n + 1) / 5)),
                       float(rng.uniform())) for n in range(5)
    ]  # fmt: skip
    error = float(rng.uniform())
    caption = ReliabilityView(bins, error, "m").caption
    sure = sum(one.count * one.confidence for one in bins) / count.sum()
    right = sum(one.count * one.accuracy for one in bins) / count.sum()
    assert near(re.search(r"error ([\d.]+) %", caption)[1], 100 * error)
    said = re.search(r"ean confidence,? ([\d.]+) %.*accuracy,? ([\d.]+) %\.$", caption)
    assert near(said[1], 100 * sure) and near(said[2], 100 * right)
    kind = "Over" if sure > right else "Under"
    assert ("within a point" in caption) == (abs(sure - right) < 0.01)
    assert "within" in caption or f"{kind}confident" in caption


def _ladder(rng):
    values = rng.choice([0.5, 1.0, 2.0, math.nan], size=4)
    values[rng.integers(4)] = 1.5
    lower = bool(rng.integers(2))
    rungs = [
        RungPoint(f"r{n}", float(n + 1), float(v), float(v), float(v)) for n, v in enumerate(values)
    ]
    found = re.match(
        r"Best: r(\d) with ([\d.]+) loss, after (\d+) s\.",
        LadderView(rungs, "loss", lower, "m").caption,
    )
    best = np.nanmin(values) if lower else np.nanmax(values)
    assert values[int(found[1])] == best == float(found[2]) and int(found[3]) == int(found[1]) + 1


def _lengths(rng):
    buckets = tuple(LengthBucket(n, n + 1, 3, float(rng.uniform()), 0.0, 1.0) for n in range(1, 5))
    caption = LengthView([LengthCurve("m", buckets)], "loss").caption
    first, last = re.search(r"m: ([\d.]+) at 1-2, ([\d.]+) at 4-5\.", caption).groups()
    assert near(first, buckets[0].value) and near(last, buckets[-1].value)


def _gate_shares(rng):
    gates = [
        GateStatistics("m", str(n), "forward", "input", 0.5, *rng.choice([0.0, 0.2, 0.5], 2), 9)
        for n in range(3)
    ]
    caption = GateStatisticsView(gates).caption
    for word, part in (("open", "open"), ("shut", "shut")):
        most = max(getattr(gate, part) for gate in gates)
        found = re.search(
            rf"Most often {word}: the input gate of layer (\d) forward of m \((.*?)\)", caption
        )
        assert (found is None) == (most == 0)
        if found:
            assert getattr(gates[int(found[1])], part) == most and is_share(found[2], most)


def _regimes(rng):
    shares, path = rows(rng, 1, 3)[0], rng.integers(3, size=9).tolist()
    regimes = [
        Regime(str(n + 1), rng.normal(size=1), np.ones(1), float(shares[n]),
               float(rng.choice([2.5, math.inf])), np.full(3, 1 / 3)) for n in range(3)
    ]  # fmt: skip
    caption = RegimesView(regimes, path, rng.normal(size=(9, 1)), ["x"], names(9, "t"), "m").caption
    name, share, mean, stays, now, since = re.fullmatch(
        r"State (\d) has (.*?) of the steps, with a mean of (.*?), and (.*?);"
        r" the current state is (\d), since t(\d)\.",
        caption,
    ).groups()
    most = regimes[int(name) - 1]
    assert most.fraction == max(shares) and is_share(share, most.fraction)
    assert near(mean, float(most.mean[0]))
    assert ("absorbing" in stays) == math.isinf(most.duration)
    assert int(now) - 1 == path[-1] and set(path[int(since) :]) == {path[-1]}
    assert int(since) == 0 or path[int(since) - 1] != path[-1]


def _piano(rng):
    frames = [sorted(set(rng.integers(60, 66, size=rng.integers(3)).tolist())) for _ in range(6)]
    given = int(rng.integers(6))
    caption = PianoRollView(frames, "m", prompt_steps=given).caption
    own = frames[given:]
    sounding = [pitch for frame in own for pitch in frame]
    if not sounding:
        assert caption.startswith("No notes in")
        return
    assert f"from {name_of(min(sounding))} to {name_of(max(sounding))}" in caption
    assert near(re.search(r", ([\d.]+) notes", caption)[1], len(sounding) / len(own))
    later = sum(map(len, own[1:]))
    held = sum(len({*a} & {*b}) for a, b in zip(own, own[1:], strict=False))
    if found := re.search(r"; (\d+) % of them are held", caption):
        assert near(found[1], 100 * held / later)
    assert ("silence" in caption) == any(not frame for frame in own)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_effect_of_an_intervention_names_a_number_that_changed_most(seed):
    rng = np.random.default_rng(seed)
    before = np.round(rng.normal(size=(4, 2)), 2)
    after = before + np.round(rng.normal(size=(4, 2)), 2) * (rng.uniform(size=(4, 2)) < 0.4)
    tables = [
        [
            ["", "one", "two"],
            *([f"r{n}", *(f"{v:.2f}" for v in row)] for n, row in enumerate(values)),
        ]
        for values in (before, after)
    ]
    effect = intervention_effect(*tables)
    change, spread = abs(after - before), np.ptp(np.concatenate([before, after]), axis=0)
    if not change.any():
        assert effect == "Nothing shown here changes."
        return
    column, row, old, new = re.fullmatch(
        r"Largest change: (one|two) of r(\d), from (\S+) to (\S+)\.", effect
    ).groups()
    place = int(row), ("one", "two").index(column)
    assert (float(old), float(new)) == pytest.approx((before[place], after[place]))
    assert (change / spread)[place] == pytest.approx((change / spread).max())
