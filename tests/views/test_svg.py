"""Pictures agree as SVG and PNG; colour maps and text width are what the design says."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from seqloom.views.draw.colours import shade, signed, viridis
from seqloom.views.draw.svg import Picture, TextStyle
from seqloom.views.draw.text import column_width, cut, fold, shorten, to_ascii, visible

SVG = "{http://www.w3.org/2000/svg}"


def test_svg_says_what_it_shows_and_escapes_it() -> None:
    picture = Picture(40, 20, label="\"a\" < 'b' & c")
    picture.rectangle((1, 2, 3, 4), "#ff0000", title="<b>\0\n")
    picture.line((0, 0), (40, 20), "#00ff00", 2)
    picture.text("<i>&\x07", (5, 10), TextStyle(anchor="middle", monospace=True, rotation=-45))
    root = ElementTree.fromstring(picture.to_svg())
    assert (root.get("role"), root.get("aria-label")) == ("img", "\"a\" < 'b' & c")
    assert root.findtext(f"{SVG}rect/{SVG}title") == "<b>\N{REPLACEMENT CHARACTER} "
    text = root.find(f"{SVG}text")
    assert text is not None
    assert text.text == "<i>&\N{REPLACEMENT CHARACTER}"
    assert (text.get("text-anchor"), text.get("transform")) == ("middle", "rotate(-45 5 10)")


def test_png_puts_shapes_where_svg_does(tmp_path: Path) -> None:
    picture = Picture(40, 20, "#ffffff")
    picture.rectangle((10, 5, 4, 6), "#ff0000")
    picture.line((0, 18), (40, 18), "#0000ff", 2)
    picture.to_png(tmp_path / "p.png", scale=2)
    with Image.open(tmp_path / "p.png") as image:
        assert image.size == (80, 40)
        red = places(image, (255, 0, 0))
        assert (min(red), max(red)) == ((20, 10), (27, 21))
        assert image.getpixel((40, 36)) == (0, 0, 255)


@pytest.mark.parametrize(("rotation", "is_tall"), [(0, False), (-90, True), (90, True)])
def test_words_turn_about_their_point(tmp_path: Path, rotation: float, is_tall: bool) -> None:
    picture = Picture(200, 200)
    picture.text("mmmmmm", (100, 100), TextStyle(12, "#000000", rotation=rotation))
    picture.to_png(tmp_path / "p.png", scale=1)
    with Image.open(tmp_path / "p.png") as image:
        dark = image.convert("L").point(lambda value: 255 * (value < 128)).getbbox()
    assert dark is not None
    left, top, right, bottom = dark
    assert (bottom - top > right - left) is is_tall
    if rotation == -90:
        assert bottom <= 101 and right <= 101
    if rotation == 90:
        assert top >= 99 and left >= 99


def test_words_with_accents_and_nothing_at_all_are_painted(tmp_path: Path) -> None:
    picture = Picture(60, 40)
    for number, words in enumerate(["", "e\u0301", "\u0301", "日", "W" * 8]):
        picture.text(words, (2, 8 + 8 * number), TextStyle(8, monospace=True))
    picture.to_png(tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as image:
        assert max(x for x, _ in places(image, (0x1B, 0x1F, 0x24))) < 2 * (2 + 8 * 8 * 0.61 + 4) + 1


def places(image: Image.Image, colour: tuple[int, int, int]) -> list[tuple[int, int]]:
    width, height = image.size
    spots = [(x, y) for x in range(width) for y in range(height)]
    return [spot for spot in spots if image.getpixel(spot) == colour]


def test_colours_of_the_design() -> None:
    assert (viridis(0), viridis(1), viridis(7)) == ("#440154", "#fde725", "#fde725")
    assert (shade(0), shade(1)) == ("#ffffff", "#338ec1")
    assert (shade(0, dark=True), shade(1, dark=True)) == ("#111418", "#0072b2")
    assert (signed(-1), signed(0), signed(1)) == ("#d55e00", "#f6f8fa", "#0072b2")
    assert signed(-1, behind_text=True) != signed(-1)


def test_viridis_grows_lighter_all_the_way() -> None:
    colours = [viridis(step / 50) for step in range(51)]
    light = [
        0.21 * int(c[1:3], 16) + 0.72 * int(c[3:5], 16) + 0.07 * int(c[5:], 16) for c in colours
    ]
    assert light == sorted(light)


def test_white_space_is_made_visible() -> None:
    found = [visible(token) for token in (" ", "a b", "\n", "\t", "", "\u0301", "\x07", "\u202e")]
    assert found == ["·", "a·b", "↵", "⇥", "∅", "◌\u0301", "�", "�"]
    assert to_ascii(visible("é \n")) == "\\xe9_\\n"


def test_columns_of_wide_and_combining_characters() -> None:
    assert [column_width(text) for text in ("a", "日本", "e\u0301", "")] == [1, 4, 1, 0]
    assert cut("ae\u0301b", 2) == ["ae\u0301", "b"]
    assert cut("日本語", 4) == ["日本", "語"]
    assert fold("one two three", 7) == ["one two", "three"]
    assert fold("a " + "b" * 9, 4) == ["a", "bbbb", "bbbb", "b"]
    assert shorten("Donaudampfschiff", 9) == "Dona…hiff"
