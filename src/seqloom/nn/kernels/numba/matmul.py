"""Products with a matrix that stays the same over many steps, a vector at once.

The matrix is brought into panels once: columns for two vectors, row below row, so that a product
reads it from one end to the other. A tile of up to six rows of the result and as many columns is
kept in the processor's registers while a panel passes.

How a matrix is laid out for the tiles.
"""

from typing import Any, no_type_check

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from ....statistical.jit import compiled_as_written
from .simd import BYTES, CONTRACT, NUMBER, VECTOR, WHOLE, WIDTH, pointer, spread

ACROSS = 2  # vectors
COLUMNS = ACROSS * WIDTH
ROWS = 6  # with two vectors each, and what they are made of, they fill sixteen registers
AHEAD = 4096  # bytes: panels are asked for so long before they are needed


def _tile(rows: int) -> Any:
    """The compiled product of so many rows with one panel: T += X P."""

    @intrinsic
    def tile(typing: Any, x: Any, x_row: Any, panel: Any, depth: Any, t: Any, t_row: Any) -> Any:
        return types.void(*[types.int64] * 6), made

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, x_row, panel, depth, t, t_row = arguments
        sums = _summed(builder, [_moved(builder, x, x_row, r) for r in range(rows)], panel, depth)
        for row in range(rows):
            base = _moved(builder, t, t_row, row)
            for column in range(ACROSS):
                place = pointer(builder, base, ir.Constant(WHOLE, column * WIDTH))
                total = builder.fadd(builder.load(place, align=BYTES), sums[row * ACROSS + column])
                builder.store(total, place, align=BYTES)
        return context.get_dummy_value()

    return tile


def _moved(builder: Any, base: Any, row_length: Any, row: int) -> Any:
    """Where a row begins."""
    return builder.add(base, builder.mul(row_length, ir.Constant(WHOLE, BYTES * row)))


def _summed(builder: Any, rows: list[Any], panel: Any, depth: Any) -> list[Any]:
    """Σ_k x_k P_k, in a loop over the panel; all sums stay in registers."""
    before = builder.block
    loop, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(WHOLE)
    k.add_incoming(ir.Constant(WHOLE, 0), before)
    sums = [builder.phi(VECTOR) for _ in range(len(rows) * ACROSS)]
    line = builder.mul(k, ir.Constant(WHOLE, COLUMNS))
    weights = [
        builder.load(
            pointer(builder, panel, builder.add(line, ir.Constant(WHOLE, j * WIDTH))), align=BYTES
        )
        for j in range(ACROSS)
    ]
    _ask_for(builder, builder.add(panel, builder.mul(line, ir.Constant(WHOLE, BYTES))))
    grown: list[Any] = []
    for row in rows:
        number = builder.load(pointer(builder, row, k, NUMBER), align=BYTES)
        same = spread(builder, number)
        for weight in weights:
            product = builder.fmul(same, weight, flags=CONTRACT)
            grown.append(builder.fadd(sums[len(grown)], product, flags=CONTRACT))
    for total, new in zip(sums, grown, strict=True):
        total.add_incoming(ir.Constant(VECTOR, [0.0] * WIDTH), before)
        total.add_incoming(new, loop)
    following = builder.add(k, ir.Constant(WHOLE, 1))
    k.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    builder.position_at_end(after)
    return grown


def _ask_for(builder: Any, address: Any) -> None:
    """Let memory send what is a little further on; nothing happens if nothing is there."""
    kind, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    signature = ir.FunctionType(ir.VoidType(), [kind, flag, flag, flag])
    ask = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    further = builder.inttoptr(builder.add(address, ir.Constant(WHOLE, AHEAD)), kind)
    builder.call(ask, [further, flag(0), flag(3), flag(1)])  # to read it, soon and often, as data


tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 = (_tile(rows) for rows in range(1, ROWS + 1))


@compiled_as_written
@no_type_check
def add_product(x, x_row, rows, panels, shape, total, total_row):
    """Add X M to the total; `panels` hold M, of the shape (depth, columns)."""
    depth, columns = shape
    for panel in range((columns + COLUMNS - 1) // COLUMNS):
        column = min(panel * COLUMNS, columns - COLUMNS)
        weights, sums = panels + BYTES * COLUMNS * panel * depth, total + BYTES * column
        _add_rows(x, x_row, rows, weights, depth, sums, total_row)


@compiled_as_written
@no_type_check
def _add_rows(x, x_row, rows, panel, depth, total, total_row):  # noqa: C901
    """The same for one panel, in tiles that are as even as can be."""
    tiles, row = (rows + ROWS - 1) // ROWS, 0
    for done in range(tiles):
        size = (rows - row) // (tiles - done)
        some, sums = x + BYTES * row * x_row, total + BYTES * row * total_row
        if size == 6:
            tile_6(some, x_row, panel, depth, sums, total_row)
        elif size == 5:
            tile_5(some, x_row, panel, depth, sums, total_row)
        elif size == 4:
            tile_4(some, x_row, panel, depth, sums, total_row)
        elif size == 3:
            tile_3(some, x_row, panel, depth, sums, total_row)
        elif size == 2:
            tile_2(some, x_row, panel, depth, sums, total_row)
        else:
            tile_1(some, x_row, panel, depth, sums, total_row)
        row += size


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
