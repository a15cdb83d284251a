"""Files of arrays, written piece by piece: byte for byte those of the library."""

import json

import numpy as np
from safetensors.numpy import load, save

from seqloom.training.tensor_file import TYPES, pieces


def arrays():
    """Every type, in an order of their names that is not that of the file; and odd shapes."""
    chance = np.random.default_rng(0)
    found = {
        f"{number % 3}.{name}": (100 * chance.random((2, 3))).astype(name)
        for number, name in enumerate(TYPES)
    }
    odd = {"empty": np.zeros((0, 4), np.float32), "of no dimension, é": np.array(3)}
    return found | odd | {"by column": np.asfortranarray(np.arange(12.0).reshape(3, 4))}


def test_a_file_is_that_of_the_library():
    facts = json.dumps({"step": 3, "name": 'ä "quoted"\n'})
    written = b"".join(pieces(arrays(), facts))
    in_rows = {name: np.asarray(array, order="C") for name, array in arrays().items()}
    assert written == save(in_rows, metadata={"facts": facts})
    for name, array in load(written).items():
        np.testing.assert_array_equal(array, arrays()[name])
