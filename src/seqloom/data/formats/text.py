"""Plain text: each line is one sequence."""

from pathlib import Path

import numpy as np

from ..loading.lazy import Lazy
from .base import Reading, Request, Row, Source


def read(lines: list[str], request: Request) -> Reading[Row]:
    """Every line that is not blank, whole and unchanged; the blank ones too if they are wanted."""
    reading: Reading[Row] = Reading()
    for number, line in enumerate(lines, 1):
        if line.strip() or request.keep_blank:
            reading.rows.append(Row(number, (line,)))
        else:
            reading.blank.append(number)
    return reading


def on_disk(lines: Lazy[str], path: Path, encoding: str, keep_blank: bool) -> Source:
    """The same of lines that stay on the disk."""
    real = np.fromiter((keep_blank or bool(line.strip()) for line in lines), bool, len(lines))
    kept = np.flatnonzero(real)
    rows = Lazy(lambda place: Row(place + 1, (lines[place],)), kept)
    blank = (np.flatnonzero(~real) + 1).tolist()
    return Source(path, "text", encoding, None, rows, blank, [])
