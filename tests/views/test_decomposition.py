"""Decomposition of a series: intervals of the right width, and components that may be 0."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from seqloom.views import Component, ComponentsView
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"
YEARS = [str(1871 + n) for n in range(100)]


def hand_made(**more) -> ComponentsView:
    steps = np.arange(100.0)
    seen = 1100 - 3 * steps
    seen[20:40] = np.nan
    level = Component("level", 1100 - 3 * steps, np.full(100, 10.0), seen)
    trend = Component("trend", np.full(100, -3.0), np.full(100, 2.0))
    season = Component("season of 12 steps", 30 * np.sin(steps / 2 + 1), np.full(100, 6.0))
    return ComponentsView([level, trend, season], "nile", YEARS, **more)


def test_the_sentence_is_computed() -> None:
    told = hand_made().caption
    assert told.startswith(
        "Level: 1,100 at 1871, 803 at 1970 (95 % interval 783 to 823); trend: -3 at"
    )
    assert told.count("not significantly") == 1
    assert "to 0.92), not significantly different from 0 at any step; season" in told


@pytest.mark.parametrize("dark", [False, True])
def test_bands_reach_as_far_as_they_say(dark: bool) -> None:
    root = ElementTree.fromstring(hand_made(dark=dark).to_svg())
    bands = [
        [float(pair.split(",")[1]) for pair in polygon.get("points", "").split()]
        for polygon in root.iter(f"{SVG}polygon")
    ]
    lines = [
        [float(pair.split(",")[1]) for pair in line.get("points", "").split()]
        for line in root.iter(f"{SVG}polyline")
    ]
    assert len(bands) == len(lines) == 3
    level = lines[0]
    scale = (level[-1] - level[0]) / 297  # pixels for each of its units
    for above, middle, below in zip(bands[0][:100], level, bands[0][:99:-1], strict=True):
        assert middle - above == pytest.approx(1.96 * 10 * scale, abs=0.03)
        assert below - middle == pytest.approx(1.96 * 10 * scale, abs=0.03)
    dots = list(root.iter(f"{SVG}circle"))
    assert len(dots) == 80  # where nothing was observed there is none
    assert float(dots[0].get("cy", 0)) == pytest.approx(level[0], abs=0.01)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_text_never_exceeds_the_width(width: int) -> None:
    text = hand_made().to_text(width, ascii=True)
    assert max(map(column_width, text.split("\n"))) <= width and text.isascii()
    assert "█" in hand_made().to_text(width)


def test_saved_in_every_form(tmp_path: Path) -> None:
    view = hand_made()
    found = json.loads(view.save(tmp_path / "c.json").read_text("utf-8"))
    assert found["view"] == "components" and found["times"] == YEARS
    assert found["components"][0]["observed"][20] is None
    assert found["components"][1]["deviation"] == [2.0] * 100
    rows = view.to_table()
    assert rows[0][:4] == ["time", "level", "level from", "level to"] and len(rows) == 101
    assert rows[1][:4] == ["1871", "1,100", "1,080", "1,120"]
    assert view.save(tmp_path / "c.png").stat().st_size > 1000


def test_a_long_series_is_cut_and_what_is_none_is_refused() -> None:
    long = Component("level", np.arange(4000.0), np.ones(4000))
    view = ComponentsView([long], "x")
    assert view.times[0] == "1001" and len(view.components[0].mean) == 3000
    assert view.notes == ("the last 3,000 of 4,000 steps are shown",)
    for parts in ([], [long, long.last(5)]):
        with pytest.raises(ValueError, match="at least one component"):
            ComponentsView(parts, "x")
    with pytest.raises(ValueError, match="4000 times"):
        ComponentsView([long], "x", YEARS)
