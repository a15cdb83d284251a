"""A run is a folder: the recipe, what the task learned, the weights, and the story of training.

recipe.toml              every setting, defaults filled in
task.json                vocabularies and label sets, and the fingerprints of the data files
weights.safetensors      the best weights so far
checkpoint/              all that an exact resume needs
events.jsonl             what happened, line by line
probes/                  what happens inside at some evaluations, for a few inputs
card.md                  the run in words
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import Batch
from ..data.music.piano_roll import Frame, written
from ..data.series.schema import Recorded
from ..decoding import Draws, Ensemble, Sampling
from ..errors import DataError, ModelError, Place, UsageError, nearest
from ..evaluation.error_analysis import Mistakes, mistakes_of
from ..evaluation.evaluate import Answer, Evaluation, evaluate, predict
from ..inference.compose import Composed, Composing, compose
from ..inference.constraints import ruled
from ..inference.forecast import Asked, Outlook, outlooks, typed, until
from ..inference.generate import Piece, generating
from ..inference.score import Score, score
from ..inference.stream import Stream
from ..inspection import Inspecting, Offers, Subject, offers, show
from ..inspection.attribution import How, Question, why
from ..inspection.gradient_flow.gate_statistics import gates_of_model
from ..inspection.training_snapshots import kept, probed
from ..model import Generator, Model, Search
from ..recipe import Recipe
from ..signature import Bits, Form
from ..task import Task
from ..tasks.music import Music
from ..training.checkpoints import load_arrays
from ..training.events import read_events
from ..views import GateSharesView, InfluenceView, MemoryView, View
from .compatibility import must_agree
from .splits import Parts, read_parts, with_known_labels

RUNS = Path("runs")
WEIGHTS, CHECKPOINT = Path("weights.safetensors"), Path("checkpoint") / "last.safetensors"
RECIPE, TASK, EVENTS, CARD = "recipe.toml", "task.json", "events.jsonl", "card.md"


@dataclass(frozen=True)
class Run:
    """A trained model with everything needed to use it."""

    folder: Path
    recipe: Recipe
    task: Task
    model: Model
    parts: Parts | None = None  # the data, where the run was trained just now

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.folder.name

    def events(self) -> list[dict[str, Any]]:
        """The story of training."""
        return read_events(self.folder / EVENTS)

    def predict(self, inputs: Sequence[str], *, beam: int = 1) -> list[Any]:
        """The model's answers, as the task's users understand them."""
        return [answer.value for answer in self.answers(inputs, Search(beam=beam))]

    def answers(
        self,
        inputs: Sequence[str],
        how: Search | Draws,
        tell: Callable[[int], None] = lambda done: None,
        *,
        tokens: int = 0,
    ) -> list[Answer]:
        """Answers with their log-probabilities, and the next best, or more drawn, as it is asked.

        `tokens` bounds the symbols that are read at once, with their padding; 0 takes 256 inputs.
        """
        for number, text in enumerate(inputs, start=1):
            if not text.strip() and self.task.form is not Form.NEXT:
                raise DataError("D023", f"input {number} is empty", help=["leave blank lines out"])
        examples = [self.task.question(text) for text in inputs]
        return predict(self.model, self.task, examples, how, tell, tokens)

    def ruled(self, search: Search, *, allow: Collection[str] = (), prefix: str = "") -> Search:
        """A search whose answers have these symbols only, and begin with this text."""
        return ruled(self.task, search, allow, prefix)

    def together(self, *others: "Run") -> "Run":
        """This run with a model that answers with the mean of all their probabilities."""
        must_agree([self, *others])
        models = [run.model for run in (self, *others)]
        return replace(self, model=Ensemble(models)) if others else self

    def generate(
        self, prompt: str = "", sampling: Sampling | None = None, *, stop: Sequence[str] = ()
    ) -> str:
        """A text that goes on from the prompt, up to its end, a stop text or the limit."""
        return "".join(piece.text for piece in self.generating([prompt], sampling, stop=stop))

    def generating(
        self,
        prompts: Sequence[str] = ("",),
        sampling: Sampling | None = None,
        *,
        stop: Sequence[str] = (),
        streams: Sequence[np.random.Generator] = (),
        allow: Collection[str] = (),
    ) -> Iterator[Piece]:
        """How the prompts go on, piece by piece as the symbols are drawn, all side by side.

        Each draws from a random stream of its own, `sampling.stream(row)` unless `streams` are
        given, so that it goes on the same whatever stands beside it. Only symbols of texts that
        `allow` names are drawn, if it names any."""
        must_predict_symbols(self, "generate")
        if not isinstance(self.model, Generator):
            raise ModelError("M120", f"{self.recipe.model['name']!r} cannot generate")
        only = self.ruled(Search(), allow=allow).allow
        how = sampling or Sampling()
        return generating(self.model, self.task, prompts, how, stop, streams, only)

    def compose(
        self,
        composing: Composing | None = None,
        *,
        prompt: str | Path | Sequence[Frame] = (),
        prompt_steps: int | None = None,
    ) -> Composed:
        """A piece of music that goes on from a prompt: frames, or the first piece of a file.

        `prompt_steps` takes only the first so many of its steps.
        """
        task = self.must_compose()
        if not isinstance(self.model, Generator):
            raise ModelError("M120", f"{self.recipe.model['name']!r} cannot generate")
        if isinstance(prompt, str | Path):
            prompt = task.read(Path(prompt), self.recipe.build_data())[0].frames
        frames = task.question(written(prompt)).frames[:prompt_steps]
        return compose(self.model, task, composing or Composing(), frames)

    def must_compose(self) -> Music:
        """The task, which has to be one of music."""
        if not isinstance(self.task, Music):
            raise wrong_task(self, "compose")
        return self.task

    def score(self, texts: Sequence[str]) -> list[Score]:
        """How likely the model thinks each text is, symbol by symbol."""
        must_predict_symbols(self, "score")
        return score(self.model, self.task, texts)

    def stream(self) -> Stream:
        """A sequence that is read value by value and answered after each."""
        return Stream(self.model, self.task)

    def forecast(
        self,
        what: str | Path | Sequence[Any],
        asked: Asked | None = None,
        *,
        settings: dict[str, Any] | None = None,
        tell: Callable[[int], None] = lambda done: None,
        **more: Any,
    ) -> list[Outlook]:
        """How each series of a file goes on, or one that is given as numbers or rows of them.

        What is asked can be named: horizon, samples, seed, hold_out, series; see `Asked`.
        """
        if self.task.form is not Form.FORECAST:
            raise wrong_task(self, "forecast")
        asked = replace(asked or Asked(), **more)
        series = self._series(what, settings or {})
        return outlooks(self.model, self.task, series, asked, self.name, tell)

    def evaluate(
        self,
        path: str | Path = "",
        *,
        search: Search | None = None,
        skip_unknown_labels: bool = False,
        settings: dict[str, Any] | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> Evaluation:
        """Metrics on a file, or on the run's own test part."""
        data = self.recipe.with_settings(settings or {}).build_data()
        examples = self.task.read(Path(path), data) if path else read_parts(self.task, data).test
        if (unknown := self.task.unknown_labels(examples)) and not skip_unknown_labels:
            raise unknown_labels(Path(path or data.test or data.train), unknown)
        examples = with_known_labels(self.task, examples)
        if not examples:
            raise DataError("D022", f"{path or 'the test part'} has no examples to evaluate")
        return evaluate(self.model, self.task, examples, search or Search(), tell)

    def mistakes(
        self,
        path: str | Path = "",
        *,
        search: Search | None = None,
        skip_unknown_labels: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> Mistakes:
        """What the run gets wrong of a file, or of its own test part, and how sure it was."""
        asked = replace(search or Search(), chances=True)
        score = self.evaluate(
            path, search=asked, skip_unknown_labels=skip_unknown_labels, settings=settings
        )
        return mistakes_of(self.task, score)

    def inspect(
        self,
        text: str = "",
        *,
        view: str = "",
        file: str | Path = "",
        series: Sequence[str] = (),
        step: int | None = None,
        **options: Any,
    ) -> View:
        """A picture of what happens inside while the model reads and answers.

        `views()` lists the kinds there are and their options; see `Inspecting` for all of them. A
        model of series reads a file, or some series of it, or numbers as a text. With a step it is
        what training kept then of one of the inputs of `probes()`.
        """
        asked = Inspecting.of({"view": view, **options})
        if step is not None:
            return probed(self.folder, self.name, text, asked, step)
        is_ahead = self.task.form is Form.FORECAST
        if (is_ahead and bool(text) == bool(file)) or (file and not is_ahead):
            what = "series" if is_ahead else "texts"
            help = "give a FILE of series, or numbers as a text" if is_ahead else '--text "…"'
            raise UsageError("U316", f"{self.name} reads {what}", help=[help])
        if not (text.strip() or file) and self.task.form is not Form.NEXT:
            raise DataError("D023", "the text is empty", help=["give it something to read"])
        question: Any = self.task.question(text) if not file else self._series(file, {})
        if is_ahead and not file:
            question = [until(question)]
        clip = self.recipe.build_training().clip
        return show(self._subject, question, asked, series=series, clip=clip)

    def views(self) -> Offers:
        """The kinds of view that the run has, with their options, and those it lacks."""
        return offers(self._subject)

    def probes(self) -> dict[str, Any]:
        """The `steps` at which training kept what happens inside, and of which `inputs`."""
        return kept(self.folder)

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self.model, self.task, self.name)

    def why(
        self, text: str, *, how: How | None = None, about: Question | None = None
    ) -> InfluenceView:
        """What of a text moved the model's answer, or another one, as a picture.

        `how` says by which probe, `about` which part of which answer.
        """
        return why(self.model, self.task, text, self.name, how=how, about=about or Question())

    def memory(
        self,
        texts: Sequence[str] = (),
        *,
        file: str | Path = "",
        layer: int = 0,
        clip: float | None = None,
    ) -> MemoryView:
        """How far back a recurrent layer feels while it reads texts or a file; 0 is the top one.

        `beside` of a view sets several runs side by side. See `Memory` for what is measured.
        """
        # torch is imported only where it is needed
        from ..inspection.gradient_flow.models import MOST, memory_of_model  # noqa: PLC0415

        batches = self._alone(texts, file)
        limit = self.recipe.build_training().clip if clip is None else clip
        found = memory_of_model(self.model, batches, self.name, clip=limit, layer=layer)
        count = f"the first {MOST}" if len(batches) > MOST else str(len(batches))
        return MemoryView([found], [f"the median of {count} sequences"] * (len(batches) > 1))

    def gates(self, texts: Sequence[str] = (), *, file: str | Path = "") -> GateSharesView:
        """How often every gate is open or shut while the model reads texts or a file."""
        return gates_of_model(self.model, self._alone(texts, file), self.name)

    def _alone(self, texts: Sequence[str], file: str | Path) -> list[Batch]:
        """Each example of a file in a batch alone, or texts with the model's own answers."""
        if file:
            examples = self.task.read(Path(file), self.recipe.build_data())
            examples = with_known_labels(self.task, examples)
        else:
            is_next = self.task.form is Form.NEXT
            answers = [""] * len(texts) if is_next else self.predict(texts)
            pairs = zip(map(self.task.question, texts), answers, strict=True)
            examples = [self.task.answered(question, answer) for question, answer in pairs]
        return [self.task.batch([example]) for example in examples]

    def _series(self, what: str | Path | Sequence[Any], settings: dict[str, Any]) -> list[Recorded]:
        """The series of a file, or one that is given as numbers."""
        if not isinstance(what, str | Path):
            return [typed(self.task, what)]
        data = self.recipe.with_settings(settings).build_data()
        return [window.series for window in self.task.read(Path(what), data)]


def load(folder: str | Path) -> Run:
    """Bring a run back to life, from a folder or by the name of one in runs/."""
    folder = find(str(folder))
    recipe = Recipe.read(folder / RECIPE)
    task = recipe.build_task()
    task.restore(read_task(folder)["codecs"])
    model = recipe.build_model(task.signature())
    model.restore(load_arrays(folder / WEIGHTS).arrays)
    return Run(folder, recipe, task, model)


def find(name: str, runs: Path = RUNS) -> Path:
    """The folder of a run: a path, or a name in the runs folder."""
    for folder in (Path(name), runs / name):
        if (folder / RECIPE).is_file():
            return folder
    if Path(name).is_file():
        _refuse_file(Path(name))
    known = [folder.name for folder in run_folders(runs)]
    near = nearest(name, known)
    hints = [f"did you mean {near!r}?"] if near else []
    hints += [f"you have: {', '.join(known)}"] if known else ["seqloom train … makes one"]
    raise UsageError("U008", f"there is no run called {name!r}", help=hints)


def run_folders(runs: Path = RUNS) -> list[Path]:
    """All run folders, oldest first."""
    found = [path.parent for path in runs.glob(f"*/{RECIPE}")] if runs.is_dir() else []
    return sorted(found, key=lambda folder: (folder / RECIPE).stat().st_mtime)


def read_task(folder: Path) -> dict[str, Any]:
    """What the task learned, and the fingerprints of the data it learned from."""
    try:
        state = json.loads((folder / TASK).read_text(encoding="utf-8"))
        if not isinstance(state["codecs"], dict) or not isinstance(state["fingerprint"], dict):
            raise ValueError("it lacks a part")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            "M113",
            f"{folder / TASK} is missing or damaged",
            notes=[str(error)],
            help=["copy the run again, or train it again"],
        ) from error
    return dict(state)


def wrong_task(run: Run, verb: str) -> ModelError:
    """A run of another task than the command is for."""
    task = run.recipe.task["name"]
    return ModelError(
        "M110",
        f"{run.folder} is a {task} run; {verb!r} is for another task",
        help=[f"seqloom {run.task.verb} {run.name} …"],
    )


def must_predict_symbols(run: Run, verb: str) -> None:
    """Refuse runs that do not say which symbol is next."""
    if run.task.form is not Form.NEXT or isinstance(run.model.signature.target, Bits):
        raise wrong_task(run, verb)


def _refuse_file(path: Path) -> None:
    """A file where a run folder is wanted: say what it is."""
    load_arrays(path)
    raise ModelError(
        "M115",
        f"{path} is a file of weights; a run is the folder around it",
        help=[f"give the folder: {path.parent}"],
    )


def unknown_labels(path: Path, unknown: dict[str, list[int]]) -> ModelError:
    """Labels in a file that the model can never answer."""
    label, lines = next(iter(unknown.items()))
    more = f" and {len(unknown) - 1} other labels" if len(unknown) > 1 else ""
    return ModelError(
        "M101",
        f"label {label!r}{more} was not in the training data",
        place=Place(str(path), lines[0]),
        notes=[f"it stands in {len(lines):,} of the examples"],
        help=["--unknown-labels skip   score the other rows"],
    )
