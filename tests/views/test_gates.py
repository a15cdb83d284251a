"""Gate views count what is open and shut, and draw the cells that vary most."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from seqloom.views import GatesView
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"


def hand_made() -> GatesView:
    forget = np.array([[0.95, 0.5], [0.99, 0.05], [0.95, 0.95], [0.2, 0.05]])
    takes = np.full((4, 2), 0.05)
    return GatesView(list("a b\n"), {"gate.input": takes, "gate.forget": forget}, "lstm-2")


def many(cells: int, time: int) -> GatesView:
    values = np.random.default_rng(3).random((time, cells))
    return GatesView(["word"] * time, {"update": values, "reset": values}, "gru-1")


def test_caption_and_shares() -> None:
    view = hand_made()
    assert view.caption == (
        "Forget gate: 50 % of the values are open (>0.9), 25 % shut (<0.1). "
        "Input gate: open 0 %, shut 100 %."
    )
    assert view.data["open"] == {"gate.input": 0.0, "gate.forget": 0.5}
    assert view.data["shut"] == {"gate.input": 1.0, "gate.forget": 0.25}


def test_cells_are_sorted_by_variance() -> None:
    assert hand_made().data["order"].tolist() == [1, 0]


def test_text_has_one_line_for_each_gate() -> None:
    lines = hand_made().to_text().split("\n")
    assert lines[0].split() == ["a", "·", "b", "↵"]
    assert lines[1].split() == ["input", "·", "·", "·", "·"]
    assert lines[2].split() == ["forget", "▆", "▄", "█", "▁"]
    assert "forget: 50 % open (>0.9), 25 % shut (<0.1)" in lines


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [12, 33, 80])
def test_text_never_exceeds_the_width(width: int, ascii: bool) -> None:
    text = many(5, 40).to_text(width, ascii)
    assert max(map(column_width, text.split("\n"))) <= width
    assert text.isascii() or not ascii


def test_svg_draws_every_cell_with_its_value() -> None:
    root = ElementTree.fromstring(hand_made().to_svg())
    titles = [shape.findtext(f"{SVG}title") for shape in root.iter(f"{SVG}rect")]
    told = [title for title in titles if title]
    assert len(told) == 2 * 2 * 4
    assert "forget, cell 0, ·: 0.990" in told


def test_at_most_64_cells_are_drawn_and_that_is_said() -> None:
    view = many(100, 5)
    root = ElementTree.fromstring(view.to_svg())
    titled = [shape for shape in root.iter(f"{SVG}rect") if shape.find(f"{SVG}title") is not None]
    assert len(titled) == 2 * 64 * 5
    assert "The first 64 of 100 are drawn" in view.to_svg()
    assert not view.notes, "the numbers are of all of them"


def test_long_texts_join_neighbours_of_one_colour() -> None:
    values = np.full((300, 64), 0.97)
    svg = GatesView(["x"] * 300, {"forget": values}, "lstm-2").to_svg()
    assert svg.count("<rect") < 64 + 100


def test_json_and_png(tmp_path: Path) -> None:
    view = hand_made()
    found = json.loads(view.save(tmp_path / "g.json").read_text("utf-8"))
    assert (found["view"], found["tokens"]) == ("gates", {"src": ["a", " ", "b", "\n"]})
    forget = found["gates"]["gate.forget"]
    assert np.shape(forget["values"]) == (4, 2)
    assert (forget["open"], forget["shut"]) == (0.5, 0.25)
    with Image.open(view.save(tmp_path / "g.png")) as image:
        assert len(image.getcolors(1 << 20) or []) > 20


def test_html_has_the_means_as_a_table() -> None:
    html = hand_made().to_html()
    assert html.count("<tr>") == 1 + 4 + 2
    assert "<td>0.95</td>" in html


def test_nothing_read_is_shown_in_every_form() -> None:
    view = GatesView([], {"forget": np.zeros((0, 3))}, "lstm-2")
    assert "0 %" in str(view)
    ElementTree.fromstring(view.to_svg())


@pytest.mark.parametrize(
    "gates",
    [{}, {"a": np.zeros(4)}, {"a": np.zeros((3, 2))}, {"a": np.full((4, 2), 1.5)},
     {"a": np.zeros((4, 2)), "b": np.zeros((4, 3))}],
)  # fmt: skip
def test_wrong_gates_are_a_programmers_mistake(gates: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="expected"):
        GatesView(list("abcd"), gates, "lstm-2")
