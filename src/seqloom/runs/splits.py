"""The three parts of the data of a run: to learn from, to choose by, to be judged on.

One fold of a file held out, and the others to learn from and to choose by.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..data.formats import read_column
from ..data.formats.folders import files_in, parts_in
from ..data.formats.parallel_names import files_of
from ..data.loading.cross_validation import (
    block_of_each,
    fold_of_each,
    must_fill,
    too_many_folds,
    units_of,
)
from ..data.loading.splitting import split, split_in_order, without
from ..data.options import Data
from ..errors import DataError, Place, UsageError
from ..task import Task, reads_no_file

ENOUGH_GROUPS = 10  # to learn from, that some can be spared whole for validation


def must_fold(task: Task, data: Data) -> None:
    """Refuse folds that cannot be."""
    if data.folds:
        _can_be_cut(task)
        _make_sense(data, task.in_time or data.in_time)
    elif data.group or data.in_time:
        raise UsageError(
            "U103",
            f"{'group' if data.group else 'in_time'} says how to cut folds, and there are no folds",
            help=["--folds 5"],
        )


def _can_be_cut(task: Task) -> None:
    if task.generated() is not None:
        raise UsageError(
            "U105",
            "this task makes its own examples: it draws others for the test, and needs no folds",
            help=["--repeat 5   train from five seeds", "--set task.seed=2   other examples"],
        )
    if task.continuous:
        raise UsageError(
            "U104",
            "a continuous text cannot be cut into folds: what is held out would leave a gap",
            help=["--set task.layout=lines   each line by itself", "--repeat 5   five seeds"],
        )


def _make_sense(data: Data, in_time: bool) -> None:
    if data.folds < 2:
        raise UsageError(
            "U100",
            f"{data.folds} fold{'s' * (data.folds != 1)}: nothing would be left to learn from",
            help=["--folds 5   or any number from 2 on"],
        )
    if not 1 <= data.fold <= data.folds:
        raise UsageError(
            "U101",
            f"there is no fold {data.fold} among {data.folds}",
            help=[f"--set data.fold=1   up to {data.folds}"],
        )
    if data.group and in_time:
        raise UsageError(
            "U102",
            "folds go by groups or in the order of time, not by both",
            help=["leave out --group or --in-time"],
        )
    if data.test:
        raise UsageError(
            "U106",
            f"with folds, runs are judged on what they hold out, and not on {data.test}",
            help=["leave out --test", "seqloom evaluate RUN FILE   judges the run of a fold on it"],
        )


def held_out(task: Task, data: Data) -> dict[str, Sequence[Any]]:
    """The parts of one fold's run. What chooses the best step comes from the side of training."""
    path = _folded(data)
    examples = task.brought(path, data).get("train") or task.read(path, data)
    cut = replace(data, valid_fraction=0.0) if data.valid else data  # a file stands for the share
    found = (_in_time if data.in_time else _by_chance)(task, cut, examples)
    if data.valid:
        found["valid"] = task.read(Path(data.valid), data)
    if not data.shared:
        found["valid"] = without(found["valid"], found["test"], task.key)
    return found


def _folded(data: Data) -> Path:
    """What is cut into folds: the file, or the training part of what has parts."""
    path = Path(data.train)
    return parts_in(path).get("train", path)


def _by_chance(task: Task, data: Data, examples: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Every fold once, by labels in proportion, groups and equal sequences never cut in two."""
    keys = [task.key(example) for example in examples]
    groups = _groups(task, data, examples) if data.group else None
    units = units_of(keys, groups)
    strata = _strata(task, examples) if data.stratified else None
    if groups is not None:
        must_fill(units, None, data.folds, what="groups")
    else:
        must_fill(units, strata, data.folds, what="different examples")
    folds = fold_of_each(units, strata, data.folds, data.split_seed)
    test = [one for one, fold in zip(examples, folds, strict=True) if fold == data.fold]
    rest = [one for one, fold in zip(examples, folds, strict=True) if fold != data.fold]
    if data.valid_fraction <= 0:
        return {"train": rest, "valid": [], "test": test}
    unit = dict(zip(keys, units, strict=True))
    spared = len({unit[task.key(one)] for one in rest}) >= ENOUGH_GROUPS
    together = (lambda one: unit[task.key(one)]) if spared else task.key
    valid, train = split(rest, [data.valid_fraction], data.split_seed, together)
    return {"train": train, "valid": valid, "test": test}


def _in_time(task: Task, data: Data, examples: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """What came before the fold to learn from, its end to choose by, as a model will be used."""
    if len(examples) <= data.folds:
        what = "examples in time, the first of which are to begin from"
        raise too_many_folds(data.folds, len(examples), what, len(examples) - 1)
    blocks = block_of_each(len(examples), data.folds)
    test = [one for one, block in zip(examples, blocks, strict=True) if block == data.fold]
    before = examples[: blocks.index(data.fold)]
    wanted = max(1, round(data.valid_fraction * len(before))) if data.valid_fraction > 0 else 0
    cut = len(before) - min(wanted, len(before) - 1)
    return {"train": before[:cut], "valid": before[cut:], "test": test}


def _strata(task: Task, examples: Sequence[Any]) -> list[Hashable] | None:
    """The label of each example; None where the task has none of the whole."""
    found: list[Hashable] = [task.stratum(example) for example in examples]
    return None if None in found else found


def _groups(task: Task, data: Data, examples: Sequence[Any]) -> list[str]:
    """What stands in the column to group by."""
    path = _folded(data)
    column = read_column(task.open(path, data), data.group, data)
    for example in examples:
        if example.line not in column:
            raise DataError(
                "D163",
                f'there is nothing in the column "{data.group}" to group this row by',
                place=Place(str(path), example.line),
                help=["fill it in, or leave the row out"],
            )
    groups = [column[example.line] for example in examples]
    if len(set(groups)) == 1:
        raise DataError(
            "D164",
            f'all rows are of one group: the column "{data.group}" has only {groups[0]!r}',
            place=Place(str(path)),
            help=["--group ANOTHER   a column that tells apart what belongs together"],
        )
    return groups


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
    given = _given(task, data)
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


def _given(task: Task, data: Data) -> dict[str, Sequence[Any]]:
    """The parts that have files, or that the training file brings; a named file stands for both."""
    brought = task.brought(Path(data.train), data)
    if not brought:
        return {name: task.read(path, data) for name, path in _paths(data).items()}
    named = {name: Path(path) for name in FILES[1:] if (path := getattr(data, name))}
    return brought | {name: task.read(path, data) for name, path in named.items()}


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
