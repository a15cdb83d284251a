"""Light and dark theme: the same file, and text that can be read in both."""

import re

import numpy as np
import pytest

from seqloom.inspection import InspectedModel, InspectionOptions, available_views, inspect
from seqloom.views.draw.colours import (
    BLUE,
    CARD,
    INK,
    MUTED,
    PAGE,
    ThemedColour,
    mix,
    on_dark,
    shade,
    signed,
)
from seqloom.views.draw.svg import Rectangle, TextLine
from tests.contracts.cases import SIGNATURES, build, small
from tests.contracts.plain_task import Plain

READABLE = 4.5  # WCAG 2.1 AA
MODELS = [
    ("transformer", "NEXT"),
    ("recurrent", "EACH"),
    ("hmm-tagger", "EACH"),
    ("recurrent", "WHOLE"),
    ("hierarchical-attention", "WHOLE"),
    ("encoder-decoder", "TRANSDUCE"),
    ("recurrent", "FORECAST"),
    ("kalman", "FORECAST"),
]


def brightness(colour):
    """Relative luminance, as WCAG has it."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    high, low = sorted((brightness(first), brightness(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def ground(picture, place, shapes):
    """The colour of the topmost box below a point."""
    found = picture.background
    for shape in shapes:
        if isinstance(shape, Rectangle) and shape.fill:
            left, top, width, height = shape.box
            if left <= place[0] <= left + width and top <= place[1] - 3 <= top + height:
                found = shape.fill
    return found


def pictures(name, form):
    signature = SIGNATURES[form]
    model = build(name, signature, small(name, {}), seed=4)
    subject, task = InspectedModel(model, Plain(signature), name), Plain(signature)
    answer = [4, 5, 1] if form == "TRANSDUCE" else None
    for kind in available_views(subject):
        asked = InspectionOptions(view=kind.view, limit=6 if kind.view == "beam" else 0)
        yield kind.view, inspect(subject, task.asked(6), asked, answer=answer)


@pytest.mark.parametrize(("name", "form"), MODELS)
def test_text_can_be_read_in_both_themes(name, form):
    for view, shown in pictures(name, form):
        picture = shown.to_picture()
        for number, shape in enumerate(picture.shapes):
            if isinstance(shape, TextLine) and shape.text.strip():
                below = ground(picture, shape.position, picture.shapes[:number])
                ink = shape.style.colour
                if ink in (INK, MUTED):
                    assert contrast(str(ink), str(below)) >= READABLE, (view, shape)
                    assert contrast(on_dark(ink), on_dark(below)) >= READABLE, (view, shape)


@pytest.mark.parametrize(("name", "form"), MODELS[:3])
def test_a_picture_alone_is_light_and_knows_its_dark_colours(name, form):
    """Every colour is an attribute; a class beside it has both, and a rule in the picture."""
    for view, shown in pictures(name, form):
        svg = shown.to_svg()
        assert "var(" not in svg and f'fill="{PAGE}"' in svg, view
        style = re.search(r"<style>(.*?)</style>", svg).group(1)
        used = {one for group in re.findall(r'class="([^"]*)"', svg) for one in group.split()}
        rules = dict(re.findall(r"\.(sq-[a-z0-9-]+)\{([^}]*)\}", style))
        assert set(rules) == used and len(used) > 1
        for told, rule in rules.items():
            name_of, light, dark = told.removeprefix("sq-").split("-")
            assert rule == f"{name_of}:light-dark(#{light},#{dark})"
        assert f"light-dark({PAGE},{PAGE.dark})" in style


def test_colour_maps_have_both_themes():
    for value in np.linspace(-1, 1, 9).tolist():
        for behind in (False, True):
            tone = signed(value, behind_text=behind)
            assert isinstance(tone, ThemedColour)
            assert tone.dark == signed(value, behind_text=behind, dark=True)
        assert shade(abs(value)).dark == shade(abs(value), dark=True)
    assert shade(0) == PAGE and shade(0).dark == PAGE.dark
    assert signed(0) == CARD and signed(0).dark == CARD.dark
    assert mix(PAGE, BLUE, 1.0) == BLUE and on_dark(mix(PAGE, BLUE, 1.0)) == BLUE.dark
    assert not isinstance(mix("#000000", "#ffffff", 0.5), ThemedColour) and type(str(INK)) is str
