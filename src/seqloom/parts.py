"""The three parts of the data of a run: to learn from, to choose by, to be judged on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from .data.formats.folders import files_in, parts_in
from .data.names import files_of
from .data.settings import Data
from .data.splitting import split, split_in_order, without
from .errors import DataError, UsageError
from .held_out import held_out, must_fold
from .task import Task, reads_no_file

FILES = ("train", "valid", "test")


@dataclass(frozen=True)
class Parts:
    """Examples for training, validation and test, and what was left out on the way."""

    train: Sequence[Any]
    valid: Sequence[Any]
    test: Sequence[Any]
    notes: list[str]


def read_parts(task: Task, data: Data) -> Parts:
    """What the task makes by itself, or else what is in the files.

    What has no file of its own is cut from the training file.
    """
    must_fold(task, data)
    if (generated := task.generated()) is not None:
        for file in filter(None, (data.train, data.valid, data.test)):
            raise reads_no_file(file)
        return _made(task, data, {name: generated.draw(name) for name in FILES})
    if not data.train:
        raise UsageError(
            "U007", "no training file", help=["seqloom train TASK FILE, or [data] train = FILE"]
        )
    if data.folds and not task.in_time:
        return _apart(task, data, held_out(task, data))
    given = {name: task.read(path, data) for name, path in _paths(data).items()}
    if task.in_time:
        return Parts(**task.parted(given, data), notes=[])
    fractions = {"valid": data.valid_fraction, "test": data.test_fraction}
    missing = [name for name in fractions if name not in given]
    wanted = [fractions[name] for name in missing]
    if task.continuous:
        cut = split_in_order(given["train"], wanted, task.extent, task.divided)
    else:
        cut = split(given["train"], wanted, data.split_seed, task.key)
    given["train"] = cut.pop()
    given |= dict(zip(missing, cut, strict=True))
    return _apart(task, data, given)


def easier_parts(task: Task, data: Data, parts: Parts) -> list[Sequence[Any]]:
    """Easier examples to learn from first, level by level, where the task makes such.

    What is in validation or test is left out here: both stay the same whatever is learned first.
    """
    generated = task.generated()
    levels = generated.easier() if generated is not None else []
    judged = [] if data.shared else [*parts.valid, *parts.test]
    return [without(level, judged, task.key) for level in levels]


def with_known_labels(task: Task, examples: Sequence[Any]) -> Sequence[Any]:
    """The examples whose labels training showed: a rare one may stand in another part alone."""
    unknown = {line for lines in task.unknown_labels(examples).values() for line in lines}
    return [example for example in examples if example.line not in unknown] if unknown else examples


def fingerprint(task: Task, data: Data) -> dict[str, str]:
    """The sha256 of each data file, to tell later whether it has changed.

    Examples that a task makes are known by the settings they follow from.
    """
    if (generated := task.generated()) is not None:
        return generated.settings
    found = {}
    for name, path in _paths(data).items():
        found[name] = "-".join(map(_digest, files_of(path)))
    return found


def _paths(data: Data) -> dict[str, Path]:
    """The file, or folder, of each part; a folder may bring all of them, as IMDB's does."""
    brought = parts_in(Path(data.train))
    named = {name: Path(path) for name in FILES if (path := getattr(data, name))}
    return {name: path for name, path in (named | brought).items() if name == "train"} | {
        name: path for name, path in (brought | named).items() if name != "train"
    }


def _digest(path: Path) -> str:
    """The sha256 of a file; of a folder, of all that is in it and what it is called."""
    if path.is_dir():
        inside = (f"{file.relative_to(path)} {_digest(file)}\n" for file in files_in(path))
        return hashlib.sha256("".join(inside).encode("utf-8", "replace")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _made(task: Task, data: Data, drawn: dict[str, list[Any]]) -> Parts:
    """Leave out of validation and test what is learned: the short, drawn often, must be learned."""
    train, valid, test = (drawn[name] for name in FILES)
    if data.shared:
        return Parts(train, valid, test, [])
    fresh = without(valid, train, task.key)
    unseen = without(test, chain(train, fresh), task.key)
    for name, before, after in (("validation", valid, fresh), ("test", test, unseen)):
        if before and not after:
            raise _nothing_new(name, len(train))
    left = len(valid) + len(test) - len(fresh) - len(unseen)
    note = (
        f"{left:,} validation and test examples left out: they were drawn before"
        " (--set data.shared=true keeps them)"
    )
    return Parts(train, fresh, unseen, [note] * bool(left))


def _nothing_new(part: str, learned: int) -> DataError:
    return DataError(
        "D110",
        f"nothing is left for {part}: all questions drawn for it are in the {learned:,} to learn"
        " from",
        help=[
            f"--set task.examples={max(1, learned // 10)}   learn from fewer",
            "make the questions larger, so that there are more of them",
            "--set data.shared=true   ask what was learned",
        ],
    )


def _apart(task: Task, data: Data, given: dict[str, Sequence[Any]]) -> Parts:
    """Take out of training what is also in validation or test, unless the user wants it there."""
    notes = []
    train = given["train"]
    if not data.shared and not task.continuous:  # lines of a text may well be alike
        kept = without(train, chain(given["valid"], given["test"]), task.key)
        if len(kept) < len(train):
            left = len(train) - len(kept)
            notes.append(
                f"{left:,} training examples left out: they are in validation or test too"
                " (--set data.shared=true keeps them)"
            )
        train = kept
    if not train:
        raise DataError(
            "D043",
            "nothing is left to train on: every training example is in validation or test too",
            help=["--set data.shared=true   train on them all the same"],
        )
    return Parts(train, given["valid"], given["test"], notes)
