"""Checkpoint files: atomic writes of safetensors, safe loading, and the lock of a run folder."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save

from ..errors import MachineError, ModelError, TrainingError, UsageError
from .learner import Snapshot

PICKLES = (b"\x80", b"PK\x03\x04")  # a pickle, and the zip of pickles that torch.save writes


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: into a temporary file beside it, fsync, then rename."""
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise cannot_write(path, error, len(content)) from error


def refuse_existing(path: Path, force: bool) -> None:
    """Raise an error if the file exists, unless `force` is set."""
    if path.is_dir():
        raise UsageError("U010", f"-o {path} is a folder; name a file")
    if path.exists() and not force:
        raise UsageError("U021", f"{path} exists already", help=["--force   replace it"])


def save_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None
) -> None:
    """Save named arrays and JSON facts as a safetensors file."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, save(whole, metadata={"facts": json.dumps(facts or {})}))


def load_arrays(path: Path) -> Snapshot:
    """Load a file of `save_arrays`; a damaged file or one of another format is an error."""
    if not path.exists():
        raise ModelError("M113", f"{path} is missing", help=["train the run again"])
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts = json.loads((file.metadata() or {}).get("facts", "{}"))
    except (safetensors.SafetensorError, ValueError, TypeError, OSError, RecursionError) as error:
        raise unreadable(path, error) from error
    return Snapshot(arrays, facts)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """An exclusive lock on a run folder; the system releases it when the process ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("a+")
    except OSError as error:
        raise cannot_write(folder, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise TrainingError(
                "T121",
                f"{folder} is in use by another training process (pid {file.read() or 'unknown'})",
                help=["wait for it, stop it, or train under another name: --name NAME"],
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def cannot_write(path: Path, error: OSError, needed: int = 0) -> MachineError:
    """The error for a full disk or a folder without write permission."""
    kept = "Files saved before are intact; the incomplete file was removed."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        free = shutil.disk_usage(_existing(path)).free
        return MachineError(
            "E301",
            f"disk full while saving {path}",
            notes=[f"needed {needed / 1e6:.1f} MB, {free / 1e6:.1f} MB free", kept],
            help=["free some space, then resume with  seqloom train --resume"],
        )
    return MachineError(
        "E320",
        f"cannot write to {path} ({error.strerror or error})",
        help=["--runs-dir FOLDER   keep runs in another folder"],
    )


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


def _flush_folder(folder: Path) -> None:
    """fsync a folder: a rename is durable only then."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _existing(path: Path) -> Path:
    return next((place for place in (path, *path.parents) if place.exists()), Path())
