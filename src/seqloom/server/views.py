"""Views of a run for the web API: computed with the model, or from a training snapshot."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import StudioError, unknown
from ..inspection import VIEW_KINDS
from ..runs.run import Run
from ..views import View
from .options import Limits
from .predict import as_file, check_length, check_maxima
from .run_store import SNAPSHOTS, snapshots_of

PICTURE_TYPES = ("image/svg+xml", "image/png", "text/html")


def compute_view(
    run: Run, kind: str, params: Mapping[str, Any], file: Path | None, limits: Limits, scratch: Path
) -> View:
    """A view of a run on a text or on time series.

    `params` has `text` or `series`, and the options that the view lists: no other argument of
    `Run.inspect`, such as the file that is read, may come from a request.
    """
    options = dict(params)
    text, series = options.pop("text", ""), options.pop("series", "")
    if kind not in VIEW_KINDS:
        raise unknown("view", kind, list(VIEW_KINDS))
    VIEW_KINDS[kind].check_options(options)
    is_quadratic = VIEW_KINDS[kind].is_quadratic
    check_length(text, limits.looked_quadratic if is_quadratic else limits.looked)
    check_length(series, limits.json_bytes)
    check_maxima(options, {"beam": limits.beam, "limit": limits.generated})
    if file is not None:
        return run.inspect("", view=kind, file=file, **options)
    if series:
        with as_file(series, scratch) as series_file:
            return run.inspect("", view=kind, file=series_file, **options)
    return run.inspect(text, view=kind, **options)


def rendered(view: View, accept: str, scratch: Path) -> tuple[bytes, str] | None:
    """The view as a picture of the accepted media type; None if JSON is wanted."""
    wanted = next((kind for kind in PICTURE_TYPES if kind in accept), None)
    if wanted == "image/svg+xml":
        return view.to_svg().encode("utf-8", "backslashreplace"), wanted
    if wanted == "text/html":
        return view.to_html().encode("utf-8", "backslashreplace"), f"{wanted}; charset=utf-8"
    if wanted == "image/png":
        with as_file("", scratch, ".png") as file:
            view.to_picture().to_png(file)
            return file.read_bytes(), wanted
    return None


def snapshot_view(folder: Path, step: int, kind: str, text: str) -> dict[str, Any]:
    """A view from a training snapshot: of one evaluation step and one of its inputs."""
    known = snapshots_of(folder)
    if step not in known["steps"]:
        steps = ", ".join(map(str, known["steps"][:40])) or "none"
        raise _no_snapshot(f"there is no snapshot of step {step:,}", f"steps: {steps}")
    try:
        file = folder / SNAPSHOTS / f"step-{step:08d}.json"
        inputs = json.loads(file.read_text(encoding="utf-8"))["inputs"]
        views = {one["text"]: (dict(one["views"]), one.get("answer")) for one in inputs}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_snapshot("the snapshot is damaged", "train the run again") from None
    if text in views:
        found, answer = views[text]
        if isinstance(found.get(kind), dict):
            return {**found[kind], "step": step, "answer": answer}
        raise _no_snapshot(f"the snapshot has no view {kind!r}", f"views: {', '.join(found)}")
    raise _no_snapshot("the snapshot does not have this input", f"inputs: {known['inputs']}")


def _no_snapshot(problem: str, help: str) -> StudioError:
    return StudioError("S264", problem, status=404, help=[help])
