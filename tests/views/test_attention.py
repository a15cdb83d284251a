"""Attention views say what the numbers say, in every form."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from seqloom.errors import MachineError, UsageError
from seqloom.views import AttentionView
from seqloom.views.draw.text import column_width

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>&\"'"


def random_view(rows: int, columns: int, prefix: str = "") -> AttentionView:
    weights = np.random.default_rng(1).dirichlet(np.full(columns, 0.3), size=rows)
    source = [f"{prefix}{number}" for number in range(columns)]
    return AttentionView(source, [f"t{number}" for number in range(rows)], weights, "tiny")


def cells(svg: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [shape for shape in root.iter(f"{SVG}rect") if shape.find(f"{SVG}title") is not None]


def grid_of(text: str) -> list[str]:
    return text.split("\n\n")[0].split("\n")


def test_json_has_the_promised_form() -> None:
    view = random_view(3, 5)
    found = json.loads(json.dumps(view.to_json()))
    of_it = ["tokens", "weights", "entropy", "layers", "layer", "heads", "head", "rail"]
    assert list(found) == ["view", "version", "model", *of_it, "caption", "notes"]
    assert (found["view"], found["version"], found["model"]) == ("attention", 1, "tiny")
    assert found["tokens"] == {"src": view.source, "tgt": view.target}
    assert np.shape(found["weights"]) == (3, 5)
    assert np.sum(found["weights"], axis=1) == pytest.approx(np.ones(3), abs=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 8), (40, 40), (60, 80)])
def test_svg_has_one_titled_cell_for_each_weight(rows: int, columns: int) -> None:
    svg = random_view(rows, columns).to_svg()
    assert len(cells(svg)) == rows * columns
    words = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    labels = {f"t{row}" for row in range(rows)} | {str(column) for column in range(columns)}
    assert labels <= set(words)
    assert {"0", "0.5", "1"} <= set(words)


def test_cell_titles_say_the_weights() -> None:
    view = AttentionView(["a", "b"], ["x"], [[0.25, 0.75]], "tiny")
    titles = [cell.findtext(f"{SVG}title") for cell in cells(view.to_svg())]
    assert titles == ["x attends to a: 0.250", "x attends to b: 0.750"]


def test_every_shape_lies_on_the_page() -> None:
    for view in (random_view(1, 1), random_view(9, 12, "somewhat-long-"), random_view(60, 80)):
        root = ElementTree.fromstring(view.to_svg())
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for shape in root.iter(f"{SVG}rect"):
            left, top = float(shape.get("x", 0)), float(shape.get("y", 0))
            assert left >= 0 and left + float(shape.attrib["width"]) <= width
            assert top >= 0 and top + float(shape.attrib["height"]) <= height


def test_only_a_single_maximum_is_outlined() -> None:
    view = AttentionView(["a", "b"], ["x", "y"], [[0.5, 0.5], [0.2, 0.8]], "tiny")
    outlined = [part for part in view.to_svg().split("\n") if 'stroke="#1b1f24"' in part]
    assert len(outlined) == 1


def test_hostile_tokens_are_escaped() -> None:
    view = AttentionView([HOSTILE, "\0\ud800"], [HOSTILE], [[0.9, 0.1]], HOSTILE, [HOSTILE])
    html, svg = view.to_html(), view.to_svg()
    assert "<script" not in html
    words = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert HOSTILE in words
    html.encode("utf-8")


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [12, 20, 37, 80])
def test_text_never_exceeds_the_width_and_loses_nothing(width: int, ascii: bool) -> None:
    source = ["日本語", "e\u0301", "internationalisation", " ", "\n", "\t", "", *"abcdefghijkl"]
    target = ["\u0301", "Donaudampfschifffahrtsgesellschaft", "本"]
    weights = np.random.default_rng(2).dirichlet(np.ones(len(source)), size=len(target))
    text = AttentionView(source, target, weights, "tiny").to_text(width, ascii)
    assert max(map(column_width, text.split("\n"))) <= width
    assert text.isascii() or not ascii
    if not ascii:
        blocks = sum(text.count(block) for block in "▁▂▃▄▅▆▇█")
        assert blocks == (np.maximum((weights * 9).astype(int), is_largest(weights)) > 0).sum()


def is_largest(weights: np.ndarray) -> np.ndarray:
    return (weights == weights.max(axis=1, keepdims=True)).astype(int)


def test_text_is_drawn_as_in_the_design() -> None:
    weights = np.zeros((2, 6))
    weights[0, 4], weights[0, 5] = 0.75, 0.25
    weights[1, 0] = 1.0
    text = AttentionView(list("3rd of"), ["1", "9"], weights, "dates").to_text()
    assert grid_of(text) == [
        "          3 r d · o f",
        "      1   · · · · ▆ ▂",
        "      9   █ · · · · ·",
    ]


def test_small_weights_are_not_stretched_but_the_largest_shows() -> None:
    weights = np.full((1, 20), 0.05)
    weights[0, 3], weights[0, 4] = 0.06, 0.04
    (_, row) = grid_of(AttentionView(["a"] * 20, ["b"], weights, "tiny").to_text())
    assert row.split()[1:] == ["·"] * 3 + ["▁"] + ["·"] * 16


def test_caption_of_a_diagonal() -> None:
    weights = 0.91 * np.eye(4) + 0.03 * (1 - np.eye(4))
    weights[2, 2], weights[2, 1] = 0.93, 0.01
    caption = AttentionView(list("abcd"), ["A", "B", "IH", "D"], weights, "tiny").caption
    assert caption == (
        'Mostly diagonal. "IH" attends to "c" (0.93). None of 4 rows is spread out (entropy > 1 bit).'
    )


def test_caption_of_a_reversal_and_of_spread_rows() -> None:
    weights = np.eye(6)[::-1].copy()
    weights[[1, 4]] = [[0.1, 0.1, 0.1, 0.2, 0.4, 0.1], [0.1, 0.4, 0.2, 0.1, 0.1, 0.1]]
    caption = AttentionView(list("abcdef"), list("fedcba"), weights, "tiny").caption
    assert caption.startswith('Mostly reversed. "f" attends to "f" (1.00).')
    assert caption.endswith("Two of 6 rows are spread out (entropy > 1 bit).")


def test_caption_of_uniform_weights_names_no_maximum() -> None:
    caption = AttentionView(list("abcde"), list("xyz"), np.full((3, 5), 0.2), "tiny").caption
    assert caption == (
        "No row has a clear maximum (largest weight 0.20, uniform weight 0.20). "
        "All 3 rows are spread out (entropy > 1 bit)."
    )


def test_empty_output_is_shown_in_every_form() -> None:
    view = AttentionView(["a"], [], [], "tiny")
    assert "no attention weights" in str(view)
    assert cells(view.to_svg()) == []
    assert view.to_json()["weights"] == []
    assert view.to_html()


def test_rows_that_do_not_sum_to_one_are_noted() -> None:
    view = AttentionView(["a"], ["x", "y"], [[1.0], [0.0]], "tiny", ["head 3"])
    assert view.notes == ("head 3", "1 of 2 rows do not sum to one.")


@pytest.mark.parametrize("weights", [[[0.5, 0.5]], [[2.0]], [[np.nan]]])
def test_wrong_weights_are_a_programmers_mistake(weights: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="expected weights"):
        AttentionView(["a"], ["x"], weights, "tiny")


def test_png_is_a_picture(tmp_path: Path) -> None:
    view = random_view(7, 8)
    path = view.save(tmp_path / "a.PNG")
    picture = view.to_picture()
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.size == (2 * picture.width, 2 * picture.height)
        assert len(image.getcolors(1 << 20) or []) > 20


def test_saved_files_hold_what_the_methods_give(tmp_path: Path) -> None:
    view = AttentionView(["é", "日"], ["\udc80"], [[0.5, 0.5]], "tiny")
    read = {suffix: view.save(tmp_path / f"a.{suffix}") for suffix in ("svg", "html", "json")}
    assert read["svg"].read_text("utf-8") == view.to_svg()
    assert read["html"].read_text("utf-8") == view.to_html()
    assert json.loads(read["json"].read_text("utf-8")) == view.to_json()


@pytest.mark.parametrize("name", ["a.bmp", "a"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        random_view(2, 2).save(tmp_path / name)
    assert caught.value.code == "U011"
    assert ".svg, .png, .json, .html" in str(caught.value)


@pytest.mark.parametrize("suffix", ["svg", "png", "json", "html"])
def test_missing_folder(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "missing" / f"a.{suffix}"
    with pytest.raises(MachineError) as caught:
        random_view(2, 2).save(path)
    assert caught.value.code == "E302"
    assert str(path) in caught.value.problem
    assert "mkdir" in str(caught.value)


def test_notebook_gets_text_html_and_svg_without_scripts() -> None:
    bundle = random_view(2, 3)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "image/svg+xml"}
    assert "<script" not in bundle["text/html"]
    assert bundle["text/html"].count("<td>") == 6
    assert "http" not in bundle["text/html"].replace("http://www.w3.org/2000/svg", "")
