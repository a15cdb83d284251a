"""Files of a run folder: atomic writes, flushed to disk, errors of a full disk, and the lock."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ..errors import DISK_FULL, MachineError, TrainingError, UsageError, disk_full

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
