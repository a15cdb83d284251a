"""The picture of a ladder: its numbers, its words, and where its points stand."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seqloom.views import LadderView, RungPoint
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"


def hand_made() -> LadderView:
    rungs = [
        RungPoint("unigram", 0.1, 4.0, 3.9, 4.1),
        RungPoint("7-gram", 0.1, 1.5, 1.45, 1.55),
        RungPoint("lstm", 100.0, 1.6, 1.5, 1.7, ((10.0, 3.0), (50.0, 2.0), (100.0, 1.6))),
    ]
    return LadderView(rungs, "bits per character", True, "ladder-1")


def test_the_best_is_told() -> None:
    assert hand_made().caption == "Best: 7-gram with 1.5 bits per character, after 0.1 s."
    accuracy = LadderView(hand_made().rungs, "accuracy", False, "ladder-1")
    assert accuracy.caption.startswith("Best: unigram")
    with pytest.raises(ValueError, match="at least one rung"):
        LadderView([], "accuracy", False, "ladder-1")


def test_points_stand_where_their_numbers_say() -> None:
    root = ElementTree.fromstring(hand_made().to_svg())
    boxes = [r for r in root.iter(f"{SVG}rect") if r.findtext(f"{SVG}title")]
    places = {r.findtext(f"{SVG}title", "").split(":")[0]: r for r in boxes}
    x, y = ({name: float(r.get(side, 0)) for name, r in places.items()} for side in "xy")
    assert x["unigram"] == x["7-gram"] < x["lstm"]
    assert y["unigram"] < y["lstm"] < y["7-gram"]
    slope = (y["7-gram"] - y["unigram"]) / 2.5
    assert y["lstm"] - y["unigram"] == pytest.approx(slope * 2.4, abs=0.1)
    assert sum(1 for _ in root.iter(f"{SVG}polyline")) == 1


def test_names_do_not_lie_on_each_other() -> None:
    crowd = [RungPoint(f"{n}-gram", 0.1, 1.5 + n / 1000, 1.5, 1.6) for n in range(5)]
    root = ElementTree.fromstring(LadderView(crowd, "bits", True, "x").to_svg())
    names = [t for t in root.iter(f"{SVG}text") if (t.text or "").endswith("-gram")]
    heights = sorted(float(t.get("y", 0)) for t in names)
    assert len(heights) == 5
    assert min(b - a for a, b in zip(heights, heights[1:], strict=False)) >= 11


@pytest.mark.parametrize("width", [20, 40, 80])
def test_text_never_exceeds_the_width(width: int) -> None:
    text = hand_made().to_text(width, ascii=True)
    assert max(map(column_width, text.split("\n"))) <= width and text.isascii()


def test_saved_in_every_form(tmp_path: Path) -> None:
    view = hand_made()
    found = json.loads(view.save(tmp_path / "l.json").read_text("utf-8"))
    assert found["view"] == "ladder" and found["rungs"][2]["curve"][0] == [10.0, 3.0]
    assert view.save(tmp_path / "l.png").stat().st_size > 1000
    assert "<table>" in view.save(tmp_path / "l.html").read_text("utf-8")
    same = [RungPoint("a", 0.0, 1.0, 1.0, 1.0)]
    assert LadderView(same, "bits", True, "x").to_svg()
