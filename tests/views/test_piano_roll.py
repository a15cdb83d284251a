"""Piano rolls say what sounds, in every form."""

import json
from xml.etree import ElementTree

import pytest
from PIL import Image

from seqloom.views import PianoRollView
from seqloom.views.piano_roll import name_of

SVG = "{http://www.w3.org/2000/svg}"
FRAMES = [(60, 64), (60, 67), (), (62,), (62,)]


def titled(svg):
    root = ElementTree.fromstring(svg)
    shapes = [shape for shape in root.iter(f"{SVG}rect") if shape.find(f"{SVG}title") is not None]
    return [(shape.findtext(f"{SVG}title"), shape.get("fill")) for shape in shapes]


def test_pitches_have_names():
    assert [name_of(pitch) for pitch in (21, 60, 61, 70, 108)] == ["A0", "C4", "C#4", "Bb4", "C8"]


def test_what_goes_on_is_one_note():
    titles = [title for title, _ in titled(PianoRollView(FRAMES, "tiny").to_svg())]
    assert sorted(titles) == [
        "C4, steps 1 to 2",
        "D4, steps 4 to 5",
        "E4, steps 1 to 1",
        "G4, steps 2 to 2",
    ]


def test_the_prompt_has_its_own_colour():
    found = titled(PianoRollView(FRAMES, "tiny", prompt_steps=1).to_svg())
    by_title = dict(found)
    assert by_title["C4, steps 1 to 1"] != by_title["C4, steps 2 to 2"]
    assert by_title["C4, steps 1 to 1"] == by_title["E4, steps 1 to 1"]


def test_the_caption_is_computed():
    view = PianoRollView(FRAMES, "tiny")
    assert view.caption == (
        "5 steps, 1.2 notes at once on average, from C4 to G4; 50 % of them are held from the"
        " step before; 1 step of silence."
    )
    assert PianoRollView(FRAMES, "tiny", prompt_steps=3).caption.startswith("2 steps, 1.0 notes")
    assert PianoRollView([(), ()], "tiny").caption == "No notes in 2 steps."


def test_the_sketch_has_two_pitches_a_line():
    lines = PianoRollView(FRAMES, "tiny").to_text(width=40).split("\n")
    assert lines[:4] == ["  G4  ▀", "  F4 ▄", " Eb4    ▄▄", " C#4 ▄▄"]
    plain = PianoRollView(FRAMES, "tiny", prompt_steps=3).to_text(width=40, ascii=True).split("\n")
    assert plain[:5] == [
        "  G4  '",
        "  F4 .",
        " Eb4    ..",
        " C#4 ..",
        "        ^ generated from here on",
    ]
    assert max(map(len, PianoRollView(FRAMES * 40, "tiny").to_text(width=30).split("\n"))) <= 30


def test_json_and_table():
    view = PianoRollView(FRAMES, "tiny", prompt_steps=1)
    found = json.loads(json.dumps(view.to_json()))
    assert (found["view"], found["frames"], found["given"]) == (
        "piano_roll",
        [list(frame) for frame in FRAMES],
        1,
    )
    assert view.to_table()[1:4] == [
        ["1", "C4 E4", "prompt"],
        ["2", "C4 G4", "generated"],
        ["3", "-", "generated"],
    ]


@pytest.mark.parametrize("count", [1, 2000])
def test_it_is_drawn(tmp_path, count):
    path = PianoRollView([(60, 64)] * count, "tiny").save(tmp_path / "roll.png")
    with Image.open(path) as image:
        assert image.width < 7000 and image.height > 100


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="at least one step"):
        PianoRollView([], "tiny")
