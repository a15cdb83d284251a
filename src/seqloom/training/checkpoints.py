"""Files that are whole or not there: weights, checkpoints, and the lock of a run folder."""

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
    """Replace a file at once: written beside it, flushed to the disk, then renamed."""
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
    """Nothing is replaced unless that is asked for."""
    if path.is_dir():
        raise UsageError("U010", f"-o {path} is a folder; name a file")
    if path.exists() and not force:
        raise UsageError("U021", f"{path} is there already", help=["--force   replace it"])


def save_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None
) -> None:
    """Arrays by name, with facts that JSON can hold, as one safetensors file."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, save(whole, metadata={"facts": json.dumps(facts or {})}))


def load_arrays(path: Path) -> Snapshot:
    """What `save_arrays` wrote; a file that is not whole, or of another kind, is an error."""
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
    """The right to train in a folder; the system takes it back when the process ends."""
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
    """A sentence for a disk that is full or a folder that may not be written."""
    whole = "What was saved before is whole; the half-written file was removed."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        free = shutil.disk_usage(_existing(path)).free
        return MachineError(
            "E301",
            f"disk full while saving {path}",
            notes=[f"needed {needed / 1e6:.1f} MB, {free / 1e6:.1f} MB free", whole],
            help=["free some space, then go on with  seqloom train --resume"],
        )
    return MachineError(
        "E320",
        f"cannot write to {path} ({error.strerror or error})",
        help=["--runs-dir FOLDER   keep runs in another folder"],
    )


def unreadable(path: Path, error: Exception) -> ModelError:
    """Say whether a file is a pickle or merely damaged; it has been opened as neither."""
    begin = _first_bytes(path, 9) if path.is_file() else b""
    # The first eight bytes of a safetensors file are a length, which may look like a pickle's mark.
    if begin.startswith(PICKLES) and begin[8:] != b"{":
        safe = path.with_suffix(".safetensors")
        return ModelError(
            "M112",
            f"{path} is a Python pickle, which can run code when opened",
            notes=["Only .safetensors files are loaded. Where the model is, Python makes one:"],
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
    """A rename is only safe once the folder itself is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _existing(path: Path) -> Path:
    return next((place for place in (path, *path.parents) if place.exists()), Path())
