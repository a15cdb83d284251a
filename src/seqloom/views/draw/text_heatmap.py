"""Heat maps as text: one block character per value, with labels of rows and columns."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .text import centre, column_width, cut, to_ascii, visible

BLOCKS, ASCII_BLOCKS = "·▁▂▃▄▅▆▇█", " .:-=+*#%@"
_GAP, _MIN_WIDTH, _MAX_COLUMN, _LABEL_COLUMNS = 3, 12, 12, 7


def text_width(width: int) -> int:
    """The requested width, but at least enough for one label and one column."""
    return max(width, _MIN_WIDTH)


def block_levels(
    values: NDArray[np.float64], *, ascii: bool = False, show_largest: bool = False
) -> list[list[str]]:
    """A block character for each value from 0 to 1, in equal steps; values are not rescaled.

    Args:
        values: rows × columns.
        ascii: use ASCII characters only.
        show_largest: give the largest value of each row at least the smallest block.
    """
    blocks = ASCII_BLOCKS if ascii else BLOCKS
    levels = np.clip((values * len(blocks)).astype(int), 0, len(blocks) - 1)
    if show_largest and values.size:
        largest = values.max(axis=1, keepdims=True)
        is_largest = (values >= largest - 1e-9) & (values > 0)
        levels = np.where(is_largest, np.maximum(levels, 1), levels)
    return [[blocks[level] for level in row] for row in levels]


def text_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    blocks: Sequence[Sequence[str]],
    width: int,
    ascii: bool = False,
) -> list[str]:
    """The lines of a heat map with labels, in as many panels of columns as the width needs.

    Nothing is cut off: long labels continue in the next line, further columns in the next panel.

    Args:
        rows: labels of the rows.
        columns: labels of the columns.
        blocks: rows × columns, such as from `block_levels`.
        width: columns of the terminal.
        ascii: write the labels in ASCII.
    """
    write = (lambda label: to_ascii(visible(label))) if ascii else visible
    names, heads = [write(label) for label in rows], [write(label) for label in columns]
    longest = max([_LABEL_COLUMNS, *map(column_width, names)])
    indent = min(longest, max(2, (width - _GAP) // 3))
    room = width - indent - _GAP
    lines: list[str] = []
    for start, widths in _panels(heads, room):
        end = start + len(widths)
        if lines:
            lines.append("")
        lines += _labelled("", indent, _heading(heads[start:end], widths))
        for name, row in zip(names, blocks, strict=True):
            cells = map(centre, row[start:end], widths)
            lines += _labelled(name, indent, [" ".join(cells)])
    return [line.rstrip() for line in lines]


def _panels(heads: Sequence[str], room: int) -> Iterator[tuple[int, list[int]]]:
    """Where each panel of columns starts, and how wide its columns are."""
    start, widths = 0, list[int]()
    for column, head in enumerate(heads):
        width = min(column_width(head), _MAX_COLUMN, room)
        if widths and sum(widths) + len(widths) + width > room:
            yield start, widths
            start, widths = column, []
        widths.append(width)
    if widths:
        yield start, widths


def _heading(heads: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The labels of the columns; long ones take several lines and end at the lowest."""
    wrapped = [cut(head, width) for head, width in zip(heads, widths, strict=True)]
    height = max(map(len, wrapped))
    padded = [[""] * (height - len(parts)) + parts for parts in wrapped]
    return [" ".join(map(centre, line, widths)) for line in zip(*padded, strict=True)]


def _labelled(label: str, indent: int, content: Sequence[str]) -> list[str]:
    """Content with a label at its left; a long label takes several lines."""
    parts = cut(label, indent)
    height = max(len(parts), len(content))
    beside = [*parts, *[""] * (height - len(parts))]
    filled = [*content, *[""] * (height - len(content))]
    return [
        " " * (indent - column_width(part)) + part + " " * _GAP + text
        for part, text in zip(beside, filled, strict=True)
    ]
