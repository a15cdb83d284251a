"""How long a training would take here: asked of a process of its own, one at a time.

Training never runs in the server, so it is `seqloom train RECIPE --estimate` that probes. The
process ends with whoever asked: a page that is left leaves nothing behind. As a page asks for it
unbidden, it may not take all memory either.
"""

import asyncio
import contextlib
import json
import os
import resource
import secrets
import signal
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ..data.formats.parallel_names import files_of
from ..recipe import FILES, Recipe
from ..training.checkpoints import write_whole
from .limits import busy
from .options import Limits
from .problems import problem_of_dict

KEPT, POLL_SECONDS, WAITING = 64, 0.1, 8
MEMORY = 2  # it may have one part in so many of it


class Estimates:
    """What was found before, and the one probe that is under way."""

    def __init__(self, scratch: Path, limits: Limits, is_closing: asyncio.Event) -> None:
        self._scratch, self._limits, self._is_closing = scratch, limits, is_closing
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._turn, self._asked = asyncio.Lock(), 0

    async def of(self, recipe: Recipe, has_left: Callable[[], Awaitable[bool]]) -> dict[str, Any]:
        """How long it takes, or why that is not known; nothing more is done for who has left."""
        key = _key(recipe)
        if key in self._known:
            return self._known[key]
        if self._asked >= WAITING:
            raise busy()
        self._asked += 1
        try:
            async with self._turn:
                if key in self._known:  # somebody before us has asked the same
                    return self._known[key]
                found = await self._probe(recipe, has_left)
        finally:
            self._asked -= 1
        if found is None:
            return _unknown("nobody waits for it any more")
        self._known[key] = found
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found

    async def _probe(
        self, recipe: Recipe, has_left: Callable[[], Awaitable[bool]]
    ) -> dict[str, Any] | None:
        """Ask a process; None where it was ended before it could answer."""
        if await has_left():
            return None
        self._scratch.mkdir(parents=True, exist_ok=True)
        file = self._scratch / f"{secrets.token_hex(8)}.toml"
        write_whole(file, recipe.to_toml().encode())
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "seqloom", "train", str(file), "--estimate", "--json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that all it starts ends with it
        )
        _limit(process.pid)
        said = asyncio.ensure_future(process.communicate())
        end = asyncio.get_running_loop().time() + self._limits.seconds
        try:
            while not said.done():
                await asyncio.wait({said}, timeout=POLL_SECONDS)
                if said.done():
                    break
                if self._is_closing.is_set() or await has_left():
                    return None
                if asyncio.get_running_loop().time() > end:
                    waited = f"it did not come so far in {self._limits.seconds:.0f} s"
                    return _unknown(f"{waited}: reading the file, or its first steps, take longer")
            return _answer(*said.result())
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.gather(said, return_exceptions=True)
            file.unlink(missing_ok=True)


def _answer(out: bytes, told: bytes) -> dict[str, Any]:
    """What the command has printed: an estimate, or an error, as it tells them to machines."""
    with contextlib.suppress(ValueError, IndexError, TypeError, KeyError):
        found = json.loads(out.decode().splitlines()[-1])
        return {"seconds": float(found["seconds"]), "words": str(found["words"])} | _NO_REASON
    for line in reversed(told.decode("utf-8", "replace").splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            problem = problem_of_dict(json.loads(line)["error"])
            return {**_unknown(problem["problem"]), "problem": problem}
    return _unknown("the probe ended without an answer; perhaps there is not enough memory")


_NO_REASON: dict[str, Any] = {"reason": "", "problem": None}


def _unknown(reason: str) -> dict[str, Any]:
    return {"seconds": None, "words": "not known", "reason": reason, "problem": None}


def _key(recipe: Recipe) -> str:
    """Changes whenever a recipe or one of its files does."""
    stamps = []
    for table, names in FILES.items():
        for name in names:
            if isinstance(file := getattr(recipe, table).get(name), str) and file:
                stamps += [_stamp(one) for one in files_of(file)]
    return json.dumps([recipe.to_toml(), stamps])


def _stamp(file: Path) -> list[int]:
    try:
        status = file.stat()
    except OSError:
        return []
    return [status.st_mtime_ns, status.st_size]


def _limit(pid: int) -> None:
    """Let a process have only a part of the memory; where the system knows no such limit, all."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
