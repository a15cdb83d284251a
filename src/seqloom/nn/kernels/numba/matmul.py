"""Tiled matrix products with a matrix that is the same at all steps, packed into panels once.

A panel has the columns of two vectors, row below row, so that a product reads memory in order from
one end to the other. A tile of up to six rows of the result by one panel stays in the processor's
registers while the panel passes: the micro-kernel of a blocked matrix product.
"""

from typing import Any, no_type_check

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from ....statistical.jit import jit_strict
from .simd import BYTES, CONTRACT, FLOAT, INT64, VECTOR, WIDTH, broadcast, pointer

PANEL_VECTORS = 2
COLUMNS = PANEL_VECTORS * WIDTH
# 6 × 2 sums, 2 vectors of weights and 1 broadcast number fill 15 of the 16 registers of AVX2.
ROWS = 6
PREFETCH = 4096  # bytes: how far ahead of the products panels are requested from memory


def _tile(rows: int) -> Any:
    """The micro-kernel for so many rows and one panel: T += X P."""

    @intrinsic
    def tile(typing: Any, x: Any, x_row: Any, panel: Any, depth: Any, t: Any, t_row: Any) -> Any:
        return types.void(*[types.int64] * 6), made

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, x_row, panel, depth, t, t_row = arguments
        begins = [_row_address(builder, x, x_row, r) for r in range(rows)]
        sums = _accumulated(builder, begins, panel, depth)
        for row in range(rows):
            base = _row_address(builder, t, t_row, row)
            for column in range(PANEL_VECTORS):
                at = pointer(builder, base, ir.Constant(INT64, column * WIDTH))
                found = sums[row * PANEL_VECTORS + column]
                total = builder.fadd(builder.load(at, align=BYTES), found)
                builder.store(total, at, align=BYTES)
        return context.get_dummy_value()

    return tile


def _row_address(builder: Any, base: Any, row_length: Any, row: int) -> Any:
    """The address of a row."""
    return builder.add(base, builder.mul(row_length, ir.Constant(INT64, BYTES * row)))


def _accumulated(builder: Any, rows: list[Any], panel: Any, depth: Any) -> list[Any]:
    """Σ_k x_k P_k, in a loop over the panel's rows.

    The sums are phi nodes of the loop, which LLVM keeps in registers from one row to the next.
    """
    before = builder.block
    loop, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(INT64)
    k.add_incoming(ir.Constant(INT64, 0), before)
    sums = [builder.phi(VECTOR) for _ in range(len(rows) * PANEL_VECTORS)]
    line = builder.mul(k, ir.Constant(INT64, COLUMNS))
    weights = [
        builder.load(
            pointer(builder, panel, builder.add(line, ir.Constant(INT64, j * WIDTH))), align=BYTES
        )
        for j in range(PANEL_VECTORS)
    ]
    _prefetch(builder, builder.add(panel, builder.mul(line, ir.Constant(INT64, BYTES))))
    grown: list[Any] = []
    for row in rows:
        number = builder.load(pointer(builder, row, k, FLOAT), align=BYTES)
        same = broadcast(builder, number)
        for weight in weights:  # a product and a sum that become one instruction (FMA)
            product = builder.fmul(same, weight, flags=CONTRACT)
            grown.append(builder.fadd(sums[len(grown)], product, flags=CONTRACT))
    for total, new in zip(sums, grown, strict=True):
        total.add_incoming(ir.Constant(VECTOR, [0.0] * WIDTH), before)
        total.add_incoming(new, loop)
    following = builder.add(k, ir.Constant(INT64, 1))
    k.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    builder.position_at_end(after)
    return grown


def _prefetch(builder: Any, address: Any) -> None:
    """Prefetch what lies a little further on; beyond the end of memory it does nothing."""
    kind, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    signature = ir.FunctionType(ir.VoidType(), [kind, flag, flag, flag])
    ask = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    further = builder.inttoptr(builder.add(address, ir.Constant(INT64, PREFETCH)), kind)
    builder.call(ask, [further, flag(0), flag(3), flag(1)])  # for reading, keep in all caches, data


tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 = (_tile(rows) for rows in range(1, ROWS + 1))


@jit_strict
@no_type_check
def add_product(x, x_row, rows, panels, shape, total, total_row):
    """total += X M; `panels` hold M, of shape (depth, columns).

    The last panel reaches back where the columns do not fit: its first columns hold zeros there, so
    that nothing is added twice.
    """
    depth, columns = shape
    for panel in range((columns + COLUMNS - 1) // COLUMNS):
        column = min(panel * COLUMNS, columns - COLUMNS)
        weights, sums = panels + BYTES * COLUMNS * panel * depth, total + BYTES * column
        _add_rows(x, x_row, rows, weights, depth, sums, total_row)


@jit_strict
@no_type_check
def _add_rows(x, x_row, rows, panel, depth, total, total_row):  # noqa: C901
    """The same for one panel, in tiles as even as possible: 7 rows are 3 + 4 and not 6 + 1."""
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


def pack_panels(matrix: Tensor) -> Tensor:
    """A matrix packed into panels; columns that the last panel repeats are 0."""
    rows, columns = matrix.shape
    full, rest = divmod(columns, COLUMNS)
    panels = matrix.new_empty(full + (rest > 0), rows, COLUMNS)
    inside = matrix[:, : full * COLUMNS].unflatten(1, (full, COLUMNS))
    panels[:full].copy_(inside.transpose(0, 1))
    if rest:
        panels[-1, :, : COLUMNS - rest] = 0
        panels[-1, :, COLUMNS - rest :] = matrix[:, full * COLUMNS :]
    return panels
