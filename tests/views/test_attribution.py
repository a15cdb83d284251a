"""Pictures of attributions say what the numbers say, in every form."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from seqloom.views import AttributionTarget, AttributionView
from seqloom.views.draw.colours import signed
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["a", "good", "bad", "film"]
VALUES = [0.1, 1.0, -0.5, 0.0]
YES = AttributionTarget("yes", 1, probability=0.75)


def rail(values=VALUES, **more):
    return AttributionView(WORDS[: len(values)], [YES], [values], "tiny", by="occlusion", **more)


def matrix(rows=3, columns=4, at=True):
    values = np.random.default_rng(0).normal(size=(rows, columns))
    names = [f"w{number}" for number in range(columns)]
    moved = [
        AttributionTarget(f"L{row}", row + 1, names[row] if at else "", 0.5 + row / 10)
        for row in range(rows)
    ]
    return AttributionView(names, moved, values, "tiny", by="gradient")


def titled(view):
    root = ElementTree.fromstring(view.to_svg())
    return [shape for shape in root.iter(f"{SVG}rect") if shape.find(f"{SVG}title") is not None]


def test_a_strip_has_every_token_on_the_colour_of_its_number():
    view = rail()
    cells = titled(view)
    assert [cell.findtext(f"{SVG}title") for cell in cells] == [
        "a for yes=0.75: +0.10",
        "good for yes=0.75: +1.00",
        "bad for yes=0.75: -0.50",
        "film for yes=0.75: +0.00",
    ]
    fills = [cell.get("fill") for cell in cells]
    assert fills == [signed(value, behind_text=True) for value in VALUES]
    words = [text.text for text in ElementTree.fromstring(view.to_svg()).iter(f"{SVG}text")]
    assert set(WORDS) <= set(words) and {"+1.00", "-0.50", "-1.00", "0"} <= set(words)


def test_a_long_strip_goes_over_several_lines():
    view = AttributionView(["word"] * 90, [YES], [[0.1] * 90], "tiny", by="occlusion")
    lefts = {float(cell.get("x")) for cell in titled(view)}
    tops = {float(cell.get("y")) for cell in titled(view)}
    assert len(tops) > 3 and max(lefts) < 800


def test_a_matrix_has_a_cell_for_each_number():
    view = matrix()
    found = [cell.findtext(f"{SVG}title") for cell in titled(view)]
    assert len(found) == 12
    assert found[5] == f"w1 for w1/L1=0.60: {view.attributions[1, 1]:+.2f}"


@pytest.mark.parametrize("view", [rail(), matrix(), matrix(16, 30, at=False), rail(unit="share")])
def test_every_shape_lies_on_the_page(view):
    root = ElementTree.fromstring(view.to_svg())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for shape in root.iter(f"{SVG}rect"):
        left, top = float(shape.get("x", 0)), float(shape.get("y", 0))
        assert left >= 0 and left + float(shape.attrib["width"]) <= width
        assert top >= 0 and top + float(shape.attrib["height"]) <= height


def test_json_has_the_numbers_and_the_probabilities():
    found = json.loads(json.dumps(matrix().to_json()))
    head = ["view", "version", "model", "by", "unit", "tokens", "places", "chances", "influence"]
    assert list(found) == [*head, "reach", "caption", "notes"]
    assert (found["view"], found["by"], found["unit"]) == ("influence", "gradient", "nats")
    assert found["tokens"]["tgt"] == ["L0", "L1", "L2"] and found["places"] == [1, 2, 3]
    assert found["chances"] == [0.5, 0.6, 0.7]
    assert np.allclose(found["influence"], matrix().attributions, atol=1e-6)


def test_what_could_not_be_told_is_no_number():
    view = rail([np.nan, 1.0, -np.inf, 0.0])
    (values,) = json.loads(json.dumps(view.to_json(), allow_nan=False))["influence"]
    assert values == [None, 1.0, None, 0.0]
    assert view.to_table()[1][1:] == ["?", "+1.00", "-inf", "+0.00"]
    first, *_ = titled(view)
    assert first.get("fill") == signed(0.0, behind_text=True)


def test_the_terminal_has_bars_for_and_against():
    lines = rail().to_text().split("\n")
    assert lines[0] == '"yes" (p=0.75), by occlusion'
    assert lines[2].split() == WORDS
    assert lines[3].split() == ["for", "·", "█", "·", "·"]
    assert lines[4].split() == ["against", "·", "·", "▄", "·"]
    assert rail(unit="share").to_text().split("\n")[3].split()[0] == "fraction"


def test_marks_of_a_matrix_have_a_key():
    view = AttributionView(
        ["a", "b"],
        [AttributionTarget("x", 1), AttributionTarget("y", 2)],
        [[2.0, -2.0], [0.0, 0.01]],
        "tiny",
        by="gradient",
    )
    lines = view.to_text().split("\n")
    assert lines[3].split() == ["x", "█", "▓"] and lines[4].split() == ["y", "·", "·"]
    assert "▁ to █ for it, ░ to ▓ against it; █ is +2.00" in lines
    plain = view.to_text(ascii=True)
    assert plain.isascii() and plain.split("\n")[3].split() == ["x", "9", "i"]


@pytest.mark.parametrize("width", [12, 30, 80])
def test_text_keeps_to_the_width(width):
    for view in (rail(), matrix(), matrix(8, 30, at=False)):
        for ascii in (False, True):
            lines = view.to_text(width, ascii=ascii).split("\n")
            assert max(map(column_width, lines)) <= width


def test_captions_are_computed():
    assert rail().caption == 'For "yes" (p=0.75): "good" +1.00, "a" +0.10. Against: "bad" -0.50.'
    assert rail([-1.0, -2.0]).caption.startswith('No token supports "yes"')
    assert rail([0.0, 0.0]).caption == 'No token affects "yes" (p=0.75).'
    assert rail(unit="share").caption.startswith('"yes" (p=0.75) attends most to "good" 1.00')
    near = rail([0.0, 0.0, 0.1, -2.0], distance=True).caption
    assert near.startswith("The next token depends on the last token (90 % of the attribution).")
    far = rail([1.0, 1.0, 1.0, 1.0], distance=True).caption
    assert far.startswith("The next token depends on the last 4 tokens (90 % of the attr")
    values = np.eye(3)[:, [0, 1, 1]]
    moved = [AttributionTarget("N", place + 1, WORDS[place]) for place in range(3)]
    told = AttributionView(WORDS[:3], moved, values, "tiny", by="occlusion").caption
    assert told == (
        'Largest: "N" at "a" is supported by "a" (+1.00). 2 of 3 depend most on their own token.'
    )
    assert "nothing to explain" in AttributionView([], [], [], "tiny", by="occlusion").caption


def test_nothing_is_quite_certain():
    assert AttributionTarget("yes", 1, probability=0.9999).in_words() == '"yes" (p>0.99)'
    assert AttributionTarget("N", 1, "cat", 0.0012).in_words() == '"N" at "cat" (p=0.0012)'
    assert AttributionTarget("1.5", 1).in_words() == '"1.5"'


def test_small_numbers_keep_their_digits():
    assert '"good" +0.0010, "a" +0.0001' in rail([0.0001, 0.001]).caption


def test_saves_in_every_form(tmp_path: Path):
    for view in (rail(), matrix()):
        for suffix in (".svg", ".png", ".html", ".json"):
            path = view.save(tmp_path / f"picture{suffix}")
            assert path.stat().st_size > 100
        with Image.open(tmp_path / "picture.png") as image:
            assert image.width >= 400
        assert "The numbers as a table" in (tmp_path / "picture.html").read_text()


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="targets × source"):
        AttributionView(["a"], [YES], [[1.0, 2.0]], "tiny", by="occlusion")
