"""The report that is kept when the program itself goes wrong."""

import os
import platform
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path


def trace_of(error: BaseException) -> str:
    """Where in the program it went wrong."""
    return "".join(traceback.format_exception(error))


def save_report(error: BaseException, doing: str) -> Path:
    """Write what went wrong where the user can find it; in the temporary folder if need be."""
    head = f"seqloom {version('seqloom')}, Python {platform.python_version()}, "
    text = f"{head}{platform.platform()}\n{doing}\n\n{trace_of(error)}"
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seqloom"
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".txt", "crash-", folder)
    except (OSError, RuntimeError):
        handle, name = tempfile.mkstemp(".txt", "seqloom-crash-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)
