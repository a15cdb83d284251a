"""seqloom demo: learn to pronounce English in two minutes, with attention and without.

A training that runs beside the one on the screen, in a process and on cores of its own.

seqloom demo NAME: one of the examples, its models one after another, side by side at the end.
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
from ...runs.record import read_record, to_json
from ...runs.run import RECIPE, RUNS, Run, load
from ...training.checkpoints import write_whole
from ..session import Outcome, Session, call, shown_interval
from ..terminal import can_show, count, duration, mark, say, show, table, width


class Beside:
    """A second `seqloom train`; asked to stop, it saves its place like the first."""

    def __init__(self, recipe: Recipe, folder: Path, notes: Path) -> None:
        self.name, self._log = folder.name, notes / f"{folder.name}.log"
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
        """Until it has ended; an error if it did not end well."""
        if self._process.wait():
            told = self._log.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            raise TrainingError(
                "T140",
                f"{self.name} could not be trained",
                notes=told[-6:],
                help=[f"seqloom train --resume {self.name}   goes on with it alone"],
            )

    def stop(self) -> None:
        """Ask it to save and end, and wait for that."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def half_the_cores() -> int:
    """So many threads that two trainings do not stand in each other's way."""
    return max(1, (os.cpu_count() or 1) // 2)


SHARE = 0.8  # of the time given, for the steps; the rest is reading and judging
EVALUATIONS = 6


def train_example(session: Session, given: argparse.Namespace) -> int:
    """Train every model of an example, or take up those of an earlier time, and compare them."""
    example = EXAMPLES[given.name]
    if not given.quiet:
        say(_examples_opening(example))
    file = example.write(_folder(session.runs)) if example.file else None
    outcomes = []
    for model in example.models:
        outcome = _trained_examples(session, example, model, file, given)
        if outcome.exit_code:
            session.say_saved(outcome, f"seqloom demo {example.name}")
            return outcome.exit_code
        outcomes.append(outcome)
    if given.json:
        show(to_json({outcome.run.name: outcome.facts() for outcome in outcomes}))
    elif given.quiet:
        show("\n".join(str(outcome.run.folder) for outcome in outcomes))
    else:
        show("\n".join(["", *_examples_compared(outcomes), "", *_next_after_examples(outcomes)]))
    return 0


def is_finished(folder: Path) -> bool:
    """Whether there is a run that was trained to its end."""
    return (folder / RECIPE).exists() and read_record(folder).state == "finished"


def _folder(runs: Path) -> Path:
    folder = runs.resolve() / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _trained_examples(
    session: Session, example: Example, model: str, file: Path | None, given: argparse.Namespace
) -> Outcome:
    """One model: a training that begins or goes on, or is done already."""
    name = f"{example.name}-{model}"
    folder = session.runs / name
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    if is_finished(folder):
        return session.outcome(load(folder))
    if (folder / RECIPE).exists():
        return session.resume(folder)
    seconds = 60 * given.minutes * SHARE / len(example.models)
    often = max(0.5, round(seconds / EVALUATIONS, 1))
    timed = {"training.max_time": f"{seconds:.1f}s", "training.evaluate_seconds": often}
    return session.train(example.recipe(model, file).with_settings(timed), name)


def _examples_opening(example: Example) -> str:
    about = example.as_dict()
    return f"{example.title}: {example.sentence}\n{about['about_data']}"


def _examples_compared(outcomes: list[Outcome]) -> list[str]:
    """The models on the same examples that none has seen."""
    judged = [outcome.test.measured() if outcome.test else {} for outcome in outcomes]
    rows = [["", *(outcome.run.recipe.model["name"] for outcome in outcomes)]]
    for metric in [name for name in judged[0] if all(name in one for one in judged)]:
        rows.append(
            [METRICS[metric].title, *(shown_interval(metric, one[metric]) for one in judged)]
        )
    rows.append(["training time", *(duration(one.record.seconds()) for one in outcomes)])
    number = len(outcomes[0].test.examples) if outcomes[0].test else 0
    title = f"On {number:,} examples that no model has seen (95 % intervals in brackets):"
    return [title, *(f"  {line}" for line in table(rows, "lr"))]


def _next_after_examples(outcomes: list[Outcome]) -> list[str]:
    names = " ".join(call(outcome.run.folder) for outcome in outcomes)
    return ["Next:", f"  seqloom compare {names} --where", "  seqloom studio"]


ATTENTION, BOTTLENECK = "demo-attention", "demo-bottleneck"
MODELS = {ATTENTION: "additive", BOTTLENECK: "none"}
TITLES = {"demo-attention": "with attention", "demo-bottleneck": "without attention"}
METRIC_TITLES = {"sequence_error": "word error rate", "symbol_error": "phoneme error rate"}
WORDS_SHOWN = 5
LETTERS_SHOWN = range(6, 11)  # long enough to be hard, short enough to draw


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=[*EXAMPLES],
        help=f"another example: {', '.join(EXAMPLES)}; left out: pronouncing, with attention and"
        " without",
    )
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="how long it may take (2 if left out)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="train anew, though it was done before"
    )


def run(given: argparse.Namespace) -> int:
    """Train both models, or take up those of an earlier demo, and show what they learned."""
    if not given.minutes > 0:
        raise UsageError("U001", "--minutes must be more than 0", help=["seqloom demo --minutes 2"])
    session = Session(given.runs_dir, quiet=given.quiet)
    if given.name:
        return train_example(session, given)
    if given.fresh:
        for name in MODELS:
            shutil.rmtree(given.runs_dir / name, ignore_errors=True)
    is_new = not all(is_finished(given.runs_dir / name) for name in MODELS)
    if not given.quiet:
        say(_opening(given.minutes) if is_new else _AGAIN)
    if is_new:
        stopped = _train(session, given)
        if stopped is not None:
            session.say_saved(stopped, _again(given))
            return stopped.exit_code
    _show([session.outcome(load(given.runs_dir / name)) for name in MODELS], given)
    return 0


def recipe(words: Path, attention: str, seconds: float) -> Recipe:
    """A small model that learns much in a minute."""
    return Recipe(
        data={"train": str(words), "format": "tsv", "valid_fraction": 0.01, "test_fraction": 0.02},
        task={"name": "translate", "source_symbols": "characters", "target_symbols": "words"},
        model={
            "name": "encoder-decoder",
            "attention": attention,
            "hidden": 192,
            "width": 96,
            "dropout": 0.1,
            "smoothing": 0.05,
        },
        training={
            "max_time": f"{seconds:.1f}s",
            "epochs": 1000,  # the clock ends it, not the data
            "batch_size": 64,
            "learning_rate": 0.003,
            "schedule": "cosine",
            "average": 0.998,
            "evaluate_seconds": max(1.0, round(seconds / 6, 1)),
            "evaluate_examples": 600,
        },
    )


def write_words(path: Path) -> int:
    """The CMU dictionary as spelling and sounds; how many lines were written."""
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


def _train(session: Session, given: argparse.Namespace) -> Outcome | None:
    """Both models at once, each on half of the cores; the outcome where a signal ended it."""
    import torch

    words = _words(session.runs.resolve() / "demo" / "words.tsv")
    recipes = {n: recipe(words, kind, 60 * given.minutes * SHARE) for n, kind in MODELS.items()}
    other = session.runs / BOTTLENECK
    beside = None
    if not is_finished(other):
        beside = Beside(recipes[BOTTLENECK], other, session.runs / "demo")
    threads = torch.get_num_threads()
    torch.set_num_threads(half_the_cores())
    try:
        outcome = _trained(session, recipes[ATTENTION])
        if not outcome.exit_code and beside is not None:
            beside.wait()
    finally:
        torch.set_num_threads(threads)
        if beside is not None:
            beside.stop()
    return outcome if outcome.exit_code else None


def _trained(session: Session, chosen: Recipe) -> Outcome:
    """The model on the screen: a training that begins or goes on, or is done already."""
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


def _show(outcomes: list[Outcome], given: argparse.Namespace) -> None:
    """What was learned, on stdout."""
    if given.json:
        show(to_json({outcome.run.name: outcome.facts() for outcome in outcomes}))
    elif given.quiet:
        show("\n".join(str(outcome.run.folder) for outcome in outcomes))
    else:
        attentive = outcomes[0]
        show("\n".join(["", *_learning(attentive), *_compared(outcomes), ""]))
        places = _chosen(attentive)
        show("\n".join([*_pronounced(attentive, places), ""]))
        show("\n".join([*_aligned(attentive.run, _word(attentive, places)), ""]))
        show("\n".join(_next(outcomes)))


def _learning(outcome: Outcome) -> list[str]:
    """The same words at the first, a middle and the last evaluation."""
    told = [event for event in outcome.record.events if event["kind"] == "sample"]
    if len(told) < 2:
        return []
    chosen = [told[0], *told[len(told) // 2 : -1][:1], told[-1]]
    rows = [["", *(f"step {event['step']:,}" for event in chosen)]]
    for place, sample in enumerate(chosen[0]["samples"]):
        answers = [event["samples"][place]["answer"] for event in chosen]
        rows.append([sample["question"], *answers])
    return ["How it learned, on words kept apart:", *_indented(table(rows, room=width() - 2)), ""]


def _compared(outcomes: list[Outcome]) -> list[str]:
    """Both models on the same unseen words."""
    rows = [["", *(TITLES[outcome.run.name] for outcome in outcomes)]]
    judged = [outcome.test.measured() if outcome.test else {} for outcome in outcomes]
    for metric, title in METRIC_TITLES.items():
        rows.append([title, *(shown_interval(metric, test[metric]) for test in judged)])
    rows.append(["training time", *(duration(o.record.seconds()) for o in outcomes)])
    rows.append(["parameters", *(count(o.run.model.size()) for o in outcomes)])
    number = len(outcomes[0].test.examples) if outcomes[0].test else 0
    title = f"On {number:,} words that neither model has seen (95 % intervals in brackets):"
    return [title, *_indented(table(rows, "lr", width() - 2))]


def _chosen(outcome: Outcome) -> list[int]:
    """Places of a few test words of middling length: the middle of each fifth of them."""
    examples = outcome.test.examples if outcome.test else []
    fit = [n for n, example in enumerate(examples) if len(example.source) in LETTERS_SHOWN]
    fit = fit or list(range(len(examples)))
    stride = max(1, len(fit) // WORDS_SHOWN)
    return fit[stride // 2 :: stride][:WORDS_SHOWN]


def _word(outcome: Outcome, places: list[int]) -> str:
    """The first of the chosen words that was right, or the first."""
    if outcome.test is None or not places:
        return "loom"
    wrong = outcome.test.tallies["sequence_error"]
    place = min(places, key=lambda n: wrong[n][0])
    return str(outcome.test.examples[place].source)


def _pronounced(outcome: Outcome, places: list[int]) -> list[str]:
    """Words it never saw, with what the dictionary says, right or wrong."""
    if outcome.test is None:
        return []
    rows = []
    for place in places:
        example, answer = outcome.test.examples[place], outcome.test.answers[place]
        said = str(answer.value) if answer else ""
        right = list(example.references)
        is_right = said in right
        verdict = "" if is_right else f"the dictionary says {right[0]}"
        sign = mark("good" if is_right else "bad", sys.stdout)
        rows.append([sign, example.source, said, verdict])
    wrong = outcome.test.values()["sequence_error"]
    title = f"Words it never saw ({METRICS['sequence_error'].show(1 - wrong)} of all are right):"
    return [title, *_indented(table(rows, room=width() - 2))]


def _aligned(run: Run, word: str) -> list[str]:
    """Where the model looked while it wrote each sound."""
    is_ascii = not can_show("█·", sys.stdout)
    picture = run.inspect(word).to_text(min(width(), 80), ascii=is_ascii)
    return [f"Where it looked while it pronounced {word!r}:", "", *picture.split("\n")]


def _next(outcomes: list[Outcome]) -> list[str]:
    attentive, bottleneck = (call(outcome.run.folder) for outcome in outcomes)
    return [
        "Next:",
        f'  {_seqloom()} translate {attentive} "loom"',
        f'  {_seqloom()} inspect {attentive} --text "loom" -o loom.svg',
        f"  {_seqloom()} compare {attentive} {bottleneck}",
    ]


def _seqloom() -> str:
    """How to call the command from here: `make demo` leaves it in a folder of its own."""
    called = Path(sys.argv[0])
    if shutil.which("seqloom") or called.name != "seqloom":
        return "seqloom"
    return str(called)


def _again(given: argparse.Namespace) -> str:
    """The command that goes on with a demo that was stopped."""
    return "seqloom demo" if given.runs_dir == RUNS else f"seqloom demo --runs-dir {given.runs_dir}"


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _opening(minutes: float) -> str:
    return (
        f"From spelling to sound: two models learn side by side for {duration(60 * minutes)}.\n"
        "Both read the letters of a word and write its sounds. The one you see may look back at\n"
        "the letters while it writes (attention); the other must remember them all."
    )


_AGAIN = "The demo was trained before: these are its results (seqloom demo --fresh trains anew)."
