"""Where the data is and how to read it: the [data] table of a recipe."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which files to read, how they are laid out, and how they are split.

    Args:
        train: The file to learn from. To classify, it may be a folder, too: of a folder for each
            label with a file for each text, or of a file for each label with a text on each line;
            one with train and test in it brings its own parts.
        valid: The file that tells when to stop; without one, a part of train is cut off for it.
        test: The file for the final score; without one, a part of train is cut off for it.
        format: How the files are laid out; auto looks at the file's name, then at its content.
            Series are wide (a step a row), long (a step a row, of the series it names), rows (a
            series a row), ts or jsonl.
        encoding: How the files' bytes stand for characters, such as utf-8, cp1252 or utf-16.
        columns: Which column plays which role, as text=review,label=stars, or 1,2 for files
            without a header. Several columns can be one text, as in text=title+body. Of series it
            is time=date,value=sales+visits,id=shop,known=price,static=size; time=none takes the
            rows in their order.
        skip_bad: Leave out lines that cannot be read, and count them, instead of stopping.
        max_length: The longest sequence allowed, in symbols; 0 is no limit.
        valid_fraction: The part of train that is cut off where no valid file is given.
        test_fraction: The part of train that is cut off where no test file is given.
        split_seed: The number that decides which sequences are cut off; the same number gives
            the same split.
        shared: Allow the same sequence in two parts, such as train and test.
        folds: Into how many folds train is cut, of which one is the test part; 0 is none. With
            `seqloom train --folds` each is held out in turn.
        fold: Which fold is held out, from 1 on.
        group: A column of train, by name or number; rows that have the same in it are in one fold.
        in_time: Rows of train stand in the order of time: a fold is learned from what came before.
        stratified: Keep labels of whole sequences in proportion in all folds.
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
    max_length: int = 1000
    valid_fraction: float = 0.05
    test_fraction: float = 0.05
    split_seed: int = 1
    shared: bool = False
    folds: int = 0
    fold: int = 1
    group: str = ""
    in_time: bool = False
    stratified: bool = True
