"""Gate statistics: which gates are open, which are shut."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seqloom.views import GateStatistics, GateStatisticsView
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"


def hand_made() -> GateStatisticsView:
    forget = GateStatistics("mine", "1", "forward", "forget", 0.8, 0.6, 0.1, 100)
    takes = GateStatistics("mine", "2", "backward", "input", 0.2, 0.0, 0.7, 100)
    return GateStatisticsView([forget, takes], ["by hand"])


def test_the_table_and_the_caption() -> None:
    view = hand_made()
    assert view.to_table() == [
        ["layer", "direction", "gate", "mean", "open (>0.9)", "shut (<0.1)"],
        ["1", "forward", "forget", "0.80", "60 %", "10 %"],
        ["2", "backward", "input", "0.20", "0 %", "70 %"],
    ]
    assert view.caption == (
        "Most often open: the forget gate of layer 1 forward of mine (60 %). "
        "Most often shut: the input gate of layer 2 backward of mine (70 %)."
    )
    assert "2      backward   input   0.20          0 %         70 %" in view.to_text()


def test_gates_in_between() -> None:
    share = GateStatistics("mine", "1", "forward", "update", 0.5, 0.0, 0.0, 9)
    assert GateStatisticsView([share]).caption == "No gate is ever open (>0.9) or shut (<0.1)."


@pytest.mark.parametrize("width", [20, 40, 80])
def test_text_never_exceeds_the_width(width: int) -> None:
    text = hand_made().to_text(width, ascii=True)
    assert max(map(column_width, text.split("\n"))) <= width and text.isascii()


def test_bars_are_as_long_as_the_shares() -> None:
    root = ElementTree.fromstring(hand_made().to_svg())
    bars = {r.findtext(f"{SVG}title"): float(r.get("width", 0)) for r in root.iter(f"{SVG}rect")}
    assert bars["forget open: 60 %"] == pytest.approx(6 * bars["forget shut: 10 %"])
    assert "input open: 0 %" not in bars


def test_models_side_by_side_are_named(tmp_path: Path) -> None:
    other = GateStatisticsView(
        [GateStatistics("yours", "1", "forward", "update", 0.5, 0.1, 0.1, 9)]
    )
    both = hand_made().beside(other)
    assert both.to_table()[0][0] == "model" and both.to_table()[-1][0] == "yours"
    found = json.loads(both.save(tmp_path / "g.json").read_text("utf-8"))
    assert found["view"] == "gate_shares" and len(found["gates"]) == 3
    assert found["gates"][0]["values"] == 100
    assert both.save(tmp_path / "g.png").stat().st_size > 1000
