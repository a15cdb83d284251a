"""One fold of a file held out, and the others to learn from and to choose by."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .data.folds import block_of_each, fold_of_each, must_fill, too_many_folds, units_of
from .data.formats import read_column
from .data.formats.folders import parts_in
from .data.settings import Data
from .data.splitting import split, without
from .errors import DataError, Place, UsageError
from .task import Task

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
    examples = task.read(_folded(data), data)
    cut = replace(data, valid_fraction=0.0) if data.valid else data  # a file stands for the share
    found = (_in_time if data.in_time else _by_chance)(task, cut, examples)
    if data.valid:
        found["valid"] = task.read(Path(data.valid), data)
    if not data.shared:
        found["valid"] = without(found["valid"], found["test"], task.key)
    return found


def _folded(data: Data) -> Path:
    """What is cut into folds: the file, or the training part of a folder that has parts."""
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
