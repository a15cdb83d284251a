"""Word and phoneme error of the recipe `pronounce` on the papers' split of the CMU dictionary.

Trains the shipped recipe on g014b2b.train (with a random validation split), then evaluates the best
weights on the 12,000 words of g014b2b.ref, with greedy search and a beam of 5. A word is correct if
it equals any of its listed pronunciations; intervals are over words.

    python benchmarks/pronounce_accuracy.py
    python benchmarks/pronounce_accuracy.py --recipe pronounce-long
    python benchmarks/pronounce_accuracy.py --without-attention
    python benchmarks/pronounce_accuracy.py --run runs/pronounce      only evaluates
    python benchmarks/pronounce_accuracy.py --run runs/one --with runs/two    ensemble
"""

import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from surroundings import (
    Pronunciations,
    arguments,
    in_words,
    machine,
    positive,
    pronunciations,
    report,
    say,
    table,
)

from seqloom import Run, Search, load, train
from seqloom.recipe import shipped
from seqloom.runs.train import Callback
from seqloom.training.events import Event

BEAMS = (1, 5)
METRICS = {"sequence_error": "word error", "symbol_error": "phoneme error"}


@dataclass(frozen=True)
class Trained:
    """A run and what it took to train it; the CPU time of an older one is not known."""

    run: Run
    wall_minutes: float
    cpu_minutes: float | None


def main() -> None:
    """Train or load, judge, report."""
    parser = arguments(__doc__)
    parser.add_argument("--recipe", default="pronounce", choices=list(shipped()))
    parser.add_argument("--without-attention", action="store_true", help="for comparison")
    parser.add_argument("--epochs", type=positive, help="for a trial; the recipe's own otherwise")
    parser.add_argument("--seed", type=int, help="the recipe's own otherwise")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="judge this run; train nothing")
    parser.add_argument(
        "--with",
        dest="others",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="runs that answer together with it; may be repeated",
    )
    given = parser.parse_args()
    files = pronunciations()
    facts = machine(given.threads)
    torch.set_num_threads(given.threads)
    trained = existing(given.run) if given.run else fresh(given, files)
    together = trained.run.ensemble(*map(load, given.others))
    results = told(trained) | {"scores": scores(together, files.test), "machine": facts}
    results["with"] = list(map(str, given.others))
    report(shown(results), results, given.json)


def fresh(given: Namespace, files: Pronunciations) -> Trained:
    """Train the recipe from the start."""
    settings: dict[str, Any] = {"data.train": str(files.train), "data.test": str(files.test)}
    settings |= {"model.attention": "none"} if given.without_attention else {}
    settings |= {"training.epochs": given.epochs} if given.epochs else {}
    settings |= {} if given.seed is None else {"training.seed": given.seed}
    stem = given.recipe + ("-without-attention" if given.without_attention else "")
    name = _free_name(stem, given.runs_dir)
    wall, cpu = time.perf_counter(), time.process_time()
    run = train(
        given.recipe, name=name, runs=given.runs_dir, settings=settings, callback=Callback(_tell)
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Trained(run, wall / 60, cpu / 60)


def existing(folder: Path) -> Trained:
    """A run that was trained before: its own story tells how long it took."""
    run = load(folder)
    ends = [event for event in run.events() if event["kind"] == "end" and "seconds" in event]
    return Trained(run, ends[-1]["seconds"] / 60 if ends else float("nan"), None)


def scores(run: Run, test: Path) -> list[dict[str, Any]]:
    """The errors with each beam, in percent, with their 95 % intervals."""
    found = []
    for beam in BEAMS:
        say(f"judging with beam {beam}")
        judged = run.evaluate(test, search=Search(beam=beam))
        measured = judged.with_intervals()
        row: dict[str, Any] = {"beam": beam, "words": len(judged.examples)}
        row["seconds"] = judged.seconds
        for name, title in METRICS.items():
            value = measured[name]
            row[title] = [100 * value.value, 100 * value.low, 100 * value.high]
        found.append(row)
    return found


def told(trained: Trained) -> dict[str, Any]:
    """How the run was made and how it went."""
    run, events = trained.run, trained.run.events()
    evaluations = [event for event in events if event["kind"] == "eval"]
    best = [event for event in evaluations if event["best"]]
    start = next((event for event in events if event["kind"] == "start"), {})
    return {
        "run": str(run.folder),
        "attention": run.recipe.model["attention"],
        "seed": run.recipe.training["seed"],
        "parameters": run.model.num_parameters(),
        "examples": start.get("examples", {}),
        "epochs": evaluations[-1]["epoch"] if evaluations else 0,
        "steps": evaluations[-1]["step"] if evaluations else 0,
        "best_step": best[-1]["step"] if best else 0,
        "best_valid_word_error": 100 * best[-1]["sequence_error"] if best else None,
        "is_finished": bool(events) and events[-1].get("reason") in ("finished", "no improvement"),
        "wall_minutes": trained.wall_minutes,
        "cpu_minutes": trained.cpu_minutes,
    }


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        ["greedy" if row["beam"] == 1 else f"beam {row['beam']}", *map(_interval, _errors(row))]
        for row in results["scores"]
    ]
    head = ["search", *(f"{title}, %" for title in METRICS.values())]
    cpu = results["cpu_minutes"]
    spent = f"{results['wall_minutes']:.1f} minutes" + (f", {cpu:.1f} of CPU" if cpu else "")
    valid = results["best_valid_word_error"]
    lines = [
        f"# Pronunciation accuracy, {' with '.join([results['run'], *results['with']])}\n",
        table(head, rows) + "\n",
        f"{results['scores'][0]['words']:,} test words, any listed pronunciation is right, 95 %"
        " intervals over words.",
        f"{results['parameters']:,} weights, attention {results['attention']}, seed"
        f" {results['seed']}; {results['epochs']:g} epochs, {results['steps']:,} steps, best at"
        f" {results['best_step']:,}" + (f" ({valid:.2f} % on validation)." if valid else "."),
        f"Training took {spent}, evaluations included"
        + ("." if results["is_finished"] else "; THE RUN IS NOT FINISHED."),
        in_words(results["machine"]),
    ]
    return "\n".join(lines)


def _errors(row: dict[str, Any]) -> list[list[float]]:
    return [row[title] for title in METRICS.values()]


def _interval(value: list[float]) -> str:
    return f"{value[0]:.2f} ({value[1]:.2f}-{value[2]:.2f})"


def _free_name(stem: str, runs: Path) -> str:
    """The stem, or the stem with the next free number."""
    name, number = stem, 1
    while (runs / name).exists():
        number += 1
        name = f"{stem}-{number}"
    return name


def _tell(event: Event) -> None:
    """One line for each evaluation."""
    if event.kind == "eval":
        values = event.values
        say(
            f"epoch {values['epoch']:g}, step {event.step:,}: word error"
            f" {100 * values['sequence_error']:.2f} %, phoneme error"
            f" {100 * values['symbol_error']:.2f} % on validation"
            + (" (best)" if values["best"] else "")
        )


if __name__ == "__main__":
    main()
