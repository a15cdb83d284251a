"""Split record: hashes of the examples that a run was trained, validated and tested on.

The split belongs to the run. Cutting a data file anew after it has changed would move examples from
training to test. So `parts_of_run` finds the examples of each part again by their hashes, and
`trained_on` names the examples of any file that a run was trained on.

split.safetensors        train, valid and test: the hashes of their examples, in order
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt64

from ..data.loading.lazy import select
from ..data.options import Data
from ..errors import DataError, ModelError, SeqloomError, UsageError
from ..task import Task
from ..training.checkpoints import load_arrays, save_arrays
from .names import run_argument
from .splits import FILES, Parts, file_parts, fingerprint, read_parts

Hashes = UInt64[np.ndarray, " _"]
SPLIT = Path("split.safetensors")
LINES = 3  # consecutive lines by which a place in a continuous text is known again
SPLIT_OPTIONS = (
    *("valid_fraction", "test_fraction", "split_seed", "allow_overlap"),
    *("folds", "fold", "group", "in_time", "stratified"),
)


@dataclass(frozen=True, eq=False)
class SplitRecord:
    """The hashes of the examples of each part, in order."""

    train: Hashes
    valid: Hashes
    test: Hashes

    @classmethod
    def of(cls, task: Task, parts: Parts, train: Sequence[Any] | None = None) -> "SplitRecord":
        """The record of these parts; `train` has easier examples of a curriculum, too."""
        learned = parts.train if train is None else train
        return cls(*(hashes_of(task, part) for part in (learned, parts.valid, parts.test)))

    @classmethod
    def read(cls, folder: Path) -> "SplitRecord | None":
        """The record of a run; None if the run is older than such records."""
        if not (folder / SPLIT).exists():
            return None
        arrays = load_arrays(folder / SPLIT).arrays
        if sorted(arrays) != sorted(FILES) or any(
            array.dtype != np.uint64 or array.ndim != 1 for array in arrays.values()
        ):
            raise ModelError(
                "M113",
                f"{folder / SPLIT} is damaged",
                help=["copy the run again, or train it again"],
            )
        return cls(**arrays)

    def save(self, folder: Path) -> None:
        """Save the record in the folder of its run."""
        save_arrays(folder / SPLIT, {name: getattr(self, name) for name in FILES})

    def with_training(self, task: Task, train: Sequence[Any]) -> "SplitRecord":
        """The record after training on these examples, too."""
        return replace(self, train=np.union1d(self.train, hashes_of(task, train)))

    def trained_on(self, task: Task, examples: Sequence[Any]) -> list[int]:
        """The positions of the examples that were trained on.

        A continuous text may repeat a line: there it takes several consecutive ones.
        """
        if task.continuous:
            return _repeated_lines(hashes_of(task, examples), self.train)
        hashes = [task.hashes(example) for example in examples]
        positions = np.repeat(np.arange(len(hashes)), [len(one) for one in hashes])
        # In one call: it sorts the training part, which may be large.
        is_known = np.isin(np.concatenate(hashes), self.train) if hashes else np.zeros(0, bool)
        return np.unique(positions[is_known]).tolist()

    def parts(self, task: Task, data: Data) -> Parts:
        """The examples in the data files as they are now, in the parts where they were before."""
        fresh = read_parts(task, data)
        if all(
            np.array_equal(hashes_of(task, getattr(fresh, name)), getattr(self, name))
            for name in ("valid", "test")
        ):
            return fresh
        if task.splits_in_time:
            given = {name: getattr(fresh, name) for name in FILES}
            found = task.restored_splits(given, {name: getattr(self, name) for name in FILES})
        elif task.continuous:
            found = self._blocks(task, file_parts(task, data))
        else:
            found = self._by_hash(task, fresh)
        changes = tuple(self._changes(task, found))
        return Parts(found["train"], found["valid"], found["test"], fresh.notes, changes)

    def _by_hash(self, task: Task, fresh: Parts) -> dict[str, Sequence[Any]]:
        """Each example in the part where it was; new ones are in training."""
        parts = [fresh.train, fresh.valid, fresh.test]
        hashes = [hashes_of(task, part) for part in parts]
        held_out = np.concatenate([self.valid, self.test])
        chosen: list[list[Bool[np.ndarray, " _"]]] = [
            [np.isin(one, self.train) | ~np.isin(one, held_out) for one in hashes],
            [np.isin(one, self.valid) for one in hashes],
            [np.isin(one, self.test) for one in hashes],
        ]
        found = {}
        for own, (name, masks) in enumerate(zip(FILES, chosen, strict=True)):
            # Where files overlap, an example that is in its part already is not taken twice.
            present = hashes[own][masks[own]]
            masks = [
                m if i == own else m & ~np.isin(hashes[i], present) for i, m in enumerate(masks)
            ]
            taken = [select(p, np.flatnonzero(m)) for p, m in zip(parts, masks, strict=True)]
            filled = [some for some in taken if len(some)]
            found[name] = filled[0] if len(filled) == 1 else list(chain.from_iterable(filled))
        return found

    def _blocks(self, task: Task, files: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The parts of a continuous text: the blocks of lines that were held out before.

        Their first and last lines are left out, as a text may have been cut within a line.
        """
        found: dict[str, Sequence[Any]] = {}
        ends = [len(files["train"])]
        for name in ("valid", "test"):
            text, inner = files.get(name, files["train"]), getattr(self, name)[1:-1]
            if not len(getattr(self, name)):
                found[name] = []
                continue
            start = _find(inner, hashes_of(task, text)) if len(inner) else None
            found[name] = [] if start is None else text[start : start + len(inner)]
            if name not in files:
                # Without the block itself nobody knows where training ended.
                ends.append(0 if start is None else max(0, start - 1))
        return {**found, "train": files["train"][: min(ends)]}

    def _changes(self, task: Task, found: Mapping[str, Sequence[Any]]) -> list[str]:
        """Notes on examples that have gone or come since training."""
        test = hashes_of(task, found["test"])
        notes = []
        if gone := len(np.setdiff1d(self.test, test)):
            what = "time steps" if task.splits_in_time else "examples"
            notes.append(
                f"{gone:,} of the {len(np.unique(self.test)):,} test {what}"
                " are no longer in the data"
            )
        if not (task.splits_in_time or task.continuous):
            before = np.concatenate([self.train, self.valid, self.test])
            new = len(np.setdiff1d(hashes_of(task, found["train"]), before))
            notes += [f"{new:,} examples are new: they are not in the test part"] * bool(new)
        return notes


def parts_of_run(folder: Path, task: Task, data: Data, before: Mapping[str, str]) -> Parts:
    """The parts of a run, split as when it was trained.

    `before` are the fingerprints of its data files. A run that is older than split records is split
    anew, which is the same as long as its files are.
    """
    record, name = SplitRecord.read(folder), folder.name
    if record is not None:
        parts = record.parts(task, data)
        if len(record.test) and not parts.test:
            raise _all_gone(folder, "test", len(record.test))
    else:
        # Folds kept equal examples together then, whether overlap was allowed or not.
        parts = read_parts(task, replace(data, allow_overlap=False) if data.folds else data)
    if fingerprint(task, data) == before:
        return parts
    notes = [f"the data of {name} has changed since it was trained"]
    if record is None:
        notes.append(
            f"{name} has no record of its split, which cannot be verified:"
            " it may have been trained on some of these examples"
        )
    return replace(parts, changes=(*notes, *parts.changes))


def parts_to_resume(folder: Path, task: Task, data: Data, before: Mapping[str, str]) -> Parts:
    """The parts of a run that is trained on: nothing that was held out is in training."""
    parts = parts_of_run(folder, task, data, before)
    if not parts.train:
        raise _all_gone(folder, "validation", 0)
    return parts


def record_of_run(
    folder: Path, task: Task, data: Data, before: Mapping[str, str]
) -> SplitRecord | None:
    """The split record of a run; that of an older run is made anew, if its data has not changed."""
    if (record := SplitRecord.read(folder)) is not None:
        return record
    try:
        if fingerprint(task, data) != before:
            return None
        return SplitRecord.of(task, parts_of_run(folder, task, data, before))
    except (SeqloomError, OSError):
        return None  # its data is gone


def copy_record(folder: Path, of: Path, *others: Path) -> None:
    """Give a run made of others the record of the first; it has seen what all were trained on."""
    records = [SplitRecord.read(one) for one in (of, *others)]
    known = [record for record in records if record is not None]
    if len(known) == len(records):
        train = np.concatenate([record.train for record in known])
        replace(known[0], train=train).save(folder)


def refuse_split_options(settings: Iterable[str], name: str) -> None:
    """Raise an error for settings that would split the data of a run in another way."""
    for path in settings:
        if path.removeprefix("data.") in SPLIT_OPTIONS:
            raise UsageError(
                "U111",
                f"{path} would split the data of {name} in another way than in training",
                notes=["Examples that it was trained on would be among the test examples."],
                help=[
                    f"leave out --set {path}",
                    f"seqloom train … --set {path}=…   trains a new run on another split",
                ],
            )


def hashes_of(task: Task, examples: Sequence[Any]) -> Hashes:
    """The hashes of examples, in order."""
    found = [task.hashes(example) for example in examples]
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _find(block: Hashes, text: Hashes) -> int | None:
    """Where a block of lines stands in a text."""
    for start in np.flatnonzero(text[: max(0, len(text) - len(block) + 1)] == block[0]).tolist():
        if np.array_equal(text[start : start + len(block)], block):
            return int(start)
    return None


def _repeated_lines(lines: Hashes, trained: Hashes) -> list[int]:
    """The lines that stand in a block of `LINES` consecutive ones which is in training, too."""
    width = min(LINES, len(lines))
    if not width or len(trained) < width:
        return []
    known = np.isin(_blocks_of(lines, width), _blocks_of(trained, width))
    windows = np.lib.stride_tricks.sliding_window_view(lines, width)
    known &= (windows != windows[:, :1]).any(axis=1) | (width == 1)  # blank lines are no sign
    return sorted({start + i for start in np.flatnonzero(known).tolist() for i in range(width)})


def _blocks_of(lines: Hashes, width: int) -> Hashes:
    """A hash of each block of consecutive lines."""
    found = np.zeros(len(lines) - width + 1, np.uint64)
    for offset in range(width):
        found = found * np.uint64(0x9E3779B97F4A7C15) + lines[offset : offset + len(found)]
    return found


def _all_gone(folder: Path, part: str, count: int) -> DataError:
    number = f"{count:,} " * bool(count)
    return DataError(
        "D165",
        f"none of the {number}{part} examples of {folder.name} are in its data any more",
        notes=["Others may be examples that it was trained on."],
        help=[
            f"seqloom evaluate {run_argument(folder)} FILE   evaluates it on another file",
            "restore the data file, or train a new run",
        ],
    )
