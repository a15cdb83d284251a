"""Plain text files: each line is one sequence."""

from pathlib import Path

import numpy as np

from ..loading.lazy import LazySequence
from .base import ParsedFile, ParseResult, ReadRequest, Row


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read plain text: one row a line, without blank lines unless `keep_blank` is set."""
    result: ParseResult[Row] = ParseResult()
    for number, line in enumerate(lines, 1):
        if line.strip() or request.keep_blank:
            result.rows.append(Row(number, (line,)))
        else:
            result.blank.append(number)
    return result


def lazy_rows(lines: LazySequence[str], path: Path, encoding: str, keep_blank: bool) -> ParsedFile:
    """The same for lines that stay on disk."""
    is_kept = np.fromiter((keep_blank or bool(line.strip()) for line in lines), bool, len(lines))
    rows = LazySequence(
        lambda i: Row(i + 1, (lines[i],)),
        np.flatnonzero(is_kept),
        # zip of one sequence makes the fields: a tuple of one line
        make_block=lambda block: map(Row, (block + 1).tolist(), zip(lines.select(block))),  # noqa: B905
    )
    blank = (np.flatnonzero(~is_kept) + 1).tolist()
    return ParsedFile(path, "text", encoding, None, rows, blank, [])
