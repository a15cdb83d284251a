"""Model card: a Markdown summary of a run's data, model, settings and validation metrics."""

from typing import Any

from ..metrics import METRICS
from .code import digest_of
from .run import Run
from .splits import Parts


def card(run: Run, parts: Parts) -> str:
    """The model card as Markdown."""
    recipe, events = run.recipe, run.events()
    lines = [f"# {run.name}", "", recipe.summary(), ""]
    lines += ["## Data", ""]
    lines += [
        f"- {name}: {len(getattr(parts, name)):,} examples" for name in ("train", "valid", "test")
    ]
    lines += [f"- {note}" for note in parts.notes]
    lines += ["", "## Model", "", f"{run.model.num_parameters():,} parameters. Settings:", ""]
    lines += [f"- {key} = {value!r}" for key, value in recipe.model.items() if key != "name"]
    if files := recipe.code_files():
        lines += ["", "Its own code, which lies in the folder of the run:", ""]
        lines += [f"- {file.name}, sha256 {digest_of(file)}" for file in files]
    if found := best_evaluation(events):
        metrics, at = metrics_in(found), f"at step {found['step']:,}"
        shown = [f"- {METRICS[k].title}: {METRICS[k].show(v)}" for k, v in metrics.items()]
        unjudged = ["", f"Weights of the last evaluation, {at}: there were no validation examples."]
        lines += ["", f"## On validation, {at}", "", *shown] if metrics else unjudged
    lines += ["", "## Training", ""]
    lines += [f"- {key} = {value!r}" for key, value in recipe.training.items()]
    return "\n".join(lines) + "\n"


def best_evaluation(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The evaluation event whose weights were saved as the best."""
    found = [event for event in events if event["kind"] == "eval" and event.get("best")]
    return found[-1] if found else None


def metrics_in(event: dict[str, Any]) -> dict[str, float]:
    """The metrics in an evaluation event."""
    return {name: value for name, value in event.items() if name in METRICS}
