"""Data options: files, formats, splits and folds; the [data] table of a recipe."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ..config import Bounds, Count, CountOrZero, Seed

Fraction = Annotated[float, Bounds(-1, 1, below=True)]
_MOST = 10_000  # examples of a part that goes by size


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
        valid_fraction: Fraction of train for validation, if there is no validation file; -1 goes by
            its size: a tenth up to 5,000 examples, then 500, and 5 % from 10,000 on.
        test_fraction: Fraction of train for testing, if there is no test file; -1 goes by its size:
            a fifth up to 5,000 examples, then 1,000, and 5 % from 20,000 on.
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
    valid_fraction: Fraction = 0.05
    test_fraction: Fraction = 0.05
    split_seed: Seed = 1
    allow_overlap: bool = False
    folds: CountOrZero = 0
    fold: Count = 1
    group: str = ""
    in_time: bool = False
    stratified: bool = True

    def with_fractions(self, examples: int) -> "Data":
        """The same with the fractions for so many examples, where these go by size.

        A test part tells differences: with 20 examples only those of 20 points, with 1,000 those of
        3 points (`metrics.paired.visible_difference`). So small files give more of themselves.
        """
        usual = min(examples / 20, _MOST)
        valid = min(examples / 10, max(500, usual)) / max(1, examples)
        test = min(examples / 5, max(1000, usual)) / max(1, examples)
        return replace(
            self,
            valid_fraction=valid if self.valid_fraction < 0 else self.valid_fraction,
            test_fraction=test if self.test_fraction < 0 else self.test_fraction,
        )
