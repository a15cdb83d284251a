"""Fan charts: intervals within intervals, actual values, and the sentence about them."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from seqloom.prediction import LEVELS, QuantileForecast
from seqloom.views import FanChart, ForecastView, fan_charts
from seqloom.views.draw.text import column_width
from seqloom.views.draw.time_axis import (
    finite_runs,
    format_number,
    format_tick,
    short_times,
    time_ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
MONTHS = [f"{1949 + n // 12}-{n % 12 + 1:02}" for n in range(144)]


def hand_made(width: int = 1, ahead: int = 12, *, known: bool = True, **more) -> ForecastView:
    """A season on a slope, and a fan that opens."""
    steps = np.arange(144)
    whole = (100 + steps + 30 * np.sin(steps / 2))[:, None] * np.arange(1, width + 1)
    cut = 144 - ahead
    deviation = np.sqrt(1 + np.arange(ahead))[:, None] * np.ones(width)
    foreseen = QuantileForecast.normal(whole[cut:] + 1.0, deviation)
    names = ["passengers", "freight", "mail", "crew", "fuel"][:width]
    actual = whole[cut:] if known else None
    return ForecastView(fan_charts(names, whole[:cut], foreseen, MONTHS, actual), "my-run", **more)


def areas(root: ElementTree.Element) -> list[list[tuple[float, float]]]:
    return [
        [tuple(map(float, pair.split(","))) for pair in polygon.get("points", "").split()]
        for polygon in root.iter(f"{SVG}polygon")
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_bands_lie_within_bands_at_every_step(dark: bool) -> None:
    root = ElementTree.fromstring(hand_made(dark=dark).to_svg())
    outer, middle, inner = areas(root)
    assert len(outer) == 2 * 13  # the last number of the past, and twelve to come
    for wide, narrow in ((outer, middle), (middle, inner)):
        upper, lower = (
            zip(wide[:13], narrow[:13], strict=True),
            zip(wide[13:], narrow[13:], strict=True),
        )
        assert all(a[0] == b[0] and a[1] <= b[1] for a, b in upper)
        assert all(a[0] == b[0] and a[1] >= b[1] for a, b in lower)
    fills = [polygon.get("fill") for polygon in root.iter(f"{SVG}polygon")]
    far = [abs(int(f[1:3], 16) - int("11" if dark else "ff", 16)) for f in fills if f]
    assert far == sorted(far) and len(set(far)) == 3  # each stands out more than the one around it


def test_dots_and_lines_stand_where_the_numbers_say() -> None:
    view = hand_made()
    (fan,) = view.charts
    root = ElementTree.fromstring(view.to_svg())
    dots = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter(f"{SVG}circle")]
    assert len(dots) == 12
    lines = {line.findtext(f"{SVG}title"): line for line in root.iter(f"{SVG}polyline")}
    mean = [tuple(map(float, p.split(","))) for p in lines["mean"].get("points", "").split()]
    past = [tuple(map(float, p.split(","))) for p in lines["history"].get("points", "").split()]
    assert mean[0] == past[-1] and len(past) == 96
    lower = [dot[1] - line[1] for dot, line in zip(dots, mean[1:], strict=True)]
    assert np.ptp(lower) < 0.05 and min(lower) > 0  # actual values are always 1 below the mean
    scale = lower[0]
    assert past[0][1] - past[-1][1] == pytest.approx(scale * (fan.past[-1] - fan.past[0]), rel=0.05)
    (now,) = [line for line in root.iter(f"{SVG}line") if line.findtext(f"{SVG}title") == "now"]
    assert float(now.get("x1", 0)) == pytest.approx(past[-1][0], abs=0.01)


def test_the_sentence_is_computed() -> None:
    assert hand_made().caption == (
        "Rises from 245 at 1959-12 to 265 at 1960-12 (80 % interval 260 to 269);"
        " highest 272 at 1960-11, lowest 206 at 1960-04."
        " The 80 % interval covers 12 of 12 actual values."
    )
    mean, past = np.full((2, 1), 5.0), np.array([[5.0], [np.nan]])
    calm = QuantileForecast.normal(mean, np.ones((2, 1)))
    (fan,) = fan_charts([""], past, calm, actual=np.array([[5.1], [9.0]]))
    told = ForecastView([fan], "x").caption
    assert (
        told
        == "Stays at 5 from 1 to 4 (80 % interval 3.72 to 6.28). The 80 % interval covers 1 of 2 actual values."
    )
    falls = QuantileForecast.normal(np.array([[1.0]]), np.ones((1, 1)))
    one, two = fan_charts(["a"], past, falls), fan_charts(["b"], past[:0], falls)
    told = ForecastView([*one, *two, *one, *one], "x").caption
    assert told.startswith(
        "a: falls from 5 at 1 to 1 at 3 (80 % interval -0.282 to 2.28). b: 1 is forecast at 1"
    )
    assert told.endswith("And 1 more.")


def test_the_coverage_counts_what_is_known() -> None:
    rng = np.random.default_rng(3)
    came = rng.normal(size=2000)
    came[::4] = np.nan
    foreseen = QuantileForecast.normal(np.zeros((2000, 1)), np.ones((2000, 1)))
    fan = FanChart("", np.zeros(0), foreseen.mean[:, 0], foreseen.quantiles[:, 0], actual=came)
    for share in (0.5, 0.8, 0.95):
        inside, known = fan.covered(share)
        assert known == 1500 and inside / known == pytest.approx(share, abs=0.03)


def test_several_numbers_stand_side_by_side() -> None:
    for width in (2, 5):
        root = ElementTree.fromstring(hand_made(width).to_svg())
        texts = [t.text for t in root.iter(f"{SVG}text")]
        assert "passengers" in texts and texts.count("now") == width
        assert sum(1 for _ in root.iter(f"{SVG}polygon")) == 3 * width
    both = hand_made().beside(hand_made(dark=True))
    assert [fan.name for fan in both.charts] == ["my-run · passengers"] * 2
    many = ForecastView(hand_made().charts * 15, "x")
    assert "the first 12 of 15 series are drawn" in many.to_svg()
    assert len(many.to_json()["series"]) == 15


def test_no_words_leave_the_picture() -> None:
    for view in (hand_made(), hand_made(5), hand_made(3)):
        root = ElementTree.fromstring(view.to_svg())
        width = float(root.get("width", 0))
        for text in root.iter(f"{SVG}text"):
            long = 0.56 * float(text.get("font-size", 0)) * column_width(text.text or "")
            shift = {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor", ""), 0.0)
            left = float(text.get("x", 0)) - shift * long
            assert left >= 0 and left + long <= width, text.text


def test_a_long_past_is_cut_and_that_is_told() -> None:
    foreseen = QuantileForecast.normal(np.zeros((10, 1)), np.ones((10, 1)))
    fans = fan_charts(["x"], np.zeros((5000, 1)), foreseen)
    assert len(ForecastView(fans, "x").charts[0].past) == 96
    assert ForecastView(fans, "x").notes == ("the last 96 of 5,000 steps of history are shown",)
    assert len(ForecastView(fans, "x", history=4000).charts[0].past) == 2990
    assert ForecastView(fans, "x", history=30).charts[0].times[0] == "4971"


def test_missing_numbers_are_gaps() -> None:
    past = np.array([[1.0], [2.0], [np.nan], [3.0], [np.nan], [4.0], [5.0], [np.nan]])
    foreseen = QuantileForecast.normal(np.full((3, 1), 4.0), np.ones((3, 1)))
    view = ForecastView(fan_charts(["x"], past, foreseen), "x")
    root = ElementTree.fromstring(view.to_svg())
    lines = list(root.iter(f"{SVG}polyline"))
    assert sorted(len(line.get("points", "").split()) for line in lines) == [2, 2, 3]
    assert sum(1 for _ in root.iter(f"{SVG}circle")) == 1  # the number that stands alone
    assert len(areas(root)[0]) == 6  # no band before the first step: the last number is missing
    assert view.to_json()["series"][0]["past"][2] is None
    assert view.to_text().split("\n")[2].count(" ") >= 3
    assert list(finite_runs([np.nan, 1, 2, np.nan, 3])) == [(1, 2), (4, 1)]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_text_never_exceeds_the_width(width: int) -> None:
    text = hand_made(2).to_text(width, ascii=True)
    assert max(map(column_width, text.split("\n"))) <= width and text.isascii()
    assert "│" in hand_made().to_text(width)


def test_saved_in_every_form(tmp_path: Path) -> None:
    view = hand_made(2)
    found = json.loads(view.save(tmp_path / "f.json").read_text("utf-8"))
    one = found["series"][1]
    assert found["view"] == "forecast" and one["name"] == "freight"
    assert list(one["quantiles"]) == [f"{level:g}" for level in LEVELS]
    assert len(one["times"]["ahead"]) == len(one["mean"]) == len(one["actual"]) == 12
    assert one["quantiles"]["0.5"] == pytest.approx(one["mean"]) and "paths" not in one
    assert hand_made(known=False).to_json()["series"][0]["actual"] is None
    rows = view.to_table()
    assert rows[0][:5] == ["series", "time", "mean", "50 % from", "50 % to"] and len(rows) == 25
    assert "<table>" in view.save(tmp_path / "f.html").read_text("utf-8")
    hand_made(dark=True).save(tmp_path / "f.png")
    with Image.open(tmp_path / "f.png") as image:
        assert image.getpixel((2, 2)) == (0x11, 0x14, 0x18)
        assert image.convert("RGB").getcolors(1 << 20) is not None


def test_sample_paths_are_lines_and_lists() -> None:
    paths = np.random.default_rng(1).normal(size=(30, 6, 1))
    view = ForecastView(
        fan_charts(["x"], np.zeros((4, 1)), QuantileForecast.from_samples(paths, keep=30)), "x"
    )
    root = ElementTree.fromstring(view.to_svg())
    titles = [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}polyline")]
    assert titles.count("sample path") == 8
    assert np.array(view.to_json()["series"][0]["paths"]).shape == (30, 6)


def test_what_is_no_fan_is_refused() -> None:
    good = hand_made().charts[0]
    with pytest.raises(ValueError, match="at least one fan chart"):
        ForecastView([], "x")
    with pytest.raises(ValueError, match="at least one step"):
        FanChart("", good.past, good.mean[:0], good.quantiles[:0])
    with pytest.raises(ValueError, match="108 times"):
        FanChart("", good.past, good.mean, good.quantiles, ("a",))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (MONTHS, [(12, "1950"), (36, "1952"), (60, "1954"), (84, "1956"), (108, "1958"), (132, "1960")]),
        (MONTHS[:9], [(0, "1949"), (2, "1949-03"), (4, "1949-05"), (6, "1949-07"), (8, "1949-09")]),
        (list(map(str, range(1871, 1971))), [(9 + 20 * n, str(1880 + 20 * n)) for n in range(5)]),
        (
            [f"2016-07-{d:02} {h:02}:00:00" for d in (1, 2) for h in range(24)],
            [(0, "07-01"), (12, "12:00"), (24, "07-02"), (36, "12:00")],
        ),
        (["2016-01-04", "2016-01-11", "2016-01-18"], [(0, "01-04"), (1, "01-11"), (2, "01-18")]),
        (["spring", "summer", "autumn"], [(0, "spring"), (1, "summer"), (2, "autumn")]),
        (["only"], [(0, "only")]),
        ([], []),
    ],
)  # fmt: skip
def test_times_are_named_where_something_begins(times, expected) -> None:
    assert time_ticks(times, 7) == expected


@pytest.mark.parametrize("count", [3, 10, 50, 400, 3000])
@pytest.mark.parametrize("most", [2, 4, 9])
def test_there_are_never_too_many_names(count: int, most: int) -> None:
    hours = np.datetime64("2016-02-27T00") + np.arange(count)
    for times in (np.datetime_as_string(hours), [str(n) for n in range(count)], ["x"] * count):
        assert 2 <= len(time_ticks(list(times), most)) <= most


def test_numbers_and_times_in_words() -> None:
    assert [format_number(v) for v in (431.9, 999.9, 12345.6, 0.01234, 0, np.nan, 1e-7)] == [
        "432", "1,000", "12,346", "0.0123", "0", "?", "1.00e-07",
    ]  # fmt: skip
    assert [format_tick(v) for v in (0, -1500, 0.25, 2e8)] == ["0", "-1,500", "0.25", "2e+08"]
    assert short_times(["2016-07-01 01:00:00", "2016-07-01 02:00:00"])[1] == "2016-07-01 02:00"
    assert short_times(["2016-07-01 00:00", "2016-07-02 00:00"]) == ["2016-07-01", "2016-07-02"]
    assert short_times(["2016-07-01 00:00", "2016-07-02 03:00"])[0] == "2016-07-01 00:00"
    assert short_times(["10:00", "11:00"]) == ["10:00", "11:00"]
