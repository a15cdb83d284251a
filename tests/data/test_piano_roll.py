"""Piano rolls from JSON, JSON lines and folders; an error for everything else."""

import json
import random

import pytest

from seqloom.data.formats.music import PianoRollOptions, looks_like_piano_rolls, read_piano_rolls
from seqloom.data.music.midi import write_midi
from seqloom.data.music.piano_roll import PitchRange, format_frames, parse_frames
from seqloom.data.options import Data
from seqloom.errors import DataError, SeqloomError, UsageError

OPTIONS = PianoRollOptions(PitchRange(), 1)
ONE, OTHER = [[60, 64], [], [62]], [[67], [67]]
LINES = {"one": "60,64 - 62", "other": "67 67"}


def read(path, **settings):
    found = read_piano_rolls(path, OPTIONS, Data(**settings))
    return {part: [row.fields[0] for row in source.rows] for part, source in found.items()}


@pytest.fixture
def file(tmp_path):
    def make(content, name="music.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return make


@pytest.mark.parametrize(
    "content, expected",
    [
        ([ONE, OTHER], {"": [*LINES.values()]}),
        (ONE, {"": [LINES["one"]]}),
        ({"frames": ONE}, {"": [LINES["one"]]}),
        ([{"frames": ONE}, OTHER], {"": [*LINES.values()]}),
        ({"test": [OTHER], "train": [ONE]}, {"test": [LINES["other"]], "train": [LINES["one"]]}),
        (
            {"train": [ONE], "dev": [OTHER], "name": "x"},
            {"train": [LINES["one"]], "valid": ["67 67"]},
        ),
        ({"train": [ONE], "valid": []}, {"train": [LINES["one"]]}),
        (f"{json.dumps(ONE)}\n\n{json.dumps(OTHER)}\n", {"": [*LINES.values()]}),
        ([[[64.0, 60, 60]]], {"": ["60,64"]}),  # as some programs export; in any order, and twice
    ],
)
def test_every_layout(file, content, expected):
    assert read(file(content)) == expected


def test_a_folder_of_files(tmp_path):
    frames = [tuple(frame) for frame in ONE]
    (tmp_path / "b.mid").write_bytes(write_midi(frames, steps_per_quarter=1, tempo=90))
    (tmp_path / "a.json").write_text(json.dumps([OTHER]))
    (tmp_path / "readme.txt").write_text("not music")
    assert read(tmp_path) == {"": [LINES["other"], LINES["one"]]}
    (tmp_path / "c.mid").write_bytes(b"MThd nothing")
    with pytest.raises(DataError, match="piece 3") as told:
        read(tmp_path)
    assert told.value.code == "D268" and told.value.place.file.endswith("c.mid")
    assert len(read(tmp_path, skip_bad=True)[""]) == 2


@pytest.mark.parametrize(
    "content, code, words",
    [
        ("[[60", "D265", "not JSON"),
        ('{"bass": [[60]]}', "D265", "train, valid or test"),
        ('{"train": 3}', "D265", "not a list of pieces"),
        ([5], "D265", "piece 1: a piece is a list of frames, not 5"),
        ([[60], 5], "D265", "frame 1 is 60"),
        ([[["C4"]]], "D265", "expected a list of pitches"),
        ([ONE, [[60], [True]]], "D265", "piece 2: frame 2"),
        ([[[60.5]]], "D265", "60.5"),
        ("[[[NaN]]]", "D265", "NaN"),
        ("[[[1e999]]]", "D265", "Infinity"),
        ([[[20]]], "D267", "pitch 20, outside 21 to 108"),
        ([[[-5]]], "D267", "pitch -5"),
        ([[[], []]], "D272", "it has no notes"),
        ([[]], "D272", "it has no notes"),
        ([], "D023", "no rows"),
        ("[" * 100_000, "D265", "not JSON"),
        (f"[[60]]\n{'[' * 100_000}", "D265", "not JSON"),
        ("   ", "D022", "blank"),
    ],
)
def test_a_sentence_for_everything_else(file, content, code, words):
    with pytest.raises(DataError, match=words) as told:
        read(file(content))
    assert told.value.code == code


def test_a_piece_that_is_too_long(file, monkeypatch):
    monkeypatch.setattr("seqloom.data.formats.music.MAX_FRAMES", 3)
    with pytest.raises(DataError, match="4 frames; at most 3") as told:
        read(file([[[60]] * 4]))
    assert told.value.code == "D270"


def test_a_folder_without_music(tmp_path):
    with pytest.raises(DataError, match="no music in it") as told:
        read(tmp_path)
    assert told.value.code == "D271"


def test_any_json_gives_pieces_or_a_sentence(file):
    chance = random.Random(3)
    leaves = [0, 60, 64, -1, 60.0, 1e30, True, None, "60", {}, [], {"frames": [[60]]}, "train"]

    def value(depth):
        if depth == 0 or chance.random() < 0.1:
            return chance.choice(leaves)
        if chance.random() < 0.1:
            names = chance.choices(["train", "test", "x", "frames"], k=2)
            return {name: value(depth - 1) for name in names}
        return [value(depth - 1) for _ in range(chance.randint(0, 3))]

    told = set()
    for _ in range(400):
        try:
            told.update(read(file(value(chance.randint(1, 4)))))
        except SeqloomError as error:
            told.add(error.code)
    assert (
        {"", "D265", "D267", "D272"}
        <= told
        <= {"", "train", "test", "D265", "D267", "D272", "D023"}
    )


@pytest.mark.parametrize(
    "text, is_music",
    [
        ('{"train": [[[60, 64], [62]]]}', True),
        ('{"test": [[[], [62]]]}', True),
        ("[[60], [62]]", True),
        ("[\n [\n  [60]]]", True),
        ('{"text": "a", "label": "b"}', False),
        ('[{"text": "a"}]', False),
        ('{"words": ["a"]}', False),
    ],
)
def test_music_is_known_by_its_lists(text, is_music):
    assert looks_like_piano_rolls(text.split("\n")) is is_music


def test_a_line_and_back():
    assert parse_frames("67,60 - 60") == [(60, 67), (), (60,)]
    assert format_frames(parse_frames("67,60 - 60")) == "60,67 - 60"
    for text in ("60;64", "60,", "C4", "-5", "6000", "60,,64", "٦٠"):
        with pytest.raises(DataError, match="expected pitches") as told:
            parse_frames(text)
        assert told.value.code == "D273"


@pytest.mark.parametrize("lowest, highest", [(-1, 108), (60, 59), (21, 128)])
def test_invalid_ranges_of_pitches(lowest, highest):
    with pytest.raises(UsageError, match="pitches go from 0 to 127"):
        PitchRange(lowest, highest)


def test_bits_and_back():
    pitches, frames = PitchRange(60, 63), [(60, 63), (), (61,)]
    assert pitches.to_matrix(frames).tolist() == [[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert pitches.to_frames(pitches.to_matrix(frames)) == frames
    assert pitches.first_outside([(60,), (60, 64)]) == (2, 64)
