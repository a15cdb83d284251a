"""Checkpoint files: safetensors with a digest of their content; nothing is ever unpickled."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from ..errors import ModelError
from .files import write_pieces
from .learner import Snapshot
from .tensor_file import pieces

PICKLES = (b"\x80", b"PK\x03\x04")  # a pickle, and the zip of pickles that torch.save writes
DIGEST = "sha256"  # the fact that is the digest of a file's arrays and other facts


def save_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None
) -> None:
    """Save named arrays and JSON facts as a safetensors file, with a digest of them."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    told = {**(facts or {}), DIGEST: _digest(whole, facts or {})}
    size = sum(array.nbytes for array in whole.values())
    write_pieces(path, pieces(whole, json.dumps(told)), size)


def load_arrays(path: Path) -> Snapshot:
    """Load a file of `save_arrays`; a damaged file or one of another format is an error."""
    if not path.exists():
        raise ModelError("M113", f"{path} is missing", help=["train the run again"])
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts = dict(json.loads((file.metadata() or {}).get("facts", "{}")))
        digest = facts.pop(DIGEST, None)  # other programs and earlier versions write none
        if digest is not None and digest != _digest(arrays, facts):
            raise ValueError("its content is not what was written: the digest differs")
    except (safetensors.SafetensorError, ValueError, TypeError, OSError, RecursionError) as error:
        raise unreadable(path, error) from error
    return Snapshot(arrays, facts)


def unreadable(path: Path, error: Exception) -> ModelError:
    """The error for a file that is not safetensors: a pickle, or damaged. It is never unpickled."""
    begin = _first_bytes(path, 9) if path.is_file() else b""
    # A safetensors file begins with an 8-byte length, which may look like the magic number of a
    # pickle; the header after it starts with "{".
    if begin.startswith(PICKLES) and begin[8:] != b"{":
        safe = path.with_suffix(".safetensors")
        return ModelError(
            "M112",
            f"{path} is a Python pickle, which can run code when opened",
            notes=["Only .safetensors files are loaded. To convert it, where the model is:"],
            help=[f"safetensors.torch.save_file(model.state_dict(), {safe.name!r})"],
        )
    return ModelError(
        "M113",
        f"{path} is damaged or cut short",
        notes=[f"{path.stat().st_size:,} bytes; {error}"],
        help=["copy the file again, or train the run again"],
    )


def _first_bytes(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)


def _digest(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> str:
    """SHA-256 of arrays, with their names, types and shapes, and of facts."""
    digest = hashlib.sha256(json.dumps(facts).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
