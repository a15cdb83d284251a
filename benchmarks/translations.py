"""BLEU of the shipped translation recipes, and example translations.

Trains a recipe, or loads a run of it, and evaluates it on its test set, with greedy search and a
beam of 5; intervals are over sentences. The examples are test sentences at equal
distances, so that they are not selected.

    python benchmarks/translations.py --recipe tatoeba
    python benchmarks/translations.py --recipe multi30k-long --threads 1
    python benchmarks/translations.py --recipe tatoeba --run runs/tatoeba     only evaluates
"""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from surroundings import (
    arguments,
    data_set,
    in_words,
    machine,
    multi30k,
    positive,
    report,
    say,
    table,
)

from seqloom import Run, Search, load, train
from seqloom.evaluation.evaluate import Evaluation

BEAMS = (1, 5)
METRICS = {"bleu": "BLEU", "tokenised_bleu": "tokenised BLEU", "chrf": "chrF"}
CAPTIONS = ("multi30k-tiny", "multi30k-long")  # English to German


def main() -> None:
    """Train or load, judge, report."""
    parser = arguments(__doc__)
    parser.add_argument("--recipe", default="tatoeba", choices=["tatoeba", *CAPTIONS])
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="judge this run; train nothing")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), metavar="FOLDER")
    parser.add_argument("--examples", type=positive, default=10, metavar="N", help="(default: 10)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts = machine(given.threads)
    run, seconds = (load(given.run), None) if given.run else trained(given)
    found = {beam: run.evaluate(search=Search(beam=beam)) for beam in BEAMS}
    results = {
        "run": run.name,
        "recipe": given.recipe,
        "weights": run.model.num_parameters(),
        "training": seconds,
        "scores": {beam: scores(evaluation) for beam, evaluation in found.items()},
        "examples": examples(run, found[BEAMS[-1]], given.examples),
        "sentences": len(found[BEAMS[-1]].examples),
        "machine": facts,
    }
    report(shown(results), results, given.json)


def trained(given: Namespace) -> tuple[Run, dict[str, float]]:
    """A new run of the recipe, and the seconds it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    say(f"training {given.recipe}")
    run = train(given.recipe, name=given.recipe, runs=given.runs_dir, settings=parts(given.recipe))
    return run, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def parts(recipe: str) -> dict[str, Any]:
    """The files a recipe is for."""
    if recipe in CAPTIONS:
        return {f"data.{part}": files for part, files in multi30k("en", "de").items()}
    (file,) = data_set("tatoeba-eng-fra/fra.txt")
    return {"data.train": str(file)}


def scores(evaluation: Evaluation) -> dict[str, list[float]]:
    """Each metric with its interval."""
    measured = evaluation.with_intervals()
    return {
        name: [measured[name].value, measured[name].low, measured[name].high] for name in METRICS
    }


def examples(run: Run, evaluation: Evaluation, count: int) -> list[dict[str, str]]:
    """Sentences at even distances: source, what the file says, what the run wrote."""
    task, total = run.task, len(evaluation.examples)
    places = [(2 * number + 1) * total // (2 * count) for number in range(min(count, total))]
    chosen = [(evaluation.examples[place], evaluation.predictions[place]) for place in places]
    return [
        {
            "source": task.show_question(example),
            "file": task.show(task.reference(example)),
            "run": "" if answer is None else task.show(answer.value),
        }
        for example, answer in chosen
    ]


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        ["greedy" if beam == 1 else f"beam {beam}", *(_interval(row[name]) for name in METRICS)]
        for beam, row in results["scores"].items()
    ]
    said = [[one["source"], one["file"], one["run"]] for one in results["examples"]]
    spent = results["training"]
    lines = [
        table(["search", *METRICS.values()], rows) + "\n",
        table(["source", "the file", "the run"], said, words=3) + "\n",
        f"{results['recipe']}, {results['weights']:,} weights,"
        f" {results['sentences']:,} test sentences.",
        f"Training took {spent['wall'] / 60:.1f} minutes, {spent['cpu'] / 60:.1f} of a processor."
        if spent
        else f"The run {results['run']} was trained before.",
        in_words(results["machine"]),
    ]
    return "\n".join(lines)


def _interval(value: list[float]) -> str:
    return "{:.2f} ({:.2f}-{:.2f})".format(*value)


if __name__ == "__main__":
    main()
