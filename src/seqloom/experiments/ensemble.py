"""Linear interpolation of two models (Jelinek & Mercer, 1980): `seqloom mix`.

The mixture λ p₁ + (1 - λ) p₂ is a run of its own; λ maximises the likelihood of the validation set.
"""

import contextlib
import json
import math
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Item, collate
from ..data.loading.batching import batches_by_length
from ..data.loading.bptt import one_stream
from ..errors import DataError, ModelError
from ..evaluation.evaluate import SEQUENCES_AT_ONCE, TOKENS_AT_ONCE, evaluate
from ..metrics import METRICS
from ..model import Search, State
from ..models.mixture import Mixture
from ..recipe import Recipe
from ..runs.compatibility import generates_tokens, have_same_task, have_same_vocabulary, task_notes
from ..runs.names import RECIPE, RUNS, refuse_taken, run_name
from ..runs.run import CARD, EVENTS, TASK, WEIGHTS, Run, load, read_task
from ..runs.split_record import copy_record
from ..runs.train import new_folder
from ..signature import BEGIN, Form
from ..task import Task
from ..training.checkpoints import save_arrays
from ..training.events import Event, EventLog
from ..training.files import locked, write_whole

LogProbs = Float[np.ndarray, " tokens"]
NAME = "mixture"


@dataclass(frozen=True)
class MixtureResult:
    """A mixture run, with the bits per token of both components and the mixture on validation."""

    run: Run
    weight: float
    bits: tuple[float, float, float]  # the first, the second, the mixture
    num_tokens: int
    notes: tuple[str, ...] = ()


def mix(
    first: Run | str | Path,
    second: Run | str | Path,
    *,
    valid: str | Path = "",
    name: str = "",
    runs: str | Path = RUNS,
) -> Run:
    """A new run that interpolates two runs of the same task and vocabulary.

    The weight of the first maximises the likelihood of validation examples: those of the first
    run, or of the file `valid`.
    """
    return mix_runs(first, second, valid=valid, name=name, runs=runs).run


def mix_runs(  # noqa: PLR0913 - keyword-only but for the first two
    first: Run | str | Path,
    second: Run | str | Path,
    *,
    valid: str | Path = "",
    name: str = "",
    runs: str | Path = RUNS,
    tell: Callable[[int], None] = lambda done: None,
) -> MixtureResult:
    """As `mix`, with the validation results; `tell` is called with the number of tokens done."""
    run_name(name)
    refuse_taken(Path(runs) / name)
    one, other = (run if isinstance(run, Run) else load(run) for run in (first, second))
    _require_compatible(one, other)
    examples = _validation(one, valid)
    tables = {"first": one.recipe.model, "second": other.recipe.model}
    model = Mixture(one.task.signature(), first=tables["first"], second=tables["second"])
    model.restore(_joint_weights(one, other))
    mine, others = _component_log_probs(model, one.task, examples, tell)
    model.weight = best_weight(mine, others)
    table = {"name": NAME, "weight": model.weight, **tables}
    recipe = Recipe(data=one.recipe.data, task=one.recipe.task, model=table)
    made = Run(new_folder(recipe, name, Path(runs)), recipe, one.task, model)
    notes = [_weights_note(made, one, other, len(examples)), *_caveats(one, other)]
    _save(made, read_task(one.folder), examples, notes)
    copy_record(made.folder, one.folder, other.folder)
    logs = (mine, others, model.interpolated(mine, others))
    bits = [float(-found.mean()) / math.log(2) for found in logs]
    run = load(made.folder)
    return MixtureResult(
        run, model.weight, (bits[0], bits[1], bits[2]), len(mine), tuple(notes[1:])
    )


def best_weight(first: LogProbs, second: LogProbs) -> float:
    """The maximum-likelihood interpolation weight of the first model.

    L(λ) = Σ log(λ p₁ + (1 - λ) p₂)      L'(λ) = Σ (p₁ - p₂) / (λ p₁ + (1 - λ) p₂)

    L is concave, so L' decreases, and bisection finds its root: the λ to which EM converges
    (Jelinek & Mercer, 1980), without its slow convergence.
    """
    known = np.isfinite(
        np.maximum(first, second)
    )  # tokens that are impossible under both do not depend on λ
    first, second = first[known], second[known]
    larger = np.maximum(first, second)
    one, other = np.exp(first - larger), np.exp(second - larger)

    def slope(weight: float) -> float:
        return float(((one - other) / (weight * one + (1 - weight) * other)).sum())

    low, high = 0.0, 1.0
    if (other > 0).all() and slope(0.0) <= 0:
        return 0.0
    if (one > 0).all() and slope(1.0) >= 0:
        return 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def _require_compatible(first: Run, second: Run) -> None:
    """Raise an error unless both runs have the same task and vocabulary and generate tokens."""
    both = (first, second)
    if not have_same_task(both):
        raise ModelError(
            "M171",
            "only runs of the same task with the same settings can be mixed",
            notes=task_notes(both),
        )
    for run in both:
        if not generates_tokens(run):
            raise ModelError(
                "M173",
                f"{run.name} does not generate token by token, so it cannot be mixed",
                help=["mix runs of language or of translate"],
            )
    if not have_same_vocabulary(both):
        raise ModelError(
            "M172",
            f"the vocabularies of {first.name} and {second.name} differ, so they cannot be mixed",
            help=["train both on the same file, with the same [task] and the same split of [data]"],
        )


def _validation(run: Run, valid: str | Path) -> list[Any]:
    data = run.recipe.build_data()
    examples = run.task.read(Path(valid), data) if valid else run.own_parts().valid
    if not examples:
        place = valid or f"the validation part of {run.name}"
        raise DataError("D022", f"{place} has no examples to find the weight on")
    return list(run.task.distinct(examples))


def _joint_weights(first: Run, second: Run) -> dict[str, np.ndarray]:
    parts = {"first": first.model.weights(), "second": second.model.weights()}
    return {
        f"{part}/{name}": array for part, found in parts.items() for name, array in found.items()
    }


def _component_log_probs(
    model: Mixture, task: Task, examples: Sequence[Any], tell: Callable[[int], None]
) -> tuple[LogProbs, LogProbs]:
    """The log-probabilities of each token under both models."""
    items = [task.encode(example) for example in examples]
    found: list[tuple[LogProbs, LogProbs]] = []
    done = 0
    with model.inference_mode():
        state: State | None = None
        for batch in _batches(task, items):
            if state is None or not task.continuous:
                state = model.begin(batch.source)
            (first, second), state = model.each_from(batch, state)
            found.append((first[batch.target.mask], second[batch.target.mask]))
            done += len(found[-1][0])
            tell(done)
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def _batches(task: Task, items: list[Item]) -> Iterator[Batch]:
    """Segments of a continuous text, or batches of examples of similar length."""
    if task.continuous:
        yield from one_stream(items, TOKENS_AT_ONCE)
        return
    for which in batches_by_length([len(item.source) for item in items], SEQUENCES_AT_ONCE):
        batch = collate([items[i] for i in which])
        is_next = task.form is Form.NEXT
        yield Batch(batch.target.shift_right(BEGIN), batch.target) if is_next else batch


def _caveats(first: Run, second: Run) -> list[str]:
    """Caveats about the data on which the weight was estimated."""
    prints = [read_task(run.folder)["fingerprint"] for run in (first, second)]
    cuts = ("valid_fraction", "test_fraction", "split_seed")
    same = all(first.recipe.data.get(cut) == second.recipe.data.get(cut) for cut in cuts)
    if prints[0] == prints[1] and same:
        return []
    return [
        f"{first.name} and {second.name} were not trained on the same split of the same data:"
        f" {second.name} may have been trained on the examples that determined the weight"
    ]


def _weights_note(run: Run, first: Run, second: Run, examples: int) -> str:
    share = run.recipe.model["weight"]
    return (
        f"{share:.4f} of {first.name} and {1 - share:.4f} of {second.name};"
        f" the weights were estimated on {examples:,} validation examples"
    )


def _save(run: Run, state: dict[str, Any], examples: list[Any], notes: list[str]) -> None:
    """Save the mixture as a run."""
    folder, recipe = run.folder, run.recipe
    metrics = evaluate(run.model, run.task, examples, Search()).values()
    with locked(folder):
        write_whole(folder / TASK, json.dumps(state, ensure_ascii=False).encode())
        save_arrays(folder / WEIGHTS, run.model.weights())
        facts = {
            "examples": {"valid": len(examples)},
            "notes": notes,
            "size": run.model.num_parameters(),
        }
        facts |= {"model": NAME, "task": recipe.task["name"]}
        facts |= {"seqloom": version("seqloom"), "python": platform.python_version()}
        with contextlib.closing(EventLog(folder / EVENTS)) as log:
            log.append(Event("start", 0, facts))
            log.append(Event("eval", 0, {**metrics, "epoch": 0.0, "best": True}))
            log.append(Event("end", 0, {"reason": "mixed", "best_step": 0, "seconds": 0.0}))
        write_whole(folder / CARD, _card(run, metrics, notes).encode())
        # Last, because a folder with a recipe is a run.
        write_whole(folder / RECIPE, recipe.to_toml().encode())


def _card(run: Run, metrics: dict[str, float], notes: list[str]) -> str:
    lines = [f"# {run.name}", "", f"Model {NAME}, task {run.recipe.task['name']}.", ""]
    lines += ["Made by seqloom mix:", "", *(f"- {note}" for note in notes)]
    lines += ["", f"{run.model.num_parameters():,} parameters.", "", "## On validation", ""]
    lines += [f"- {METRICS[name].title}: {METRICS[name].show(v)}" for name, v in metrics.items()]
    return "\n".join(lines) + "\n"
