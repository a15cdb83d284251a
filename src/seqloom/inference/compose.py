"""Music generation: samples piano-roll frames one after another; `seqloom compose`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Sequences, begin_value
from ..cancellation import check_cancelled
from ..data.music.midi import write_midi
from ..data.music.piano_roll import MAX_FRAMES, Frame
from ..decoding import GenerativeModel
from ..errors import UsageError, cannot_save
from ..tasks.music import Music
from ..views import PianoRollView

SUFFIXES = {".mid", ".midi", ".json"}
SLOWEST, QUICKEST = 4.0, 1000.0  # quarter notes a minute: the range of MIDI


@dataclass(frozen=True, kw_only=True)
class CompositionOptions:
    """Options of music generation.

    Args:
        steps: Number of frames to generate.
        temperature: Sampling temperature: below 1 sharpens the distribution, above 1 flattens it; 0
            takes the more likely state of each key.
        voices: Maximum number of simultaneous notes; 0 is no limit.
        seed: Random seed.
    """

    steps: int = 64
    temperature: float = 1.0
    voices: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        is_valid = isfinite(self.temperature) and self.temperature >= 0
        right = {
            "steps": (1 <= self.steps <= MAX_FRAMES, f"a whole number from 1 to {MAX_FRAMES}"),
            "temperature": (is_valid, "0 or more"),
            "voices": (self.voices >= 0, "a whole number of at least 1, or 0 for no limit"),
            "seed": (self.seed >= 0, "a whole number of at least 0"),
        }
        for name, (is_right, expected) in right.items():
            if not is_right:
                raise UsageError("U332", f"{name} {getattr(self, name):g}: expected {expected}")


@dataclass(frozen=True)
class Composition:
    """A generated piece: the frames of the prompt, then the sampled frames."""

    frames: list[Frame]
    given: int  # number of frames of the prompt
    steps_per_quarter: int

    def view(self, model: str) -> PianoRollView:
        """The piece as a piano roll."""
        return PianoRollView(self.frames, model, prompt_steps=self.given)

    def to_midi(self, tempo: float = 90.0) -> bytes:
        """The piece as a MIDI file; `tempo` in quarter notes a minute."""
        if not SLOWEST <= tempo <= QUICKEST:
            raise UsageError(
                "U332", f"tempo {tempo:g}: expected {SLOWEST:g} to {QUICKEST:g} quarters a minute"
            )
        return write_midi(self.frames, steps_per_quarter=self.steps_per_quarter, tempo=tempo)

    def to_json(self) -> dict[str, Any]:
        """The piece as lists of pitches, in the format that the task reads."""
        frames = [list(frame) for frame in self.frames]
        return {
            "frames": frames,
            "given": self.given,
            "steps_per_quarter": self.steps_per_quarter,
        }

    def save(self, path: str | Path, tempo: float = 90.0) -> Path:
        """Write the piece as MIDI or JSON, by the suffix."""
        path = require_music_suffix(Path(path))
        is_json = path.suffix.lower() == ".json"
        content = (json.dumps(self.to_json()) + "\n").encode() if is_json else self.to_midi(tempo)
        try:
            path.write_bytes(content)
        except OSError as error:
            raise cannot_save(path, error) from error
        return path


def require_music_suffix(path: Path) -> Path:
    """The path, if its suffix is that of a music file; else an error."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "U333",
            f"cannot write a piece as {path.name!r}: the suffix gives the format",
            help=[f"end the name with one of: {', '.join(sorted(SUFFIXES))}"],
        )
    return path


def compose(
    model: GenerativeModel, task: Music, settings: CompositionOptions, prompt: Sequence[Frame] = ()
) -> Composition:
    """Generate a piece from the frames of a prompt.

    Key k of a frame sounds with probability σ(s_k / temperature), where s_k is the logit that the
    model gives after all frames before.
    """
    rng = np.random.default_rng(settings.seed)
    sampled: list[Float[np.ndarray, " size"]] = []
    with model.inference_mode():
        state = model.begin(Sequences.pad([task.keys.to_matrix([])]))
        logits, state = model.step(np.asarray(begin_value(task.signature().source))[None], state)
        for row in task.keys.to_matrix(prompt):
            logits, state = model.step(row[None], state)
        while len(sampled) < settings.steps:
            check_cancelled()
            sampled.append(sample_frame(logits[0].astype(np.float64), settings, rng))
            logits, state = model.step(sampled[-1][None], state)
    frames = [*prompt, *task.keys.to_frames([row.tolist() for row in sampled])]
    return Composition(frames, len(prompt), task.steps_per_quarter)


def sample_frame(
    logits: Float[np.ndarray, " size"], settings: CompositionOptions, rng: np.random.Generator
) -> Float[np.ndarray, " size"]:
    """Sample a frame, with one random number for each key.

    All numbers are drawn whatever the settings, so that frames with different settings differ only
    in the notes that the settings change.
    """
    numbers = rng.random(len(logits))
    if not settings.temperature:
        is_likely = logits > 0
        if settings.voices and is_likely.sum() > settings.voices:
            is_likely &= logits >= np.sort(logits)[-settings.voices]
        return is_likely.astype(np.float32)
    # clipped, as exp overflows beyond 709
    probabilities = 1 / (1 + np.exp(-np.clip(logits / settings.temperature, -700, 700)))
    if not settings.voices:
        return (numbers < probabilities).astype(np.float32)
    return _sample_at_most(settings.voices, probabilities, numbers)


def _sample_at_most(
    voices: int, probabilities: Float[np.ndarray, " size"], numbers: Float[np.ndarray, " size"]
) -> Float[np.ndarray, " size"]:
    """Sample independent keys, conditional on at most `voices` of them sounding.

    p(key k sounds | n notes left) = p_k T_{k+1}(n-1) / T_k(n), where T_k(n) is the probability that
    at most n of the keys from k on sound: T_k(n) = p_k T_{k+1}(n-1) + (1 - p_k) T_{k+1}(n)
    """
    at_most = np.ones((len(probabilities) + 1, voices + 1))  # T
    # backwards, as T_k follows from T_{k+1}
    for k in reversed(range(len(probabilities))):
        one_fewer = np.concatenate([[0.0], at_most[k + 1, :-1]])
        at_most[k] = probabilities[k] * one_fewer + (1 - probabilities[k]) * at_most[k + 1]
    frame, left = np.zeros(len(probabilities), dtype=np.float32), voices
    for k, number in enumerate(numbers):
        sounds = probabilities[k] * at_most[k + 1, left - 1] if left else 0.0
        if number * at_most[k, left] < sounds:
            frame[k], left = 1, left - 1
    return frame
