"""Polyphonic music modelling: predict each next frame of a piano roll from those before."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..batch import Item
from ..data.checks.text import Side
from ..data.formats import ParsedFile, Row, Sentence
from ..data.formats.base import InputFile
from ..data.formats.music import (
    JSON_EXTENSIONS,
    MIDI_EXTENSIONS,
    UNSPLIT,
    PianoRollOptions,
    read_piano_rolls,
)
from ..data.music.piano_roll import (
    HIGHEST,
    LOWEST,
    REST,
    Frame,
    PitchRange,
    format_frames,
    parse_frames,
)
from ..data.options import Data
from ..errors import DataError, Place, UsageError
from ..metrics import Ratio
from ..prediction import BernoulliLogits
from ..signature import Bits, Form, Signature
from ..task import Baseline, BaselineRule, Task

MOST_STEPS = 96  # to a quarter note; MIDI files count few more


class Piece(NamedTuple):
    """A piano roll: the keys that sound at each step."""

    frames: list[Frame]
    line: int = 0


class Foretold(NamedTuple):
    """The predicted keys of every frame, from those before it.

    The first comes from nothing, and cost so many nats.
    """

    frames: list[Frame]
    nats_of_first: float = 0.0


class Music(Task):
    """Polyphonic music: the likelihood of piano rolls, and new pieces.

    A frame has a bit for each key, 1 where it sounds. log p = Σ_t Σ_k log p(bit k of frame t given
    all frames before t); before the first frame nothing sounds. Nats per frame are the sum over
    the keys and the mean over the frames from the second on, as published results count them
    (Boulanger-Lewandowski et al., 2012; Bai et al., 2018); they are told with the first, too. Frame
    accuracy is the fraction of right notes among all that sound or were expected to: hits over
    hits, misses and false alarms, a note being expected where its probability is above one half.

    Args:
        steps_per_quarter: Time steps per quarter note of MIDI files, read or written.
        lowest: The lowest pitch, as MIDI counts, where 60 is the middle C.
        highest: The highest pitch.
    """

    form = Form.NEXT
    verb = "compose"
    roles = ("piece",)
    primary_metric = "nats_per_frame"
    input_unit = "frames"

    def __init__(
        self, *, steps_per_quarter: int = 4, lowest: int = LOWEST, highest: int = HIGHEST
    ) -> None:
        self.keys, self.steps_per_quarter = PitchRange(lowest, highest), steps_per_quarter
        if not 1 <= steps_per_quarter <= MOST_STEPS:
            raise UsageError(
                "U331",
                f"[task] steps_per_quarter = {steps_per_quarter}: expected 1 to {MOST_STEPS}",
                help=["--set task.steps_per_quarter=4   sixteenths"],
            )

    def read(self, path: Path, data: Data) -> Sequence[Piece]:
        found = self._parts(path, data)
        if len(found) > 1:
            raise _has_parts(path, list(found))
        return self.examples(next(iter(found.values())), data)

    def bundled_splits(self, path: Path, data: Data) -> dict[str, Sequence[Piece]]:
        if path.is_dir():
            return {}
        found = self._parts(path, data)
        if UNSPLIT in found:
            return {"train": self.examples(found[UNSPLIT], data)}
        if "train" not in found:
            raise _has_parts(path, list(found))
        return {part: self.examples(one, data) for part, one in found.items()}

    def open(self, path: Path, data: Data) -> ParsedFile:
        """The pieces of all parts, those to learn from first."""
        found = self._parts(path, data)
        order = sorted(found, key=lambda part: (part != "train", part != "valid"))
        rows = [row for part in order for row in found[part].rows]
        whole = [Row(n, (str(row.fields[0]),)) for n, row in enumerate(rows, start=1)]
        bad = [one for part in order for one in found[part].bad]
        return replace(found[order[0]], rows=whole, bad=bad)

    def inputs(self, path: Path, data: Data) -> InputFile | None:
        """None: a line is a typed piece; files of music are prompts of `compose`."""
        if path.suffix.lower() not in MIDI_EXTENSIONS | JSON_EXTENSIONS:
            return None
        raise UsageError(
            "U335",
            f"a file of music needs {self.verb}; predict reads one typed piece per line",
            help=[f"seqloom {self.verb} RUN --prompt {path}"],
        )

    def _parts(self, path: Path, data: Data) -> dict[str, ParsedFile]:
        found = read_piano_rolls(path, PianoRollOptions(self.keys, self.steps_per_quarter), data)
        return found if len(found) > 1 else {UNSPLIT: next(iter(found.values()))}

    def sides(self, source: ParsedFile) -> list[Side]:
        """The frames as they stand there: nothing is learned of them."""
        frames = (str(row.fields[0]).split() for row in source.rows)
        return [Side.of("piece", self.input_unit, frames)]

    def example(self, row: Row | Sentence) -> Piece:
        return Piece(parse_frames(str(row.fields[0])), row.line)

    def question(self, text: str) -> Piece:
        """A piece in one line, as "60,64,67 60,65,69 -"."""
        frames = parse_frames(text)
        if (outside := self.keys.first_outside(frames)) is not None:
            raise self._outside(*outside)
        return Piece(frames)

    def with_target(self, question: Piece, answer: object) -> Piece:
        if not isinstance(answer, Foretold):
            return question
        return question._replace(frames=answer.frames)

    def key(self, example: Piece) -> Hashable:
        return tuple(example.frames)

    def length(self, example: Piece) -> int:
        return len(example.frames)

    def prepare(self, examples: Sequence[Piece]) -> None:
        """Nothing to fit: the keys are known."""

    def signature(self) -> Signature:
        return Signature(self.form, Bits(self.keys.size), Bits(self.keys.size))

    def encode(self, example: Piece) -> Item:
        rows = self.keys.to_matrix(example.frames)
        return Item(rows, rows)

    def encode_value(self, value: Any) -> tuple[Any, bool]:
        """A frame of a stream: in a line, as pitches, or as a row of bits."""
        if isinstance(value, str):
            row, is_known = super().encode_value(value)
            return row, is_known
        numbers = np.asarray(value)
        if numbers.shape == (self.keys.size,) and np.isin(numbers, (0, 1)).all():
            return numbers.astype(np.float32), True
        return super().encode_value(",".join(map(str, numbers.ravel().tolist())) or REST)

    def decode(self, row: Sequence[Sequence[float]] | BernoulliLogits) -> Foretold:
        """Of rows of bits or probabilities, what is likelier than not."""
        rows = row.mode() if isinstance(row, BernoulliLogits) else row
        return Foretold(self.keys.to_frames(rows))

    def decode_for(
        self, example: Piece, row: Sequence[Sequence[float]] | BernoulliLogits
    ) -> Foretold:
        found = self.decode(row)
        if not isinstance(row, BernoulliLogits) or not example.frames:
            return found
        first = BernoulliLogits(row.values[:1]).log_probs(self.keys.to_matrix(example.frames[:1]))
        return found._replace(nats_of_first=-float(first.sum()))

    def baseline(self) -> Baseline:
        return Baseline("how often each key sounds", rule=self._key_frequencies)

    def _key_frequencies(self, train: Sequence[Piece]) -> BaselineRule:
        rows = np.concatenate([self.keys.to_matrix(example.frames) for example in train])
        probabilities = (rows.sum(0) + 0.5) / (len(rows) + 1)
        logits = np.log(probabilities) - np.log1p(-probabilities)

        def rule(example: Piece) -> tuple[Foretold, float]:
            found = BernoulliLogits(np.tile(logits, (len(example.frames), 1)))
            nats = -float(found.log_probs(self.keys.to_matrix(example.frames)).sum())
            return self.decode_for(example, found), nats

        return rule

    def score(self, example: Piece, answer: Foretold, nats: float) -> dict[str, Ratio]:
        pairs = [
            ({*right}, {*guess}) for right, guess in zip(example.frames, answer.frames, strict=True)
        ][1:]
        hits = sum(len(right & guess) for right, guess in pairs)
        heard = sum(len(right | guess) for right, guess in pairs)
        frames = len(example.frames)
        return {
            "nats_per_frame": Ratio(nats - answer.nats_of_first, frames - 1),
            "nats_of_all_frames": Ratio(nats, frames),
            "frame_accuracy": Ratio(hits, heard),
        }

    def show(self, answer: Foretold) -> str:
        return format_frames(answer.frames)

    def show_question(self, example: Piece) -> str:
        return format_frames(example.frames)

    def show_tokens(self, example: Piece, answer: object) -> tuple[list[str], list[str]]:
        """A causal model reads each frame one step after it is predicted."""
        names = [format_frames([frame]) for frame in example.frames]
        return [REST, *names][: len(names)], names

    def is_known(self, example: Piece) -> list[bool]:
        return [True] * len(example.frames)

    def _outside(self, frame: int, pitch: int) -> DataError:
        return DataError(
            "D267",
            f"frame {frame} has the pitch {pitch}, outside {self.keys.lowest} to"
            f" {self.keys.highest}",
        )


def _has_parts(path: Path, parts: list[str]) -> DataError:
    return DataError(
        "D266",
        f'"{path.name}" has {" and ".join(parts)} in it: each is a set of pieces of its own',
        place=Place(str(path)),
        help=[
            "leave the file out: a run is evaluated on its own test part",
            f"seqloom train music {path}   takes all of them",
        ],
    )
