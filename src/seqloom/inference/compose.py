"""Pieces of music that are drawn frame by frame: the work behind `seqloom compose`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Sequences, before_the_first
from ..data.music.midi import write_midi
from ..data.music.piano_roll import MOST_FRAMES, Frame
from ..decoding import Writer
from ..errors import MachineError, UsageError
from ..tasks.music import Music
from ..views import PianoRollView

SUFFIXES = {".mid", ".midi", ".json"}
SLOWEST, QUICKEST = 4.0, 1000.0  # quarter notes a minute: what MIDI can say


@dataclass(frozen=True, kw_only=True)
class Composing:
    """How a piece is drawn.

    Args:
        steps: How many frames are drawn.
        temperature: Below 1 the likely becomes likelier, above 1 the choice becomes wilder; 0
            always takes the likelier of each key.
        voices: How many keys sound at once at most; 0 is no limit.
        seed: Where randomness starts: the same seed draws the same piece.
    """

    steps: int = 64
    temperature: float = 1.0
    voices: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        hot = isfinite(self.temperature) and self.temperature >= 0
        right = {
            "steps": (1 <= self.steps <= MOST_FRAMES, f"a whole number from 1 to {MOST_FRAMES}"),
            "temperature": (hot, "0 or more"),
            "voices": (self.voices >= 0, "a whole number of at least 1, or 0 for no limit"),
            "seed": (self.seed >= 0, "a whole number of at least 0"),
        }
        for name, (is_right, expected) in right.items():
            if not is_right:
                raise UsageError("U332", f"{name} {getattr(self, name):g}: expected {expected}")


@dataclass(frozen=True)
class Composed:
    """A piece: the frames it went on from, and those that were drawn after them."""

    frames: list[Frame]
    given: int  # so many of them were there before
    steps_per_quarter: int

    def view(self, model: str) -> PianoRollView:
        """The piece as a picture."""
        return PianoRollView(self.frames, model, given=self.given)

    def to_midi(self, tempo: float = 90.0) -> bytes:
        """The piece as a MIDI file, at so many quarter notes a minute."""
        if not SLOWEST <= tempo <= QUICKEST:
            raise UsageError(
                "U332", f"tempo {tempo:g}: expected {SLOWEST:g} to {QUICKEST:g} quarters a minute"
            )
        return write_midi(self.frames, steps_per_quarter=self.steps_per_quarter, tempo=tempo)

    def to_json(self) -> dict[str, Any]:
        """The piece as lists of pitches, as the task reads them."""
        frames = [list(frame) for frame in self.frames]
        return {
            "frames": frames,
            "given": self.given,
            "steps_per_quarter": self.steps_per_quarter,
        }

    def save(self, path: str | Path, tempo: float = 90.0) -> Path:
        """Write the piece; the suffix says in which form."""
        path = must_be_music(Path(path))
        is_json = path.suffix.lower() == ".json"
        content = (json.dumps(self.to_json()) + "\n").encode() if is_json else self.to_midi(tempo)
        try:
            path.write_bytes(content)
        except OSError as error:
            raise MachineError(
                "E302",
                f"cannot write {str(path)!r}: {error.strerror or error}",
                help=["save to a folder that exists and that you may write to"],
            ) from error
        return path


def must_be_music(path: Path) -> Path:
    """A path whose suffix says that a piece is kept there."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "U333",
            f"cannot write a piece as {path.name!r}: the suffix says the form",
            help=[f"end the name with one of: {', '.join(sorted(SUFFIXES))}"],
        )
    return path


def compose(
    model: Writer, task: Music, settings: Composing, prompt: Sequence[Frame] = ()
) -> Composed:
    """A piece that goes on from the frames of a prompt.

    bit k of a frame is yes with probability σ(s_k / temperature), s being the log of the odds that
    the model gives after all frames before.
    """
    chance = np.random.default_rng(settings.seed)
    drawn: list[Float[np.ndarray, " size"]] = []
    with model.at_rest():
        state = model.begin(Sequences.pad([task.keys.bits([])]))
        odds, state = model.step(np.asarray(before_the_first(task.signature().source))[None], state)
        for row in task.keys.bits(prompt):
            odds, state = model.step(row[None], state)
        while len(drawn) < settings.steps:
            drawn.append(draw(odds[0].astype(np.float64), settings, chance))
            odds, state = model.step(drawn[-1][None], state)
    frames = [*prompt, *task.keys.frames([row.tolist() for row in drawn])]
    return Composed(frames, len(prompt), task.steps_per_quarter)


def draw(
    odds: Float[np.ndarray, " size"], settings: Composing, chance: np.random.Generator
) -> Float[np.ndarray, " size"]:
    """One frame: a number of chance for each key, so that no setting moves those of another."""
    numbers = chance.random(len(odds))
    if not settings.temperature:
        likelier = odds > 0
        if settings.voices and likelier.sum() > settings.voices:
            likelier &= odds >= np.sort(odds)[-settings.voices]
        return likelier.astype(np.float32)
    likely = 1 / (1 + np.exp(-np.clip(odds / settings.temperature, -700, 700)))
    if not settings.voices:
        return (numbers < likely).astype(np.float32)
    return _at_most(settings.voices, likely, numbers)


def _at_most(
    voices: int, likely: Float[np.ndarray, " size"], numbers: Float[np.ndarray, " size"]
) -> Float[np.ndarray, " size"]:
    """Keys drawn one after another, given that no more than so many sound.

    p(yes to k | n still may) = p_k T_{k+1}(n-1) / T_k(n),    T_k(n) being the chance that at most
    n of the keys from k on sound: T_k(n) = p_k T_{k+1}(n-1) + (1 - p_k) T_{k+1}(n)
    """
    few = np.ones((len(likely) + 1, voices + 1))
    for k in reversed(range(len(likely))):
        fewer = np.concatenate([[0.0], few[k + 1, :-1]])
        few[k] = likely[k] * fewer + (1 - likely[k]) * few[k + 1]
    drawn, left = np.zeros(len(likely), dtype=np.float32), voices
    for k, number in enumerate(numbers):
        yes = likely[k] * few[k + 1, left - 1] if left else 0.0
        if number * few[k, left] < yes:
            drawn[k], left = 1, left - 1
    return drawn
