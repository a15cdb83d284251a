"""Data options: files, formats, splits and folds; the [data] table of a recipe."""

from dataclasses import dataclass
from typing import Literal

from ..config import Count, CountOrZero, Rate, Seed


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data options: which files to read, their format, and how they are split.

    Args:
        train: Training file. For classification it may be a folder with a folder for each label and
            a file for each text, or with a file for each label and a text on each line; a folder
            with train and test in it has its own splits.
        valid: Validation file, for early stopping and the choice of checkpoints; without one, a
            fraction of train is split off.
        test: Test file; without one, a fraction of train is split off.
        format: File format; auto guesses it by the file's name, then by its content. Tables of time
            series are wide (a time step a row), long (a time step of a named series a row) or rows
            (a series a row); ts and jsonl have time series, too.
        encoding: Text encoding, such as utf-8, cp1252 or utf-16.
        columns: The columns of the roles, as in text=review,label=stars, or 1,2 for files without a
            header. Columns can be concatenated, as in text=title+body. For time series it is
            time=date,value=sales+visits,id=shop,known=price,static=size; with time=none, rows are
            time steps in their order.
        skip_bad: Skip lines that cannot be read, and count them, instead of stopping.
        max_length: Maximum sequence length, in tokens; 0 is no limit.
        valid_fraction: Fraction of train for validation, if there is no validation file.
        test_fraction: Fraction of train for testing, if there is no test file.
        split_seed: Random seed of the train/validation/test split.
        allow_overlap: Allow the same sequence in two splits, such as train and test, also in two
            folds.
        folds: Number of folds of k-fold cross-validation; 0 is none. One fold is the test split;
            `seqloom train --folds` holds out each in turn.
        fold: The fold that is held out, from 1 on.
        group: A column of train, by name or number; rows with the same value are in one fold
            (group k-fold).
        in_time: Rows of train are in order of time: each fold is tested after training on earlier
            rows only (forward validation).
        stratified: Keep the proportions of labels in all folds (stratified k-fold).
    """

    train: str = ""
    valid: str = ""
    test: str = ""
    # fmt: off
    format: Literal["auto", "text", "tsv", "csv", "jsonl", "columns", "label-first", "trees",
                    "wide", "long", "rows", "ts"] = "auto"
    # fmt: on
    encoding: str = "utf-8"
    columns: str = ""
    skip_bad: bool = False
    max_length: CountOrZero = 1000
    valid_fraction: Rate = 0.05
    test_fraction: Rate = 0.05
    split_seed: Seed = 1
    allow_overlap: bool = False
    folds: CountOrZero = 0
    fold: Count = 1
    group: str = ""
    in_time: bool = False
    stratified: bool = True
