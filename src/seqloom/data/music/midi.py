"""Standard MIDI files, read and written as piano rolls."""

import io
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import MachineError
from .piano_roll import MOST_FRAMES, Frame

if TYPE_CHECKING:
    from mido import Message, MidiTrack

MOST_BYTES = 1 << 22
MOST_SOUNDING = 20_000_000  # pitches of all frames and tracks together
TICKS = 240  # for a step, in what is written
DRUMS = 9  # the channel whose pitches are drums
VELOCITY = 72


class UnreadableError(Exception):
    """What is wrong with a MIDI file, in words; `code` is that of the error for users."""

    def __init__(self, code: str, reason: str) -> None:
        self.code, self.reason = code, reason
        super().__init__(reason)


class Note(NamedTuple):
    """A pitch from one tick to another."""

    start: int
    end: int
    pitch: int


def read_midi(data: bytes, steps_per_quarter: int) -> list[Frame]:
    """What sounds at each step; a note is rounded to whole steps, and has at least one.

    Drums are left out. The piece is as long as its longest track.
    """
    mido = _mido()
    if len(data) > MOST_BYTES:
        raise UnreadableError("D270", f"the file has more than {MOST_BYTES >> 20} MB")
    if not data.startswith(b"MThd"):
        raise UnreadableError("D268", "this is no MIDI file: it does not begin with MThd")
    try:
        file = mido.MidiFile(file=io.BytesIO(data), clip=True)
    except Exception as error:  # noqa: BLE001 - the bytes of strangers may break a parser anywhere
        said = str(error).strip() or type(error).__name__
        raise UnreadableError("D268", f"the MIDI file is damaged: {said[:80]}") from error
    if file.ticks_per_beat <= 0:
        raise UnreadableError("D269", "its time is counted in film frames, not in quarter notes")
    if file.type not in (0, 1):
        raise UnreadableError("D269", "its tracks are pieces by themselves (a file of type 2)")
    notes: list[Note] = []
    end = 0
    for track in file.tracks:
        notes += _notes(track)
        end = max(end, sum(message.time for message in track))
    return _frames(notes, end, file.ticks_per_beat / steps_per_quarter)


def write_midi(frames: Sequence[Frame], *, steps_per_quarter: int, tempo: float) -> bytes:
    """A file of one track: a pitch that sounds in frames next to each other is one long note."""
    mido = _mido()
    file = mido.MidiFile(type=0, ticks_per_beat=TICKS * steps_per_quarter)
    track = mido.MidiTrack()
    file.tracks.append(track)
    track.append(mido.MetaMessage("set_tempo", tempo=round(60e6 / tempo)))
    told = 0
    for step, is_on, pitch in sorted(_events(frames)):
        kind, wait = "note_on" if is_on else "note_off", TICKS * (step - told)
        track.append(mido.Message(kind, note=pitch, velocity=VELOCITY * is_on, time=wait))
        told = step
    track.append(mido.MetaMessage("end_of_track", time=TICKS * (len(frames) - told)))
    written = io.BytesIO()
    file.save(file=written)
    return written.getvalue()


def _mido() -> Any:
    """The package that knows these files; only who has such needs it."""
    try:
        import mido  # noqa: PLC0415
    except ImportError as error:
        raise MachineError(
            "E342",
            "MIDI files need the package mido, which is not installed",
            help=['pip install "seqloom[music]"', "or use JSON: [[60, 64, 67], [62], []]"],
        ) from error
    return mido


def _notes(track: "MidiTrack") -> list[Note]:
    """The notes of a track; one that is never let go sounds to its end."""
    now, sounding, found = 0, dict[tuple[int, int], int](), list[Note]()
    for message in track:
        now += message.time
        if message.type not in ("note_on", "note_off") or message.channel == DRUMS:
            continue
        key = (message.channel, message.note)
        if key in sounding:  # a key struck again ends the note before
            found.append(Note(sounding.pop(key), now, message.note))
        if _is_struck(message):
            sounding[key] = now
    return found + [Note(start, now, pitch) for (_, pitch), start in sounding.items()]


def _is_struck(message: "Message") -> bool:
    return message.type == "note_on" and message.velocity > 0


def _frames(notes: list[Note], end: int, ticks: float) -> list[Frame]:
    """What sounds at each step of so many ticks."""
    count = max([round(end / ticks), *(_last(note, ticks) for note in notes)])
    if count > MOST_FRAMES:
        raise UnreadableError("D270", f"it lasts {count:,} steps; at most {MOST_FRAMES:,} are read")
    spans = [(round(note.start / ticks), _last(note, ticks), note.pitch) for note in notes]
    if sum(last - first for first, last, _ in spans) > MOST_SOUNDING:
        raise UnreadableError("D270", "more sounds in it than can be read")
    found: list[set[int]] = [set() for _ in range(count)]
    for first, last, pitch in spans:
        for step in range(first, last):
            found[step].add(pitch)
    return [tuple(sorted(pitches)) for pitches in found]


def _last(note: Note, ticks: float) -> int:
    """The step before which a note ends."""
    return max(round(note.end / ticks), round(note.start / ticks) + 1)


def _events(frames: Sequence[Frame]) -> Iterator[tuple[int, bool, int]]:
    """When a pitch begins to sound and when it ends: step, whether it begins, pitch."""
    for pitch in sorted({pitch for frame in frames for pitch in frame}):
        sounding = ((step, pitch in frame) for step, frame in enumerate(frames))
        for is_on, run in groupby(sounding, key=lambda one: one[1]):
            steps = [step for step, _ in run]
            if is_on:
                yield steps[0], True, pitch
                yield steps[-1] + 1, False, pitch
