"""Views of a loaded run through the web API: now, or as they were at an evaluation of training."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import StudioError
from ..runs.run import Run
from ..views import View
from .options import Limits
from .predict import as_file, at_most, must_be_short
from .run_store import PROBES, probes_of

DRAWN = ("image/svg+xml", "image/png", "text/html")


def look(
    run: Run, kind: str, given: Mapping[str, Any], file: Path | None, limits: Limits, scratch: Path
) -> View:
    """What happens inside a run while it reads a text, or series.

    `given` are the options of the view, with `text` or `series` among them; the view itself says
    what is wrong with them.
    """
    options = dict(given)
    text, series = options.pop("text", ""), options.pop("series", "")
    must_be_short(text, limits.looked)
    must_be_short(series, limits.json_bytes)
    at_most(options, {"beam": limits.beam, "limit": limits.generated})
    if file is not None:
        return run.inspect("", view=kind, file=file, **options)
    if series:
        with as_file(series, scratch) as written:
            return run.inspect("", view=kind, file=written, **options)
    return run.inspect(text, view=kind, **options)


def drawn(view: View, accept: str, scratch: Path) -> tuple[bytes, str] | None:
    """The drawing in the form that is asked for; None where it is JSON."""
    wanted = next((kind for kind in DRAWN if kind in accept), None)
    if wanted == "image/svg+xml":
        return view.to_svg().encode("utf-8", "backslashreplace"), wanted
    if wanted == "text/html":
        return view.to_html().encode("utf-8", "backslashreplace"), f"{wanted}; charset=utf-8"
    if wanted == "image/png":
        with as_file("", scratch, ".png") as file:
            view.to_picture().to_png(file)
            return file.read_bytes(), wanted
    return None


def kept_view(folder: Path, step: int, kind: str, text: str) -> dict[str, Any]:
    """A view that was kept at an evaluation, of an input that was asked then."""
    known = probes_of(folder)
    if step not in known["steps"]:
        steps = ", ".join(map(str, known["steps"][:40])) or "none"
        raise _unkept(f"nothing was kept at step {step:,}", f"steps: {steps}")
    kept = json.loads((folder / PROBES / f"step-{step:08d}.json").read_text(encoding="utf-8"))
    for one in kept["inputs"]:
        if one["text"] == text:
            if kind in one["views"]:
                return {**one["views"][kind], "step": step, "answer": one.get("answer")}
            raise _unkept(f"no view {kind!r} was kept", f"views: {', '.join(one['views'])}")
    raise _unkept("this text was not asked then", f"texts: {known['inputs']}")


def _unkept(problem: str, help: str) -> StudioError:
    return StudioError("S264", problem, status=404, help=[help])
