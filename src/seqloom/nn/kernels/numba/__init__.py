"""Numba kernels of recurrent cells: SIMD vectors, tiled products, threads, a file per cell family.

How they are written, and why:

- Addresses are int64, counted in bytes; positions in a row are counted in float32 elements. Numba
  vectorises loops over arrays only if it can prove that they do not overlap; so SIMD is explicit.
- Where a row is no multiple of a vector, the last vector reaches back over elements that were done
  already. There are no masked tails; but a pass may then not write where it reads, hence `scratch`.
- The gates overwrite the products W x + b: they are all that the backward pass needs of them.
- A mistake in an address is not an error but a wrong number. Tests hold every kernel to the
  equation, at sizes where nothing fits.
"""
