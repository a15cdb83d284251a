"""Files that are made for one answer: written aside, sent piece by piece, and gone with it."""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from ..packing import pack
from .loaded import stamp_of
from .studio import Studio

PIECE = 1 << 18


def archived(studio: Studio, model: str, folder: Path) -> Response:
    """A model as a zip file, to be saved."""
    stamp_of(model, folder)  # told as for all else that needs weights
    studio.scratch.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", model)
    with contextlib.ExitStack() as held:
        # It has no name in the folder: whatever happens, nothing of it is left behind.
        file = held.enter_context(tempfile.TemporaryFile(dir=studio.scratch))
        pack(folder, file, name)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        held.pop_all()  # it is closed when it is sent
    return StreamingResponse(
        _pieces(file),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}.zip",
            "Content-Length": str(size),
        },
    )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece
