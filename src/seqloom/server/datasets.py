"""The data set store: uploaded and pasted files, each in a folder of its own.

.studio/data/ID/NAME           the file, unchanged
.studio/data/ID/meta.json      its id, name, size in bytes and time of upload
"""

import asyncio
import contextlib
import gzip
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

from ..data.text.files import CHUNK_BYTES, GZIP
from ..errors import StudioError
from ..training.files import cannot_write, write_whole
from .limits import too_large

META, PART = "meta.json", ".part"
MAX_NAME_BYTES = 120
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class DataSet:
    """One uploaded file."""

    id: str
    name: str
    bytes: int
    created: float
    path: Path
    example: str = ""  # the built-in example that it belongs to

    def as_dict(self) -> dict[str, Any]:
        """For JSON, without the path: clients refer to data sets by id."""
        fields = asdict(self)
        del fields["path"]
        return fields


class DataSetStore:
    """All uploaded files, in one folder; `max_bytes` limits what a gzip file may expand to."""

    def __init__(self, studio_dir: Path, max_bytes: int) -> None:
        self.folder, self._max_bytes = studio_dir / "data", max_bytes

    def all(self) -> list[DataSet]:
        """All data sets, newest first."""
        read = [_read(path.parent) for path in self.folder.glob(f"*/{META}")]
        complete = [one for one in read if one is not None]
        return sorted(complete, key=lambda one: one.created, reverse=True)

    def find(self, id: str) -> DataSet:
        """The data set with this id."""
        for one in self.all():
            if one.id == id:
                return one
        raise StudioError(
            "S250",
            f"there is no data set {id[:40]!r}",
            status=404,
            help=["drop the file on the first page again"],
        )

    def known(self) -> dict[str, DataSet]:
        """All data sets by the absolute path of their file."""
        return {str(one.path.resolve()): one for one in self.all()}

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> DataSet:
        """Write a file while it is uploaded; an upload that breaks off leaves nothing behind."""
        _check_file_name(name)
        folder = self._new()
        try:
            with (folder / PART).open("wb") as file:
                async for chunk in chunks:
                    file.write(chunk)
            await asyncio.to_thread(self._check_unpacked_size, folder / PART)
            return self._keep(folder, name)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise cannot_write(folder, error) from error
            raise

    def add(self, name: str, content: bytes, example: str = "") -> DataSet:
        """Store a file whose content is in memory."""
        _check_file_name(name)
        folder = self._new()
        write_whole(folder / PART, content)
        return self._keep(folder, name, example)

    def delete(self, id: str) -> None:
        """Delete a data set; runs trained on it can no longer be resumed."""
        shutil.rmtree(self.find(id).path.parent)

    def _check_unpacked_size(self, path: Path) -> None:
        """Refuse a gzip bomb, in all its members; a damaged file is reported when it is read."""
        with path.open("rb") as file:
            if file.read(len(GZIP)) != GZIP:
                return
        count = 0
        with gzip.open(path) as file, contextlib.suppress(OSError, EOFError, zlib.error):
            while chunk := file.read(CHUNK_BYTES):
                count += len(chunk)
                if count > self._max_bytes:
                    raise too_large(self._max_bytes)

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
        dataset = DataSet(folder.name, name, path.stat().st_size, time.time(), path, example)
        write_whole(folder / META, json.dumps(dataset.as_dict(), ensure_ascii=False).encode())
        return dataset


def _read(folder: Path) -> DataSet | None:
    """A data set; None if its folder is incomplete."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        path = folder / meta["name"]
        if _ID.fullmatch(folder.name) and meta["id"] == folder.name and path.is_file():
            return DataSet(**meta, path=path)
    return None


def _check_file_name(name: str) -> None:
    """Refuse a file name that has slashes or control characters, or that would hide the file."""
    is_plain = name.isprintable() and not set(name) & set('/\\:*?"<>|')
    is_short = 0 < len(name.encode("utf-8", "replace")) <= MAX_NAME_BYTES
    try:
        name.encode()
    except UnicodeEncodeError:
        is_plain = False
    if not (is_plain and is_short) or name.startswith(".") or name == META or name != name.strip():
        raise StudioError(
            "S251",
            f"{name[:80]!r} is not a valid file name",
            help=[f"use a plain name without slashes, at most {MAX_NAME_BYTES} bytes: words.tsv"],
        )
