"""What a data set holds: the report of `seqloom check`, and rows as a model will see them."""

import re
from collections.abc import Mapping
from typing import Any

from ..checking import Report, check
from ..data.settings import Data
from ..errors import SeqloomError, UsageError
from ..options import options, problems
from ..sample_rows import rows
from ..task import reads_no_file
from ..tasks import TASKS
from .datasets import DataSet
from .listed import must_be_listed

READING = ("format", "encoding", "columns", "skip_bad")
NEAREST = {  # what else a file of one task may be meant for
    "language": ("classify", "translate"),
    "translate": ("classify", "language"),
    "classify": ("translate", "language"),
    "tag": ("language", "classify"),
    "forecast": ("series-classify", "classify"),
    "series-classify": ("forecast", "classify"),
    "music": ("language", "classify"),
}


def report_of(dataset: DataSet, task: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """All that a page shows of a data set, read as some task would, or as it looks."""
    if wrong := problems(Data, given):
        raise UsageError("U010", wrong[0], notes=wrong[1:])
    if task is not None:
        must_be_listed("task", task, TASKS)
        if not TASKS[task].roles:
            raise reads_no_file(dataset.name)
    report = check(dataset.path, task, Data(**given), {})
    return {
        **_rows(dataset, report, Data(**given)),
        "dataset": dataset.as_dict(),
        "report": {**report.as_dict(), "path": dataset.name},
        "ok": not report.has_problems,
        "reason": _reason(report),
        "next": {"task": report.task, "settings": _settings(report, given)},
        "remedy": _remedy(report),
        "tasks": _tasks(report.task),
    }


def _rows(dataset: DataSet, report: Report, settings: Data) -> dict[str, Any]:
    """The first rows as a model will see them; of a file that cannot be read there are none."""
    nothing: dict[str, Any] = {"rows": [], "lengths": {}}
    if not report.task:
        return nothing
    try:
        return rows(dataset.path, report.task, settings, {}).as_dict()
    except SeqloomError:
        return nothing


def _reason(report: Report) -> str | None:
    """Why training is closed, in words; None where it is open."""
    wrong = [finding for finding in report.findings if finding.level == "problem"]
    if not wrong:
        return None
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{wrong[0].text.splitlines()[0]}{more}"


def _settings(report: Report, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe needs so that training reads the file in the same way."""
    defaults = {option.name: option.default for option in options(Data)}
    laid = {f"data.{k}": v for k, v in given.items() if v != defaults[k]}
    if report.task == "translate":
        units = {part.role: part.unit for part in report.parts}
        laid |= {f"task.{k}_symbols": v for k, v in units.items() if v == "characters"}
    return laid


def _remedy(report: Report) -> dict[str, Any] | None:
    """The way of reading that would help, where the report knows one."""
    if not report.has_problems:
        return None
    if found := re.search(r"--encoding ([\w-]+)", report.next):
        return {"encoding": found[1]}
    return {"skip_bad": True} if "--skip-bad" in report.next else None


def _tasks(task: str) -> list[str]:
    """The three tasks that the file is most likely meant for."""
    if not task:
        return ["language", "classify", "translate"]
    return [task, *NEAREST.get(task, ("language", "classify"))]
