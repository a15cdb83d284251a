"""A matrix for the terminal: one block character for each number, labels on both sides."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .text import centre, column_width, cut, to_ascii, visible

BLOCKS, ASCII_BLOCKS = "·▁▂▃▄▅▆▇█", " .:-=+*#%@"
_GAP, _NARROWEST, _WIDEST_COLUMN, _LABEL_COLUMNS = 3, 12, 12, 7


def text_width(width: int) -> int:
    """The width to write in: what is asked for, but enough for one label and one column."""
    return max(width, _NARROWEST)


def block_levels(
    values: NDArray[np.float64], *, ascii: bool = False, show_largest: bool = False
) -> list[list[str]]:
    """A block character for each value from 0 to 1, in equal steps, never stretched.

    Args:
        ascii: use characters that every terminal has.
        show_largest: draw the largest of each row even where it is too small for a block.
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
    """The lines of a labelled matrix, as many panels of columns as the width asks for.

    Nothing is cut off: long labels go on in the next line, further columns in the next panel.
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
    for place, head in enumerate(heads):
        width = min(column_width(head), _WIDEST_COLUMN, room)
        if widths and sum(widths) + len(widths) + width > room:
            yield start, widths
            start, widths = place, []
        widths.append(width)
    if widths:
        yield start, widths


def _heading(heads: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The labels of the columns; long ones go over several lines and end at the lowest."""
    pieces = [cut(head, width) for head, width in zip(heads, widths, strict=True)]
    height = max(map(len, pieces))
    padded = [[""] * (height - len(parts)) + parts for parts in pieces]
    return [" ".join(map(centre, line, widths)) for line in zip(*padded, strict=True)]


def _labelled(label: str, indent: int, content: Sequence[str]) -> list[str]:
    """Content with a label at its left; a long label goes over several lines."""
    parts = cut(label, indent)
    height = max(len(parts), len(content))
    beside = [*parts, *[""] * (height - len(parts))]
    filled = [*content, *[""] * (height - len(content))]
    return [
        " " * (indent - column_width(part)) + part + " " * _GAP + text
        for part, text in zip(beside, filled, strict=True)
    ]
