"""How a matrix is laid out for the tiles."""

from torch import Tensor

from .tiles import COLUMNS


def in_panels(matrix: Tensor) -> Tensor:
    """A matrix in the order of `tiles`: columns that stand twice, where they do not fit, are 0."""
    rows, columns = matrix.shape
    full, rest = divmod(columns, COLUMNS)
    found = matrix.new_empty(full + (rest > 0), rows, COLUMNS)
    inside = matrix[:, : full * COLUMNS].unflatten(1, (full, COLUMNS))
    found[:full].copy_(inside.transpose(0, 1))
    if rest:
        found[-1, :, : COLUMNS - rest] = 0
        found[-1, :, COLUMNS - rest :] = matrix[:, full * COLUMNS :]
    return found
