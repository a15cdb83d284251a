"""The safetensors format, written piece by piece: no copy of the arrays is made in memory."""

import json
from collections.abc import Iterator, Mapping

import numpy as np

# Types by the name that NumPy has for them, in the order of their arrays in the file.
TYPES = {
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32",
    "int32": "I32", "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8",
    "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
ALIGNMENT = 8  # of the arrays in the file


def pieces(arrays: Mapping[str, np.ndarray], facts: str) -> Iterator[bytes | memoryview]:
    """The pieces of a file as `safetensors.numpy.save` makes it: a header, then every array.

    The header is the length of a JSON object, and the object, which says where each array lies.
    Larger numbers come first, so that all are aligned. `facts` are the only metadata, as the
    library writes several in random order.
    """
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    order = list(TYPES)
    names = sorted(whole, key=lambda name: (order.index(whole[name].dtype.name), name))
    header, start = {"__metadata__": {"facts": facts}}, 0  # type: dict[str, object], int
    for name in names:
        array = whole[name]
        place = [start, start + array.nbytes]
        header[name] = {
            "dtype": TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": place,
        }
        start += array.nbytes
    told = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    told += b" " * (-len(told) % ALIGNMENT)
    yield len(told).to_bytes(8, "little")
    yield told
    for name in names:
        yield whole[name].reshape(-1).view(np.uint8).data
