"""seqloom demo: learn to pronounce English in two minutes, with and without attention.

The model without attention is trained in a background process, on half of the cores. With a name,
`seqloom demo NAME` trains the models of that example one after another and compares them.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from ...errors import MachineError, TrainingError, UsageError
from ...examples import EXAMPLES, Example
from ...examples.real import pronunciations
from ...metrics import METRICS
from ...recipe import Recipe
from ...runs.names import RECIPE, RUNS, file_argument, run_argument
from ...runs.record import read_record, to_json
from ...runs.run import Run, load
from ...training.files import write_whole
from ..session import Outcome, Session, shown_interval
from ..terminal import can_show, count, duration, mark, say, show, table, width


class BackgroundTraining:
    """A `seqloom train` in a subprocess; when stopped, it saves a checkpoint."""

    def __init__(self, recipe: Recipe, folder: Path, notes: Path) -> None:
        self.name, self._folder = folder.name, folder
        self._log = notes / f"{folder.name}.log"
        file = notes / f"{folder.name}.toml"
        write_whole(file, recipe.to_toml().encode())
        what = (
            ["--resume", self.name] if (folder / RECIPE).exists() else [file, "--name", self.name]
        )
        command = [sys.executable, "-m", "seqloom", "train", *map(str, what)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--runs-dir", str(folder.parent), "--quiet"],
                env={**os.environ, "OMP_NUM_THREADS": str(half_the_cores())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches it through `stop`, not twice
            )

    def wait(self) -> None:
        """Wait for its end; raise an error if it failed."""
        if self._process.wait():
            messages = self._log.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            raise TrainingError(
                "T140",
                f"{self.name} could not be trained",
                notes=messages[-6:],
                help=[f"seqloom train --resume {run_argument(self._folder)}   resumes it alone"],
            )

    def stop(self) -> None:
        """Ask it to save a checkpoint and stop, and wait for that."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def half_the_cores() -> int:
    """The number of threads of each of two concurrent trainings."""
    return max(1, (os.cpu_count() or 1) // 2)


SHARE = 0.8  # fraction of the time for training steps; the rest is reading and evaluation
EVALUATIONS = 6


def train_example(session: Session, args: argparse.Namespace) -> int:
    """Train every model of an example, or take those trained before, and compare them."""
    example = EXAMPLES[args.name]
    if not args.quiet:
        say(_examples_opening(example))
    file = example.write(_folder(session.runs)) if example.file else None
    outcomes = []
    for model in example.models:
        outcome = _trained_examples(session, example, model, file, args)
        if outcome.exit_code:
            session.say_saved(outcome, f"seqloom demo {example.name}")
            return outcome.exit_code
        outcomes.append(outcome)
    if args.json:
        show(to_json({outcome.run.name: outcome.facts() for outcome in outcomes}))
    elif args.quiet:
        show("\n".join(str(outcome.run.folder) for outcome in outcomes))
    else:
        show("\n".join(["", *_examples_compared(outcomes), "", *_next_after_examples(outcomes)]))
    return 0


def is_finished(folder: Path) -> bool:
    """Whether there is a run whose training is finished."""
    return (folder / RECIPE).exists() and read_record(folder).state == "finished"


def _folder(runs: Path) -> Path:
    folder = runs.resolve() / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _trained_examples(
    session: Session, example: Example, model: str, file: Path | None, args: argparse.Namespace
) -> Outcome:
    """Train one model, resume its training, or load it if it is finished."""
    name = f"{example.name}-{model}"
    folder = session.runs / name
    if args.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    if is_finished(folder):
        return session.outcome(load(folder))
    if (folder / RECIPE).exists():
        return session.resume(folder)
    seconds = 60 * args.minutes * SHARE / len(example.models)
    often = max(0.5, round(seconds / EVALUATIONS, 1))
    timed = {"training.max_time": f"{seconds:.1f}s", "training.evaluate_seconds": often}
    return session.train(example.recipe(model, file).with_settings(timed), name)


def _examples_opening(example: Example) -> str:
    about = example.as_dict()
    return f"{example.title}: {example.sentence}\n{about['about_data']}"


def _examples_compared(outcomes: list[Outcome]) -> list[str]:
    """A table of the models on the same test set."""
    measured = [outcome.test.with_intervals() if outcome.test else {} for outcome in outcomes]
    rows = [["", *(outcome.run.recipe.model["name"] for outcome in outcomes)]]
    for metric in [name for name in measured[0] if all(name in one for one in measured)]:
        rows.append(
            [METRICS[metric].title, *(shown_interval(metric, one[metric]) for one in measured)]
        )
    rows.append(["training time", *(duration(one.record.seconds()) for one in outcomes)])
    number = len(outcomes[0].test.examples) if outcomes[0].test else 0
    title = f"On {number:,} test examples (95 % confidence intervals in brackets):"
    return [title, *(f"  {line}" for line in table(rows, "lr"))]


def _next_after_examples(outcomes: list[Outcome]) -> list[str]:
    names = " ".join(run_argument(outcome.run.folder) for outcome in outcomes)
    return ["Next:", f"  seqloom compare {names} --where", "  seqloom studio"]


ATTENTION, BOTTLENECK = "demo-attention", "demo-bottleneck"
MODELS = {ATTENTION: "additive", BOTTLENECK: "none"}
TITLES = {"demo-attention": "with attention", "demo-bottleneck": "without attention"}
METRIC_TITLES = {"sequence_error": "word error rate", "symbol_error": "phoneme error rate"}
WORDS_SHOWN = 5
LETTERS_SHOWN = range(6, 11)  # hard enough, and short enough to draw


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=[*EXAMPLES],
        help=f"another example: {', '.join(EXAMPLES)} (default: pronunciation, with and without"
        " attention)",
    )
    parser.add_argument("--minutes", type=float, default=2.0, help="time limit (2)")
    parser.add_argument("--fresh", action="store_true", help="train again, even if trained before")


def run(args: argparse.Namespace) -> int:
    """Train both models, or take those of an earlier demo, and show the results."""
    if not args.minutes > 0:
        raise UsageError("U001", "--minutes must be more than 0", help=["seqloom demo --minutes 2"])
    session = Session(args.runs_dir, quiet=args.quiet)
    if args.name:
        return train_example(session, args)
    if args.fresh:
        for name in MODELS:
            shutil.rmtree(args.runs_dir / name, ignore_errors=True)
    is_new = not all(is_finished(args.runs_dir / name) for name in MODELS)
    if not args.quiet:
        say(_opening(args.minutes) if is_new else _AGAIN)
    if is_new:
        stopped = _train(session, args)
        if stopped is not None:
            session.say_saved(stopped, _again(args))
            return stopped.exit_code
    _show([session.outcome(load(args.runs_dir / name)) for name in MODELS], args)
    return 0


def recipe(words: Path, attention: str, seconds: float) -> Recipe:
    """The recipe of a small model for a minute of training."""
    return Recipe(
        data={"train": str(words), "format": "tsv", "valid_fraction": 0.01, "test_fraction": 0.02},
        task={"name": "translate", "source_tokens": "characters", "target_tokens": "words"},
        model={
            "name": "encoder-decoder",
            "attention": attention,
            "hidden_size": 192,
            "embedding_size": 96,
            "dropout": 0.1,
            "label_smoothing": 0.05,
        },
        training={
            "max_time": f"{seconds:.1f}s",
            "epochs": 1000,  # ended by max_time
            "batch_size": 64,
            "learning_rate": 0.003,
            "schedule": "cosine",
            "ema_decay": 0.998,
            "evaluate_seconds": max(1.0, round(seconds / 6, 1)),
            "evaluate_examples": 600,
        },
    )


def write_words(path: Path) -> int:
    """Write the CMU dictionary as spelling and phonemes; return the number of lines."""
    try:
        lines = pronunciations()
    except ImportError as error:
        raise MachineError(
            "E340",
            "the demo needs the pronunciation dictionary, which is not installed",
            help=['pip install "seqloom[demo]"'],
        ) from error
    write_whole(path, ("\n".join(lines) + "\n").encode())
    return len(lines)


def _train(session: Session, args: argparse.Namespace) -> Outcome | None:
    """Train both models at once, each on half of the cores; the outcome if a signal stopped it."""
    import torch

    words = _words(session.runs.resolve() / "demo" / "words.tsv")
    recipes = {n: recipe(words, kind, 60 * args.minutes * SHARE) for n, kind in MODELS.items()}
    other = session.runs / BOTTLENECK
    background = None
    if not is_finished(other):
        background = BackgroundTraining(recipes[BOTTLENECK], other, session.runs / "demo")
    threads = torch.get_num_threads()
    torch.set_num_threads(half_the_cores())
    try:
        outcome = _trained(session, recipes[ATTENTION])
        if not outcome.exit_code and background is not None:
            background.wait()
    finally:
        torch.set_num_threads(threads)
        if background is not None:
            background.stop()
    return outcome if outcome.exit_code else None


def _trained(session: Session, chosen: Recipe) -> Outcome:
    """Train the model with attention, resume its training, or load it if it is finished."""
    folder = session.runs / ATTENTION
    if is_finished(folder):
        return session.outcome(load(folder))
    if (folder / RECIPE).exists():
        return session.resume(folder)
    return session.train(chosen, ATTENTION)


def _words(path: Path) -> Path:
    if not path.exists():
        write_words(path)
    return path


def _show(outcomes: list[Outcome], args: argparse.Namespace) -> None:
    """Print the results."""
    if args.json:
        show(to_json({outcome.run.name: outcome.facts() for outcome in outcomes}))
    elif args.quiet:
        show("\n".join(str(outcome.run.folder) for outcome in outcomes))
    else:
        attentive = outcomes[0]
        show("\n".join(["", *_learning(attentive), *_compared(outcomes), ""]))
        indices = _chosen(attentive)
        show("\n".join([*_pronounced(attentive, indices), ""]))
        show("\n".join([*_aligned(attentive.run, _word(attentive, indices)), ""]))
        show("\n".join(_next(outcomes)))


def _learning(outcome: Outcome) -> list[str]:
    """Predictions for the same words at the first, a middle and the last evaluation."""
    samples = [event for event in outcome.record.events if event["kind"] == "sample"]
    if len(samples) < 2:
        return []
    chosen = [samples[0], *samples[len(samples) // 2 : -1][:1], samples[-1]]
    rows = [["", *(f"step {event['step']:,}" for event in chosen)]]
    for index, sample in enumerate(chosen[0]["samples"]):
        predictions = [event["samples"][index]["answer"] for event in chosen]
        rows.append([sample["question"], *predictions])
    return ["During training, on validation words:", *_indented(table(rows, room=width() - 2)), ""]


def _compared(outcomes: list[Outcome]) -> list[str]:
    """A table of both models on the same test words."""
    rows = [["", *(TITLES[outcome.run.name] for outcome in outcomes)]]
    measured = [outcome.test.with_intervals() if outcome.test else {} for outcome in outcomes]
    for metric, title in METRIC_TITLES.items():
        rows.append([title, *(shown_interval(metric, test[metric]) for test in measured)])
    rows.append(["training time", *(duration(o.record.seconds()) for o in outcomes)])
    rows.append(["parameters", *(count(o.run.model.num_parameters()) for o in outcomes)])
    number = len(outcomes[0].test.examples) if outcomes[0].test else 0
    title = f"On {number:,} test words (95 % confidence intervals in brackets):"
    return [title, *_indented(table(rows, "lr", width() - 2))]


def _chosen(outcome: Outcome) -> list[int]:
    """Indices of a few test words of medium length, evenly spread."""
    examples = outcome.test.examples if outcome.test else []
    fit = [n for n, example in enumerate(examples) if len(example.source) in LETTERS_SHOWN]
    fit = fit or list(range(len(examples)))
    stride = max(1, len(fit) // WORDS_SHOWN)
    return fit[stride // 2 :: stride][:WORDS_SHOWN]


def _word(outcome: Outcome, indices: list[int]) -> str:
    """The first of the chosen words that was predicted correctly, or the first."""
    if outcome.test is None or not indices:
        return "loom"
    wrong = outcome.test.tallies["sequence_error"]
    index = min(indices, key=lambda n: wrong[n][0])
    return str(outcome.test.examples[index].source)


def _pronounced(outcome: Outcome, indices: list[int]) -> list[str]:
    """Predictions for test words, with the pronunciation of the dictionary where they differ."""
    if outcome.test is None:
        return []
    rows = []
    for index in indices:
        example, predicted = outcome.test.examples[index], outcome.test.predictions[index]
        phonemes = str(predicted.value) if predicted else ""
        right = list(example.references)
        is_right = phonemes in right
        verdict = "" if is_right else f"the dictionary says {right[0]}"
        sign = mark("good" if is_right else "bad", sys.stdout)
        rows.append([sign, example.source, phonemes, verdict])
    wrong = outcome.test.values()["sequence_error"]
    title = f"Test words ({METRICS['sequence_error'].show(1 - wrong)} of all are correct):"
    return [title, *_indented(table(rows, room=width() - 2))]


def _aligned(run: Run, word: str) -> list[str]:
    """The attention weights of each phoneme over the letters."""
    is_ascii = not can_show("█·", sys.stdout)
    picture = run.inspect(word).to_text(min(width(), 80), ascii=is_ascii)
    return [f"Attention while pronouncing {word!r}:", "", *picture.split("\n")]


def _next(outcomes: list[Outcome]) -> list[str]:
    attentive, bottleneck = (run_argument(outcome.run.folder) for outcome in outcomes)
    return [
        "Next:",
        f'  {_seqloom()} translate {attentive} "loom"',
        f'  {_seqloom()} inspect {attentive} --text "loom" -o loom.svg',
        f"  {_seqloom()} compare {attentive} {bottleneck}",
    ]


def _seqloom() -> str:
    """The command to type: with `make demo` it is not on the PATH."""
    called = Path(sys.argv[0])
    if shutil.which("seqloom") or called.name != "seqloom":
        return "seqloom"
    return str(called)


def _again(args: argparse.Namespace) -> str:
    """The command that resumes a demo that was stopped."""
    runs = "" if args.runs_dir == RUNS else f" --runs-dir {file_argument(args.runs_dir)}"
    return f"seqloom demo{runs}"


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _opening(minutes: float) -> str:
    return (
        f"From spelling to sound: two models are trained for {duration(60 * minutes)}.\n"
        "Both are encoder-decoders from the letters of a word to its phonemes. The one shown here\n"
        "has attention over the letters; the other has only the last state of its encoder."
    )


_AGAIN = "The demo was trained before: these are its results (seqloom demo --fresh trains again)."
