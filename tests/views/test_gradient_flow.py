"""Gradient flow: after how many steps gradients vanish or explode, drawn with their bound."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from seqloom.views import GradientFlow, GradientFlowView, TruncatedGradient
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"


def fading(name: str, rate: float, steps: int = 40, **more) -> GradientFlow:
    sizes = [rate**lag for lag in range(steps)]
    return GradientFlow(
        name, sizes, [0.5 * size for size in sizes], **{"stretch": None, "gradient": 3.0, **more}
    )


def hand_made() -> GradientFlowView:
    truncations = (TruncatedGradient(1, 0.4, 0.6), TruncatedGradient(10, 0.99, 1.0))
    elman = fading("elman", 0.6, stretch=1.1, clip=1.0, truncations=truncations)
    return GradientFlowView([elman, fading("lstm", 0.865), fading("carousel", 1.0)], ["by hand"])


def test_the_caption_tells_when_each_gradient_vanishes() -> None:
    assert hand_made().caption == (
        "Gradient norm of elman: below 1 % after 10 steps; lstm: below 1 % after 32 steps; "
        "carousel: 100 % after all 39 steps."
    )


def test_exploding_gradients_are_told() -> None:
    view = GradientFlowView([fading("elman", 1.2)])
    assert "elman has an exploding gradient: 1.22e+03 times larger after 39 steps." in view.caption


def test_a_norm_that_grows_again_has_not_vanished() -> None:
    assert GradientFlow("skip", [1, 0.001, 0.5, 0.001], [1, 1, 1, 1], None, 1.0).reach == 3


def test_bounds_are_powers_or_nothing() -> None:
    elman, lstm, _ = hand_made().flows
    assert elman.bound()[:3] == pytest.approx([1, 1.1, 1.21])
    assert lstm.bound() == []
    notes = " ".join(hand_made().notes)
    assert "bound of elman: (γ_v γ_g)^n = 1.1^n" in notes
    assert "no bound (γ_v γ_g)^n for lstm, carousel" in notes


def test_clipping_before_and_after() -> None:
    assert fading("a", 0.5, clip=1.0).clipped() == 1.0
    assert fading("a", 0.5, clip=5.0).clipped() == 3.0
    assert fading("a", 0.5).clipped() == 3.0
    text = str(hand_made())
    assert "gradient norm of the weights 3 (clip 1: clipped to 1)" in text
    assert "gradient norm of the weights 3 (clip off)" in text
    assert "1: 40 % (0.60), 10: 99 % (1.00)" in text


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [14, 40, 80])
def test_text_never_exceeds_the_width(width: int, ascii: bool) -> None:
    text = hand_made().to_text(width, ascii)
    assert max(map(column_width, text.split("\n"))) <= width
    assert text.isascii() or not ascii


def test_blocks_fall_with_the_powers_of_ten() -> None:
    heading, elman, lstm, carousel, *_ = hand_made().to_text().split("\n")
    assert heading.split() == ["1", "2", "3", "5", "7", "10", "15", "20", "30"]
    assert elman.split()[1] == "█" and elman.split()[-1] == "▂"  # 0.6^30 is 2e-7
    assert carousel.split()[1:] == ["█"] * 9


def test_svg_has_a_line_for_each_and_a_dashed_bound() -> None:
    root = ElementTree.fromstring(hand_made().to_svg())
    lines = list(root.iter(f"{SVG}polyline"))
    assert len(lines) == 3 + 1 + 3
    dashed = [line for line in lines if line.get("stroke-dasharray")]
    assert [line.findtext(f"{SVG}title") for line in dashed] == ["bound of elman"]
    first = next(line for line in lines if line.findtext(f"{SVG}title") == "elman")
    assert dashed[0].get("stroke") == first.get("stroke"), "a bound has the colour of its model"
    heights = [float(point.split(",")[1]) for point in first.get("points", "").split()]
    assert heights == sorted(heights) and len(heights) == 40
    steps = [b - a for a, b in zip(heights, heights[1:], strict=False)]
    assert max(steps) - min(steps) < 0.05, "an exponential is a straight line on a log axis"


def test_json_png_and_html(tmp_path: Path) -> None:
    view = hand_made()
    found = json.loads(view.save(tmp_path / "m.json").read_text("utf-8"))
    assert found["view"] == "gradient_flow"
    elman, lstm, _ = found["models"]
    assert (elman["reach"], lstm["reach"], lstm["bound"]) == (10, 32, None)
    assert elman["gradient"] == {"norm": 3.0, "clip": 1.0, "clipped": 1.0}
    assert elman["windows"][0] == {"steps": 1, "share": 0.4, "cosine": 0.6}
    with Image.open(view.save(tmp_path / "m.png")) as image:
        assert len(image.getcolors(1 << 20) or []) > 20
    assert view.to_html().count("<tr>") == 1 + 40


def test_what_left_the_range_of_numbers_is_null_in_json(tmp_path: Path) -> None:
    sizes = [1.0, 1e300, math.inf]
    view = GradientFlowView([GradientFlow("wild", sizes, sizes, 1e300, 1.0)])
    text = view.save(tmp_path / "m.json").read_text("utf-8")
    assert "Infinity" not in text and json.loads(text)["models"][0]["state"][2] is None
    ElementTree.fromstring(view.to_svg())
    assert "exploding gradient" in view.caption


def test_views_are_set_side_by_side() -> None:
    one, two = (
        GradientFlowView([fading("a", 0.5)], ["n"]),
        GradientFlowView([fading("b", 0.9)], ["n", "m"]),
    )
    both = one.beside(two)
    assert [flow.name for flow in both.flows] == ["a", "b"]
    assert both.notes[:2] == ("n", "m")


def test_nothing_is_a_programmers_mistake() -> None:
    with pytest.raises(ValueError, match="expected"):
        GradientFlowView([])
    with pytest.raises(ValueError, match="expected"):
        GradientFlowView([fading("a", 0.5), GradientFlow("none", [], [], None, 1.0)])
