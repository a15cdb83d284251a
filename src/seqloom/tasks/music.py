"""Predict each next frame of a piano roll: the keys that sound at a step, from all steps before."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..batch import Item
from ..data.checks.text import Side
from ..data.formats import Row, Sentence, Source
from ..data.formats.music import WHOLE, Asked, read_rolls
from ..data.music.piano_roll import HIGHEST, LOWEST, REST, Frame, Keys, read_line, written
from ..data.options import Data
from ..errors import DataError, Place, UsageError
from ..metrics import Ratio
from ..prediction import Odds
from ..signature import Bits, Form, Signature
from ..task import Task

MOST_STEPS = 96  # to a quarter note; MIDI files count few more


class Piece(NamedTuple):
    """What sounds at each step."""

    frames: list[Frame]
    line: int = 0


class Foretold(NamedTuple):
    """What was thought likelier of every frame from those before it.

    The first comes from nothing, and cost so many nats.
    """

    frames: list[Frame]
    nats_of_first: float = 0.0


class Music(Task):
    """Pieces of music in; how likely they are, and new ones, out.

    A frame has a bit for each key, 1 where it sounds. log p = Σ_t Σ_k log p(bit k of frame t given
    all frames before t); before the first frame nothing sounds. Nats per frame are the sum over
    the keys and the mean over the frames from the second on, as published results count them
    (Boulanger-Lewandowski et al., 2012; Bai et al., 2018); they are told with the first, too. Frame
    accuracy is the share of right notes among all notes that sound or were expected to: hits over
    hits, misses and false alarms, a note being expected where it is likelier than not.

    Args:
        steps_per_quarter: How many steps a quarter note of a MIDI file has, read or written.
        lowest: The lowest pitch, as MIDI counts, where 60 is the middle C.
        highest: The highest pitch.
    """

    form = Form.NEXT
    verb = "compose"
    roles = ("piece",)
    headline = "nats_per_frame"
    read_unit = "frames"

    def __init__(
        self, *, steps_per_quarter: int = 4, lowest: int = LOWEST, highest: int = HIGHEST
    ) -> None:
        self.keys, self.steps_per_quarter = Keys(lowest, highest), steps_per_quarter
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

    def brought(self, path: Path, data: Data) -> dict[str, Sequence[Piece]]:
        if path.is_dir():
            return {}
        found = self._parts(path, data)
        if WHOLE in found:
            return {"train": self.examples(found[WHOLE], data)}
        if "train" not in found:
            raise _has_parts(path, list(found))
        return {part: self.examples(one, data) for part, one in found.items()}

    def open(self, path: Path, data: Data) -> Source:
        """The pieces of all parts, those to learn from first."""
        found = self._parts(path, data)
        order = sorted(found, key=lambda part: (part != "train", part != "valid"))
        rows = [row for part in order for row in found[part].rows]
        whole = [replace(row, line=number) for number, row in enumerate(rows, start=1)]
        bad = [one for part in order for one in found[part].bad]
        return replace(found[order[0]], rows=whole, bad=bad)

    def _parts(self, path: Path, data: Data) -> dict[str, Source]:
        found = read_rolls(path, Asked(self.keys, self.steps_per_quarter), data)
        return found if len(found) > 1 else {WHOLE: next(iter(found.values()))}

    def sides(self, source: Source) -> list[Side]:
        """The frames as they stand there: nothing is learned of them."""
        frames = [str(row.fields[0]).split() for row in source.rows]
        return [Side("piece", self.read_unit, frames)]

    def example(self, row: Row | Sentence) -> Piece:
        return Piece(read_line(str(row.fields[0])), row.line)

    def question(self, text: str) -> Piece:
        """A piece in one line, as "60,64,67 60,65,69 -"."""
        frames = read_line(text)
        if (outside := self.keys.outside(frames)) is not None:
            raise self._outside(*outside)
        return Piece(frames)

    def answered(self, question: Piece, answer: object) -> Piece:
        if not isinstance(answer, Foretold):
            return question
        return question._replace(frames=answer.frames)

    def key(self, example: Piece) -> Hashable:
        return tuple(example.frames)

    def length(self, example: Piece) -> int:
        return len(example.frames)

    def prepare(self, examples: Sequence[Piece]) -> None:
        """Nothing is left to learn: the keys are known."""

    def signature(self) -> Signature:
        return Signature(self.form, Bits(self.keys.size), Bits(self.keys.size))

    def encode(self, example: Piece) -> Item:
        rows = self.keys.bits(example.frames)
        return Item(rows, rows)

    def ask_one(self, value: Any) -> tuple[Any, bool]:
        """A frame of a stream: in a line, as pitches, or as a row of bits."""
        if isinstance(value, str):
            row, is_known = super().ask_one(value)
            return row, is_known
        numbers = np.asarray(value)
        if numbers.shape == (self.keys.size,) and np.isin(numbers, (0, 1)).all():
            return numbers.astype(np.float32), True
        return super().ask_one(",".join(map(str, numbers.ravel().tolist())) or REST)

    def decode(self, row: Sequence[Sequence[float]] | Odds) -> Foretold:
        """Of rows of bits or chances, what is likelier than not."""
        rows = row.likelier() if isinstance(row, Odds) else row
        return Foretold(self.keys.frames(rows))

    def answer_to(self, example: Piece, row: Sequence[Sequence[float]] | Odds) -> Foretold:
        found = self.decode(row)
        if not isinstance(row, Odds) or not example.frames:
            return found
        first = Odds(row.values[:1]).log_probs(self.keys.bits(example.frames[:1]))
        return found._replace(nats_of_first=-float(first.sum()))

    def judge(self, example: Piece, answer: Foretold, nats: float) -> dict[str, Ratio]:
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
        return written(answer.frames)

    def shown_question(self, example: Piece) -> str:
        return written(example.frames)

    def symbols(self, example: Piece, answer: object) -> tuple[list[str], list[str]]:
        """What is read is one frame late."""
        names = [written([frame]) for frame in example.frames]
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
