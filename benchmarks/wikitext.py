"""Perplexity on WikiText-2: an n-gram model, an LSTM and a Transformer, with equal CPU time.

Words as the files have them, one continuous text. The n-gram model has no time limit. For the
networks a short trial measures the CPU time of a training step; they are then trained for as many
steps as fit into the budget, with a learning-rate schedule to its end. So results do not depend on
the load of the machine.

    python benchmarks/wikitext.py --minutes 20
    python benchmarks/wikitext.py --minutes 20 --only lstm
"""

import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, in_words, machine, report, say, table, wikitext

from seqloom import Run, train

TASK = {"task.tokens": "words", "task.layout": "stream"}
RARE = (2000, 10000)  # 33,278 words: a full softmax would take nine tenths of the time
RUNGS: dict[str, dict[str, Any]] = {
    "5-gram": {"model.name": "ngram", "model.order": 5},
    "lstm": {
        "model.name": "recurrent",
        "model.cell": "lstm",
        "model.embedding_size": 256,
        "model.hidden_size": 256,
        "model.dropout": 0.1,
        "model.adaptive_softmax": RARE,
        "training.batch_size": 20,
        "training.bptt": 35,
        "training.learning_rate": 0.003,
        "training.max_grad_norm": 0.25,
    },
    "transformer": {
        "model.name": "transformer",
        "model.hidden_size": 256,
        "model.num_layers": 4,
        "model.num_heads": 4,
        "model.context": 128,
        "model.dropout": 0.1,
        "model.adaptive_softmax": RARE,
        "training.batch_size": 8,
        "training.bptt": 128,
        "training.learning_rate": 0.001,
        "training.warmup_ratio": 0.05,
    },
}
COUNTED = "5-gram"
TRIALS = 20, 120  # steps


def main() -> None:
    """Train each rung and judge it on the test part."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="of a processor, for each (default: 20)"
    )
    parser.add_argument("--only", choices=list(RUNGS), help="(default: all)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    files = wikitext()
    rows = [judged(name, files, given) for name in RUNGS if given.only in (None, name)]
    results = {"rows": rows, "minutes": given.minutes, "machine": machine(given.threads)}
    report(shown(results), results, given.json)


def judged(name: str, files: dict[str, Path], given: Namespace) -> dict[str, Any]:
    """A rung's perplexity, its size, and what it took."""
    say(name)
    settings = TASK | RUNGS[name] | {f"data.{part}": str(path) for part, path in files.items()}
    if name != COUNTED:
        short, long = (trained(settings | steps(count), files)[1] for count in TRIALS)
        a_step = (long - short) / (TRIALS[1] - TRIALS[0])
        say(f"a step takes {1000 * a_step:.0f} ms of processor time")
        settings |= steps(round(60 * given.minutes / a_step))
    run, seconds = trained(settings, files)
    measured = run.evaluate(files["test"]).with_intervals()["perplexity"]
    say(f"{measured.value:.2f} after {seconds / 60:.1f} minutes")
    facts = {"rung": name, "minutes": seconds / 60, "size": run.model.num_parameters()}
    return facts | {"perplexity": vars(measured)}


def steps(count: int) -> dict[str, Any]:
    """So many, however often the text is read; evaluations take little of the time."""
    return {"training.epochs": 1000, "training.max_steps": count, "training.evaluate_steps": 1000}


def trained(settings: dict[str, Any], files: dict[str, Path]) -> tuple[Run, float]:
    """A run, and the seconds of processor time it took, reading and judging included."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        run = train("language", files["train"], runs=Path(folder), settings=settings)
        return run, time.process_time() - begin


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        [
            row["rung"],
            f"{row['perplexity']['value']:.1f}",
            f"{row['perplexity']['low']:.1f} to {row['perplexity']['high']:.1f}",
            f"{row['minutes']:.1f}",
            f"{row['size'] / 1e6:.1f} M",
        ]
        for row in results["rows"]
    ]
    head = ["rung", "test perplexity", "95 %", "processor minutes", "numbers"]
    return f"# WikiText-2\n\n{table(head, rows)}\n\n{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
