"""Bytes of the files that users name: regular files, pipes up to a limit, and nothing else.

A device such as /dev/zero never ends, and opening a FIFO waits until somebody writes to it. A pipe
of the shell, as in <(sort words.tsv) or /dev/stdin, can be read once only: its bytes are kept, so
that a file may be read in several passes wherever it comes from.
"""

import errno
import gzip
import io
import os
import stat
import zlib
from functools import lru_cache
from pathlib import Path

from ...errors import DataError, MachineError, Place, UsageError, nearest

MEBIBYTE = 1 << 20
MAX_PIPE_BYTES = 256 * MEBIBYTE
MAX_UNPACKED_BYTES = 1024 * MEBIBYTE
CHUNK_BYTES = 1 << 20
MAX_SHOWN = 80  # characters of a name that no file can have
GZIP = b"\x1f\x8b"
_SHELL_PIPES = ("/dev/fd/", "/proc/self/fd/")
_KINDS = {
    stat.S_ISFIFO: "a FIFO",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file of this name; no name is too long or too odd to ask."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def require_possible_name(name: str) -> None:
    """Refuse what no file can be called: a name that is too long, or with a NUL character."""
    try:
        os.lstat(name)
        return
    except ValueError:
        why = "it has a character that no name can have"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return
        why = "it is too long"
    shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
    raise UsageError("U016", f"{shown!r} cannot be the name of a file: {why}")


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """The bytes of a file, one more than `limit` at most; an error if it cannot be read."""
    with open_bytes(path) as file:
        try:
            return file.read(limit + 1 if limit >= 0 else -1)
        except OSError as error:
            raise MachineError("E320", f'cannot read "{path}" ({error.strerror})') from None


def open_bytes(path: Path) -> io.BufferedReader:
    """Open a regular file or a pipe of the shell for reading; an error for anything else."""
    try:
        require_regular_file(path)
        if is_shell_pipe(path):
            about = path.stat()
            return io.BufferedReader(io.BytesIO(_piped(path, about.st_dev, about.st_ino)))
        return path.open("rb")
    except IsADirectoryError:
        raise DataError(
            "D001",
            f'"{path}" is a folder, not a file',
            help=[f"name a file in it, such as {inside}" for inside in _first_file(path)],
        ) from None
    except PermissionError:
        raise MachineError("E320", f'cannot read "{path}" (permission denied)') from None
    except (OSError, ValueError):
        near = nearest(path.name, _names_beside(path))
        notes = [f'There is "{near}" in the same folder.'] if near else []
        help = [f"did you mean {path.with_name(near)}?"] if near else ["check the name of the file"]
        raise DataError("D001", f'cannot find "{path}"', notes=notes, help=help) from None


def require_regular_file(path: Path, *, or_pipe: bool = False) -> None:
    """Refuse devices, sockets and FIFOs; pipes of the shell pass, and FIFOs if `or_pipe` is set."""
    mode = path.stat().st_mode
    kind = next((name for is_kind, name in _KINDS.items() if is_kind(mode)), "")
    if not kind or (stat.S_ISFIFO(mode) and (or_pipe or is_shell_pipe(path))):
        return
    raise DataError(
        "D036",
        f'"{path}" is {kind}, not a file',
        help=["name a file, or pipe the data in:  … | seqloom COMMAND /dev/stdin"],
    )


def is_shell_pipe(path: Path) -> bool:
    """Whether a path is a pipe that the shell has opened: standard input or <(…)."""
    by_shell = str(path).startswith(_SHELL_PIPES) or str(path) == "/dev/stdin"
    return by_shell and path.is_fifo()


def unpacked(path: Path, data: bytes, limit: int | None = None) -> bytes:
    """The content of a gzip archive, of all its members; an error above `limit` bytes."""
    limit = MAX_UNPACKED_BYTES if limit is None else limit
    parts, size = list[bytes](), 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while chunk := file.read(CHUNK_BYTES):
                size += len(chunk)
                if size > limit:
                    raise _too_large(path, "unpacks to", limit, "unpack it first, with  gunzip")
                parts.append(chunk)
    except (OSError, EOFError, zlib.error):
        raise DataError(
            "D031",
            f'"{path.name}" is a gzip archive that is damaged or not whole',
            place=Place(str(path)),
            help=["download or pack it again"],
        ) from None
    return b"".join(parts)


@lru_cache(maxsize=4)  # parallel files may be pipes, too
def _piped(path: Path, device: int, inode: int) -> bytes:
    """The bytes of a pipe, which can be read once."""
    with path.open("rb") as file:
        data = file.read(MAX_PIPE_BYTES + 1)
    if len(data) > MAX_PIPE_BYTES:
        raise _too_large(path, "is a pipe with", MAX_PIPE_BYTES, "write it to a file first")
    return data


def _too_large(path: Path, does: str, limit: int, remedy: str) -> DataError:
    size = f"{limit // MEBIBYTE:,} MiB" if limit >= MEBIBYTE else f"{limit:,} bytes"
    return DataError("D046", f'"{path.name}" {does} more than {size}', help=[remedy])


def _names_beside(path: Path) -> list[str]:
    """The names of the files in the folder of a path."""
    try:
        return [other.name for other in path.parent.iterdir() if other.is_file()]
    except (OSError, ValueError):
        return []


def _first_file(folder: Path) -> list[Path]:
    """The first file in a folder, as a list of one or none."""
    return sorted(folder / name for name in _names_beside(folder / "any"))[:1]
