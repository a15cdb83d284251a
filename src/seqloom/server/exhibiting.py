"""Models in lists and in full: what they can be asked, and what can be seen inside them."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..data.vocabulary import LabelSet
from ..errors import SeqloomError
from ..forms import Form, Tokens
from ..metrics import METRICS
from ..parts import read_parts
from ..run import WEIGHTS, Run
from ..tasks import TASKS
from .asking import parameters_of
from .offering import form_of
from .shelf import probes_of
from .snippets import snippets
from .studio import Studio

EXAMPLES, LONGEST, ROWS = 6, 200, 120
READABLE = 20 << 20  # bytes of data that are read again to show examples


def listed(studio: Studio) -> list[dict[str, Any]]:
    """Every run that has weights, the newest first."""
    return [
        row(studio, name, folder)
        for name, folder in reversed(studio.shelf.folders().items())
        if (folder / WEIGHTS).is_file() and studio.shelf.record(folder).state != "damaged"
    ]


def row(studio: Studio, name: str, folder: Path) -> dict[str, Any]:
    """A model in a list."""
    record = studio.shelf.record(folder)
    metric, best = record.headline, record.best
    value = best[metric] if metric and best else None
    is_listed = record.task in list(TASKS)  # another may be a Python file of the user's own
    kind = TASKS[record.task] if is_listed else None
    return {
        "id": name,
        "task": record.task,
        "model": record.model,
        "form": kind.varieties()[0].form.name.lower() if kind else None,
        "verb": kind.verb if kind else "predict",
        "metric": metric,
        "metric_title": METRICS[metric].title if metric else None,
        "best": value,
        "best_shown": METRICS[metric].show(value) if metric and value is not None else None,
        "size": record.learned(),
        "bytes": record.weights_bytes(),
        "age": record.age(),
    }


def exhibited(studio: Studio, name: str, run: Run, base: str) -> dict[str, Any]:
    """A model in full."""
    folder = studio.shelf.folder(name)
    probes = probes_of(folder)
    examples = _examples(run, probes["inputs"])
    offered = run.views()
    first = {"inputs": examples[:1] or [""], "parameters": {}}
    return {
        **row(studio, name, folder),
        "form": run.task.form.name.lower(),
        "folder": str(folder),
        "views": [
            {
                "view": kind.view,
                "title": kind.title,
                "about": kind.about,
                "options": form_of(kind.options()),
            }
            for kind in offered.shown
        ],
        "missing": [{"view": kind.view, "title": kind.title} for kind in offered.missing],
        "examples": examples,
        "labels": _labels(run),
        "symbols": _symbols(run),
        "unit": _unit(run),
        "probes": probes,
        "forecast": _forecast(run),
        "parameters": form_of(parameters_of(run)),
        "snippets": snippets(base, quote(name), first, bool(studio.settings.token)),
    }


def _examples(run: Run, probes: list[str]) -> list[str]:
    """Inputs to try: what training was watched by, then some of the test part."""
    found = [text for text in probes if text]
    file = Path(str(run.recipe.data.get("train") or ""))
    is_small = not run.task.roles or (file.is_file() and file.stat().st_size <= READABLE)
    if run.task.form is Form.FORECAST:
        return _last_rows(file) if is_small else []
    if is_small:
        try:
            parts = read_parts(run.task, run.recipe.build_data())
        except SeqloomError:
            return found  # its data is gone
        texts = [run.task.shown_question(one) for one in list(parts.test)[: 4 * EXAMPLES]]
        found += sorted((text for text in texts if text.strip()), key=len)
    short = [text for text in dict.fromkeys(found) if len(text) <= LONGEST]
    return short[:EXAMPLES] or [text[:LONGEST] for text in found[:1]]


def _last_rows(file: Path) -> list[str]:
    """The end of a table of series, with its heading, as a text that can be asked about."""
    if file.suffix.lower() not in (".csv", ".tsv"):
        return []
    heading, *rows = file.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    return ["\n".join([heading, *rows[-ROWS:]]) + "\n"] if rows else []


def _labels(run: Run) -> list[str] | None:
    """All labels that it may answer, where answers are labels."""
    sets = [value for value in vars(run.task).values() if isinstance(value, LabelSet)]
    return list(sets[0].labels) if sets else None


def _symbols(run: Run) -> int | None:
    """How many symbols it knows, where it reads symbols."""
    source = run.model.signature.source
    return source.size if isinstance(source, Tokens) else None


def _unit(run: Run) -> str:
    return str(getattr(run.task, "unit", "") or run.task.read_unit)


def _forecast(run: Run) -> dict[str, Any] | None:
    """How far it looks ahead, and at which numbers."""
    if run.task.form is not Form.FORECAST:
        return None
    outline = getattr(run.task, "outline", None)
    target = run.model.signature.target
    return {
        "horizon": getattr(target, "horizon", 0),
        "period": getattr(target, "period", 0),
        "columns": list(getattr(outline, "names", ())) if outline else [],
        "known": list(getattr(outline, "known", ())) if outline else [],
    }
