"""Training-time estimates: `seqloom train RECIPE --estimate` in a subprocess, one at a time.

Training never runs in the server process. The subprocess is killed when the client disconnects, so
a closed page leaves nothing behind. Pages request estimates automatically, without a click, so the
memory of the subprocess is limited, too.
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
from ..training.files import write_whole
from .options import Limits
from .problems import problem_of_dict
from .work_queue import busy

CACHED, POLL_SECONDS, MAX_WAITING = 64, 0.1, 8
MEMORY_DIVISOR = 2  # the subprocess may have half of the memory


class TrainingTimeEstimator:
    """Runs one estimate at a time and caches the results."""

    def __init__(self, scratch: Path, limits: Limits, is_closing: asyncio.Event) -> None:
        self._scratch, self._limits, self._is_closing = scratch, limits, is_closing
        self._cache: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._turn, self._waiting = asyncio.Lock(), 0

    async def estimate(
        self, recipe: Recipe, is_disconnected: Callable[[], Awaitable[bool]]
    ) -> dict[str, Any]:
        """The training time, or why it is unknown; cancelled if the client has disconnected."""
        key = _cache_key(recipe)
        if key in self._cache:
            return self._cache[key]
        if self._waiting >= MAX_WAITING:
            raise busy()
        self._waiting += 1
        try:
            async with self._turn:
                if key in self._cache:  # an earlier request in the queue was for the same recipe
                    return self._cache[key]
                result = await self._run(recipe, is_disconnected)
        finally:
            self._waiting -= 1
        if result is None:
            return _unknown("the client has disconnected")
        self._cache[key] = result
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return result

    async def _run(
        self, recipe: Recipe, is_disconnected: Callable[[], Awaitable[bool]]
    ) -> dict[str, Any] | None:
        """Run the subprocess; None if it was killed before it had a result."""
        if await is_disconnected():
            return None
        self._scratch.mkdir(parents=True, exist_ok=True)
        file = self._scratch / f"{secrets.token_hex(8)}.toml"
        write_whole(file, recipe.to_toml().encode())
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "seqloom", "train", str(file), "--estimate", "--json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # a process group, so that its children are killed with it
        )
        _limit_memory(process.pid)
        output = asyncio.ensure_future(process.communicate())
        end = asyncio.get_running_loop().time() + self._limits.seconds
        try:
            while not output.done():
                await asyncio.wait({output}, timeout=POLL_SECONDS)
                if output.done():
                    break
                if self._is_closing.is_set() or await is_disconnected():
                    return None
                if asyncio.get_running_loop().time() > end:
                    reason = f"no estimate after {self._limits.seconds:.0f} s"
                    return _unknown(f"{reason}: reading the file or the first steps take longer")
            return _parse(*output.result())
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.gather(output, return_exceptions=True)
            file.unlink(missing_ok=True)


def _parse(stdout: bytes, stderr: bytes) -> dict[str, Any]:
    """The output of the command: an estimate on stdout, or a JSON error on stderr."""
    with contextlib.suppress(ValueError, IndexError, TypeError, KeyError):
        result = json.loads(stdout.decode().splitlines()[-1])
        return {"seconds": float(result["seconds"]), "words": str(result["words"])} | _NO_REASON
    for line in reversed(stderr.decode("utf-8", "replace").splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            problem = problem_of_dict(json.loads(line)["error"])
            return {**_unknown(problem["problem"]), "problem": problem}
    return _unknown("the estimate ended without a result; perhaps there is not enough memory")


_NO_REASON: dict[str, Any] = {"reason": "", "problem": None}


def _unknown(reason: str) -> dict[str, Any]:
    return {"seconds": None, "words": "not known", "reason": reason, "problem": None}


def _cache_key(recipe: Recipe) -> str:
    """The recipe with the modification times and sizes of its files."""
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


def _limit_memory(pid: int) -> None:
    """Limit the data segment of a process (Linux only; elsewhere there is no limit)."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY_DIVISOR
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
