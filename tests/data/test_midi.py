"""MIDI files: read as piano rolls and written from them; damaged files are errors."""

import io
import random
import sys

import mido
import pytest

from seqloom.data.music import midi
from seqloom.data.music.midi import InvalidPieceError, read_midi, write_midi
from seqloom.data.music.piano_roll import format_frames
from seqloom.data.options import Data
from seqloom.errors import MachineError
from seqloom.tasks.music import Music


def a_piece(chance, length):
    """Random chords, some of them held, and rests: also at the beginning and the end."""
    frames = []
    for _ in range(length):
        fresh = tuple(sorted(chance.sample(range(128), chance.choice([0, 1, 4]))))
        frames.append(frames[-1] if frames and chance.random() < 0.4 else fresh)
    return frames


def file_of(*tracks, kind=1, ticks=480):
    """A MIDI file with these messages."""
    made = mido.MidiFile(type=kind, ticks_per_beat=ticks)
    made.tracks.extend(mido.MidiTrack(track) for track in tracks)
    saved = io.BytesIO()
    made.save(file=saved)
    return saved.getvalue()


def note(pitch, wait, velocity=64, channel=0):
    kind = "note_on" if velocity is not None else "note_off"
    return mido.Message(kind, note=pitch, time=wait, velocity=velocity or 0, channel=channel)


@pytest.mark.parametrize("steps", [1, 3, 4, 96])
def test_what_is_written_reads_back_equal(steps):
    chance = random.Random(steps)
    for _ in range(25):
        frames = a_piece(chance, chance.randint(1, 40))
        assert read_midi(write_midi(frames, steps_per_quarter=steps, tempo=90), steps) == frames


def test_what_goes_on_is_one_long_note():
    data = write_midi([(60, 64), (60, 67), (60,)], steps_per_quarter=2, tempo=120)
    found = [m for m in mido.MidiFile(file=io.BytesIO(data)).tracks[0] if m.type == "note_on"]
    assert sorted(message.note for message in found) == [60, 64, 67]
    assert mido.MidiFile(file=io.BytesIO(data)).length == pytest.approx(0.75)  # 1.5 quarters at 120


def test_notes_are_rounded_to_steps_and_have_at_least_one():
    """A quarter of 480 ticks has four steps of 120: 50 ticks late is no step late, 70 is one."""
    track = [note(60, 50), note(60, 110, None), note(64, 30), note(64, 5, None), note(67, 285)]
    track += [note(67, 240, 0)]  # a velocity of 0 lets go, too
    assert format_frames(read_midi(file_of(track), 4)) == "60 - 64 - 67 67"


def test_tracks_sound_together_and_drums_are_left_out():
    high, low = [note(72, 0), note(72, 480, None)], [note(48, 480), note(48, 480, None)]
    drums = [note(36, 0, channel=9), note(36, 1920, None, channel=9)]
    assert read_midi(file_of(high, low), 1) == [(72,), (48,)]
    assert read_midi(file_of(high, low, drums), 1) == [(72,), (48,), (), ()]


def test_a_key_struck_again_ends_the_note_before_and_one_never_let_go_sounds_to_the_end():
    track = [note(60, 0), note(60, 480), note(62, 480)]
    end = [mido.MetaMessage("end_of_track", time=480)]
    assert read_midi(file_of(track + end), 1) == [(60,), (60,), (60, 62)]


@pytest.mark.parametrize(
    "data, code, words",
    [
        (b"hello", "D268", "MThd"),
        (b"MThd", "D268", "damaged"),
        (file_of([note(60, 0)])[:-6], "D268", "damaged"),
        (file_of([note(60, 0)], kind=2), "D269", "type 2"),
        (b"MThd\0\0\0\6\0\0\0\1\xe7\x28" + file_of([note(60, 0)])[14:], "D269", "film frames"),
        (b"MThd\0\0\0\6\0\0\0\1\0\0" + file_of([note(60, 0)])[14:], "D269", "film frames"),
        (file_of([note(60, 0), note(60, 200_000_000, None)]), "D270", "steps"),
        (b"MThd" + b"\0" * midi.MAX_BYTES, "D270", "MB"),
    ],
)
def test_what_cannot_be_read_is_told(data, code, words):
    with pytest.raises(InvalidPieceError, match=words) as told:
        read_midi(data, 4)
    assert told.value.code == code


def test_too_much_sounding_is_told(monkeypatch):
    monkeypatch.setattr(midi, "MAX_SOUNDING", 7)
    with pytest.raises(InvalidPieceError, match="too many notes"):
        read_midi(write_midi([(60, 64)] * 4, steps_per_quarter=4, tempo=90), 4)


def test_damaged_bytes_never_break_anything_else():
    """Bytes are changed, cut out and doubled at random: a piece or a sentence comes of it."""
    chance = random.Random(7)
    good = write_midi(a_piece(chance, 30), steps_per_quarter=4, tempo=90)
    read = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(data))
            match chance.randrange(3):
                case 0:
                    data[place] = chance.randrange(256)
                case 1:
                    del data[place : place + chance.randint(1, 9)]
                case _:
                    data[place:place] = data[place : place + chance.randint(1, 9)]
        try:
            read += bool(read_midi(bytes(data), 4))
        except InvalidPieceError as error:
            assert error.code in {"D268", "D269", "D270"} and error.reason
    assert 0 < read < 300


def test_without_the_package_there_is_a_word_on_it(tmp_path, monkeypatch):
    data = write_midi([(60,), (62,)], steps_per_quarter=4, tempo=90)
    (tmp_path / "piece.mid").write_bytes(data)
    monkeypatch.setitem(sys.modules, "mido", None)
    for asked in (
        lambda: read_midi(data, 4),
        lambda: write_midi([(60,)], steps_per_quarter=4, tempo=90),
        lambda: Music().read(tmp_path, Data(skip_bad=True)),
    ):
        with pytest.raises(MachineError) as told:
            asked()
        assert told.value.code == "E342" and 'pip install "seqloom[music]"' in told.value.help
