"""Standard MIDI files, read into piano rolls and written from them."""

import io
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import MachineError
from .piano_roll import MAX_FRAMES, Frame

if TYPE_CHECKING:
    from mido import Message, MidiTrack

MAX_BYTES = 1 << 22
MAX_SOUNDING = 20_000_000  # sounding pitches, summed over frames and tracks
TICKS_PER_STEP = 240  # of files that are written
DRUM_CHANNEL = 9  # channel 10 of General MIDI, counted from 0
VELOCITY = 72  # of notes that are written


class InvalidPieceError(Exception):
    """A piece of music that cannot be read: an error code and the reason in words."""

    def __init__(self, code: str, reason: str) -> None:
        self.code, self.reason = code, reason
        super().__init__(reason)


class Note(NamedTuple):
    """A note: its pitch, and the ticks at which it starts and ends."""

    start: int
    end: int
    pitch: int


def read_midi(data: bytes, steps_per_quarter: int) -> list[Frame]:
    """The piano roll of a MIDI file: notes are quantised to whole steps, at least one each.

    Drums are left out. The piece is as long as its longest track.
    """
    mido = _mido()
    if len(data) > MAX_BYTES:
        raise InvalidPieceError("D270", f"the file has more than {MAX_BYTES >> 20} MB")
    if not data.startswith(b"MThd"):
        raise InvalidPieceError("D268", "this is no MIDI file: it does not begin with MThd")
    try:
        file = mido.MidiFile(file=io.BytesIO(data), clip=True)
    except Exception as error:  # noqa: BLE001 - the bytes of strangers may break a parser anywhere
        reason = str(error).strip() or type(error).__name__
        raise InvalidPieceError("D268", f"the MIDI file is damaged: {reason[:80]}") from error
    if file.ticks_per_beat <= 0:
        raise InvalidPieceError("D269", "its time is in film frames (SMPTE), not in quarter notes")
    if file.type not in (0, 1):
        raise InvalidPieceError("D269", "its tracks are independent pieces (a file of type 2)")
    notes: list[Note] = []
    end = 0
    for track in file.tracks:
        notes += _notes(track)
        end = max(end, sum(message.time for message in track))
    return _frames(notes, end, file.ticks_per_beat / steps_per_quarter)


def write_midi(frames: Sequence[Frame], *, steps_per_quarter: int, tempo: float) -> bytes:
    """A MIDI file with one track: a pitch in consecutive frames is one long note."""
    mido = _mido()
    file = mido.MidiFile(type=0, ticks_per_beat=TICKS_PER_STEP * steps_per_quarter)
    track = mido.MidiTrack()
    file.tracks.append(track)
    track.append(mido.MetaMessage("set_tempo", tempo=round(60e6 / tempo)))
    last = 0  # MIDI has the time since the event before
    for step, is_on, pitch in sorted(_events(frames)):
        kind, wait = "note_on" if is_on else "note_off", TICKS_PER_STEP * (step - last)
        track.append(mido.Message(kind, note=pitch, velocity=VELOCITY * is_on, time=wait))
        last = step
    track.append(mido.MetaMessage("end_of_track", time=TICKS_PER_STEP * (len(frames) - last)))
    written = io.BytesIO()
    file.save(file=written)
    return written.getvalue()


def _mido() -> Any:
    """The package mido, an optional dependency that is imported on first use."""
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
    """The notes of a track; one that is never released ends with the track."""
    now, sounding, found = 0, dict[tuple[int, int], int](), list[Note]()
    for message in track:
        now += message.time
        if message.type not in ("note_on", "note_off") or message.channel == DRUM_CHANNEL:
            continue
        key = (message.channel, message.note)
        if key in sounding:  # a repeated note_on ends the note before
            found.append(Note(sounding.pop(key), now, message.note))
        if _is_note_on(message):
            sounding[key] = now
    return found + [Note(start, now, pitch) for (_, pitch), start in sounding.items()]


def _is_note_on(message: "Message") -> bool:
    """Whether a note starts; a note_on of velocity 0 is a note_off."""
    return message.type == "note_on" and message.velocity > 0


def _frames(notes: list[Note], end: int, ticks: float) -> list[Frame]:
    """The pitches that sound at each step, where a step has `ticks` ticks."""
    count = max([round(end / ticks), *(_last(note, ticks) for note in notes)])
    if count > MAX_FRAMES:
        raise InvalidPieceError("D270", f"it has {count:,} steps; at most {MAX_FRAMES:,} are read")
    spans = [(round(note.start / ticks), _last(note, ticks), note.pitch) for note in notes]
    if sum(last - first for first, last, _ in spans) > MAX_SOUNDING:
        raise InvalidPieceError("D270", "it has too many notes")
    found: list[set[int]] = [set() for _ in range(count)]
    for first, last, pitch in spans:
        for step in range(first, last):
            found[step].add(pitch)
    return [tuple(sorted(pitches)) for pitches in found]


def _last(note: Note, ticks: float) -> int:
    """The step after the last of a note, which has at least one."""
    return max(round(note.end / ticks), round(note.start / ticks) + 1)


def _events(frames: Sequence[Frame]) -> Iterator[tuple[int, bool, int]]:
    """Note events: the step, whether the note starts (or ends), and the pitch."""
    for pitch in sorted({pitch for frame in frames for pitch in frame}):
        sounding = ((step, pitch in frame) for step, frame in enumerate(frames))
        for is_on, run in groupby(sounding, key=lambda one: one[1]):
            steps = [step for step, _ in run]
            if is_on:
                yield steps[0], True, pitch
                yield steps[-1] + 1, False, pitch
