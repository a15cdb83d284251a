"""Data sets that were dropped on a page or pasted: each in a folder of its own.

.studio/data/ID/NAME           the file, as it came
.studio/data/ID/meta.json      what it is called, how large it is, when it came
"""

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import StudioError
from ..training.checkpoints import cannot_write, write_whole
from .limits import too_large

META, PART = "meta.json", ".part"
GZIP, PIECE = b"\x1f\x8b", 1 << 16
LONGEST_NAME = 120
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class DataSet:
    """One file that was given."""

    id: str
    name: str
    bytes: int
    created: float
    path: Path
    example: str = ""  # the example that it came with

    def as_dict(self) -> dict[str, Any]:
        """For machines; names are no paths, so the path stays here."""
        told = asdict(self)
        del told["path"]
        return told


class DataSets:
    """All files that were given to the studio."""

    def __init__(self, kept: Path, most: int) -> None:
        self.folder, self._most = kept / "data", most

    def all(self) -> list[DataSet]:
        """The newest first."""
        found = [_read(path.parent) for path in self.folder.glob(f"*/{META}")]
        known = [one for one in found if one is not None]
        return sorted(known, key=lambda one: one.created, reverse=True)

    def find(self, name: str) -> DataSet:
        """The data set with this id."""
        for one in self.all():
            if one.id == name:
                return one
        raise StudioError(
            "S250",
            f"there is no data set {name[:40]!r}",
            status=404,
            help=["drop the file on the first page again"],
        )

    def known(self) -> dict[str, DataSet]:
        """All by the whole path of their file."""
        return {str(one.path.resolve()): one for one in self.all()}

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> DataSet:
        """Keep a file while it comes in; what does not come whole leaves nothing behind."""
        _must_be_name(name)
        folder = self._new()
        try:
            with (folder / PART).open("wb") as file:
                async for piece in pieces:
                    file.write(piece)
            await asyncio.to_thread(self._must_unpack_small, folder / PART)
            return self._keep(folder, name)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise cannot_write(folder, error) from error
            raise

    def add(self, name: str, content: bytes, example: str = "") -> DataSet:
        """Keep a file that is here already."""
        _must_be_name(name)
        folder = self._new()
        write_whole(folder / PART, content)
        return self._keep(folder, name, example)

    def delete(self, name: str) -> None:
        """Forget a data set; runs that have learned from it can no longer go on."""
        shutil.rmtree(self.find(name).path.parent)

    def _must_unpack_small(self, path: Path) -> None:
        """Refuse a packed file that would fill the memory; one that is damaged is told later."""
        unpacking, count = zlib.decompressobj(wbits=31), 0
        with path.open("rb") as file, contextlib.suppress(zlib.error):
            if file.read(len(GZIP)) != GZIP:
                return
            file.seek(0)
            while piece := unpacking.unconsumed_tail or file.read(PIECE):
                count += len(unpacking.decompress(piece, PIECE))
                if count > self._most:
                    raise too_large(self._most)

    def _new(self) -> Path:
        folder = self.folder / secrets.token_hex(6)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise cannot_write(folder, error) from error
        return folder

    def _keep(self, folder: Path, name: str, example: str = "") -> DataSet:
        path = folder / name
        os.replace(folder / PART, path)
        found = DataSet(folder.name, name, path.stat().st_size, time.time(), path, example)
        write_whole(folder / META, json.dumps(found.as_dict(), ensure_ascii=False).encode())
        return found


def _read(folder: Path) -> DataSet | None:
    """A data set, if it is whole."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        told = json.loads((folder / META).read_text(encoding="utf-8"))
        path = folder / told["name"]
        if _ID.fullmatch(folder.name) and told["id"] == folder.name and path.is_file():
            return DataSet(**told, path=path)
    return None


def _must_be_name(name: str) -> None:
    """A name is a name: nothing in it may lead to another folder, or hide the file."""
    is_plain = name.isprintable() and not set(name) & set('/\\:*?"<>|')
    is_short = 0 < len(name.encode("utf-8", "replace")) <= LONGEST_NAME
    try:
        name.encode()
    except UnicodeEncodeError:
        is_plain = False
    if not (is_plain and is_short) or name.startswith(".") or name == META or name != name.strip():
        raise StudioError(
            "S251",
            f"a file cannot be called {name[:80]!r} here",
            help=[f"a plain name without slashes, of at most {LONGEST_NAME} letters: words.tsv"],
        )
