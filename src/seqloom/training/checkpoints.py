"""Checkpoint files: atomic writes of safetensors, safe loading, and the lock of a run folder."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import safetensors

from ..errors import DISK_FULL, MachineError, ModelError, TrainingError, UsageError, disk_full
from .learner import Snapshot
from .tensor_file import pieces

PICKLES = (b"\x80", b"PK\x03\x04")  # a pickle, and the zip of pickles that torch.save writes
DIGEST = "sha256"  # the fact that is the digest of a file's arrays and other facts
LOCK = "lock"  # the file in a run folder that its training process locks
LOCK_SECONDS, LOCK_POLL_SECONDS = 0.2, 0.005  # whoever only looks holds a lock for microseconds


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: into a temporary file beside it, fsync, then rename."""
    write_pieces(path, [content], len(content))


def write_pieces(path: Path, content: Iterable[bytes | memoryview], size: int) -> None:
    """Write the pieces of a file of about this size atomically, as `write_whole` does."""
    beside = path.with_name(f".{path.name}.part")
    try:
        make_folder(path.parent)
        with beside.open("wb") as file:
            for piece in content:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        flush(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise cannot_write(path, error, size) from error


def copy_whole(path: Path, target: Path) -> None:
    """Copy a file atomically. The copy is not flushed to disk: the original is there, too."""
    beside = target.with_name(f".{target.name}.part")
    try:
        shutil.copyfile(path, beside)
        beside.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise cannot_write(target, error, path.stat().st_size) from error


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, durably: their entries are flushed to disk."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        flush(made.parent)


def flush(path: Path) -> None:
    """fsync a file or a folder: a new or renamed entry of a folder is durable only then."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_existing(path: Path, force: bool) -> None:
    """Raise an error if the file exists, unless `force` is set."""
    if path.is_dir():
        raise UsageError("U010", f"-o {path} is a folder; name a file")
    if path.exists() and not force:
        raise UsageError("U021", f"{path} exists already", help=["--force   replace it"])


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


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """An exclusive lock on a run folder; the system releases it when the process ends."""
    try:
        file = _lock_file(folder)
    except BlockingIOError as error:
        owner = ""
        with contextlib.suppress(OSError):
            owner = (folder / LOCK).read_text()
        raise TrainingError(
            "T121",
            f"{folder} is in use by another training process (pid {owner or 'unknown'})",
            help=["wait for it, stop it, or train under another name: --name NAME"],
        ) from error
    except OSError as error:
        raise cannot_write(folder, error) from error
    with file:
        with contextlib.suppress(OSError):  # a full disk: the lock holds without a name in it
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), str(os.getpid()).encode())
        yield


def _lock_file(folder: Path) -> IO[str]:
    """The lock file of a folder, locked; BlockingIOError if another process trains there.

    Whoever looks whether a run is trained holds the lock, too, for a moment: so it is tried for a
    while.
    """
    end = time.monotonic() + LOCK_SECONDS
    while True:
        make_folder(folder)
        file = (folder / LOCK).open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(file, folder / LOCK):
                return file
        except BlockingIOError:
            if time.monotonic() > end:
                file.close()
                raise
        except OSError:
            file.close()
            raise
        file.close()
        time.sleep(LOCK_POLL_SECONDS)


def _is_same_file(file: IO[str], path: Path) -> bool:
    """Whether a path still leads to an open file: its folder may have been removed meanwhile."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def cannot_write(path: Path, error: OSError, needed: int = 0) -> MachineError:
    """The error for a full disk or a folder without write permission."""
    if error.errno in DISK_FULL:
        kept = "Files saved before are intact; the incomplete file was removed."
        return disk_full(path, needed, [kept])
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


def _digest(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> str:
    """SHA-256 of arrays, with their names, types and shapes, and of facts."""
    digest = hashlib.sha256(json.dumps(facts).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
