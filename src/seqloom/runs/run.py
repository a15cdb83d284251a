"""Run: a trained model with its task and recipe, and the methods to use it.

A run is a folder:

recipe.toml              every setting, defaults filled in
task.json                vocabularies and label sets, and fingerprints of the data files
split.safetensors        hashes of the training, validation and test examples
weights.safetensors      the best weights so far
checkpoint/              the state from which training resumes exactly
events.jsonl             the event log of training, one JSON object per line
probes/                  training snapshots: views of a few validation examples at some steps
card.md                  the model card
model.py                 the user's own code, of a model or task that a Python file has
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import Batch
from ..config import as_strings
from ..data.music.piano_roll import Frame, format_frames
from ..data.series.schema import TimeSeries
from ..data.text.files import is_file
from ..decoding import Ensemble, Sampling, SamplingDecoder
from ..errors import MAX_NAME, DataError, ModelError, Place, UsageError, nearest
from ..evaluation.error_analysis import ErrorAnalysis, analyse_errors
from ..evaluation.evaluate import Evaluation, ExamplePrediction, evaluate, predict
from ..inference.compose import Composition, CompositionOptions, compose
from ..inference.constraints import constrained
from ..inference.forecast import (
    ForecastRequest,
    SeriesForecast,
    forecast_series,
    select_series,
    series_from_rows,
    truncate_at_origin,
)
from ..inference.generate import TextChunk, stream_generate
from ..inference.score import Score, score
from ..inference.stream import Stream
from ..inspection.attribution import AttributionOptions, TargetOptions, attribute_question
from ..inspection.context import InspectedModel
from ..inspection.gradient_flow.gate_statistics import gate_statistics
from ..inspection.inspector import AvailableViews, available_views, inspect
from ..inspection.options import InspectionOptions
from ..inspection.training_snapshots import load_snapshot, saved_snapshots
from ..model import Generator, Model, Search
from ..recipe import Recipe
from ..signature import Bits, Form
from ..task import Task
from ..tasks.music import Music
from ..training.checkpoints import load_arrays
from ..training.events import read_events
from ..views import AttributionView, GateStatisticsView, GradientFlowView, View
from .code import run_recipe
from .compatibility import require_compatible
from .file_predictions import FilePredictions, input_file, predict_file
from .names import RECIPE, RUNS, run_argument
from .split_record import parts_of_run, record_of_run, refuse_split_options
from .splits import Parts, with_known_labels

WEIGHTS, CHECKPOINT = Path("weights.safetensors"), Path("checkpoint") / "last.safetensors"
TASK, EVENTS, CARD = "task.json", "events.jsonl", "card.md"


@dataclass(frozen=True)
class Run:
    """A trained model with everything needed to use it."""

    folder: Path
    recipe: Recipe
    task: Task
    model: Model
    parts: Parts | None = None  # the data, if the run was trained in this process
    others: tuple[Path, ...] = ()  # the folders of the other runs of an ensemble

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.folder.name

    def events(self) -> list[dict[str, Any]]:
        """The event log of training."""
        return read_events(self.folder / EVENTS)

    def predict(self, inputs: Sequence[str], *, beam: int = 1, limit: int = 0) -> list[Any]:
        """The model's predictions, decoded: labels, tags or texts; a string is one input.

        `limit` is the maximum number of tokens of an output; 0 follows from training.
        """
        return [one.value for one in self.predictions(inputs, Search(beam=beam, limit=limit))]

    def predictions(
        self,
        inputs: Sequence[str],
        how: Search | SamplingDecoder,
        tell: Callable[[int], None] = lambda done: None,
        *,
        tokens: int = 0,
    ) -> list[ExamplePrediction]:
        """Predictions with log-probabilities, and the n-best list or several samples if requested.

        `tokens` limits the tokens of a batch, padding included; 0 means batches of 256 inputs.
        """
        inputs = as_strings(inputs)
        for number, text in enumerate(inputs, start=1):
            if not text.strip() and self.task.form is not Form.NEXT:
                raise DataError("D023", f"input {number} is empty", help=["leave blank lines out"])
        examples = [self.task.question(text) for text in inputs]
        return predict(self.model, self.task, examples, how, tell, tokens)

    def predict_file(
        self,
        path: str | Path,
        how: Search | SamplingDecoder | None = None,
        *,
        settings: dict[str, Any] | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> FilePredictions:
        """Predictions for the inputs of a file, which has any format that the task learns from.

        `lines()` and `save()` of the result join them to the rows of the file.
        """
        default = {} if self.task.reads_series else {"data.format": "auto"}
        data = self.recipe.with_settings(default | (settings or {})).build_data()
        file = input_file(self.task, Path(path), data)
        return predict_file(self.model, self.task, file, how or Search(), tell)

    def constrained(
        self, search: Search, *, allow: Collection[str] = (), prefix: str = ""
    ) -> Search:
        """Constrained decoding: a search limited to the tokens of `allow`, with a forced prefix."""
        return constrained(self.task, search, as_strings(allow or ()), prefix)

    def ensemble(self, *others: "Run") -> "Run":
        """An ensemble of this run and others, which averages their token probabilities."""
        require_compatible([self, *others])
        models = [run.model for run in (self, *others)]
        folders = tuple(run.folder for run in others)
        return replace(self, model=Ensemble(models), others=folders) if others else self

    def generate(
        self, prompt: str = "", sampling: Sampling | None = None, *, stop: Sequence[str] = ()
    ) -> str:
        """Continue a prompt until the end token, a stop text or the length limit."""
        return "".join(chunk.text for chunk in self.stream_generate([prompt], sampling, stop=stop))

    def stream_generate(
        self,
        prompts: Sequence[str] = ("",),
        sampling: Sampling | None = None,
        *,
        stop: Sequence[str] = (),
        streams: Sequence[np.random.Generator] = (),
        allow: Collection[str] = (),
    ) -> Iterator[TextChunk]:
        """Continue several prompts in one batch, yielding a chunk of text for each sampled token.

        A string is one prompt. Each prompt has its own random generator, `sampling.rng(row)` or one
        of `streams`, so that its continuation does not depend on the rest of the batch. With
        `allow`, only the tokens of these texts are sampled.
        """
        require_language_model(self, "generate")
        if not isinstance(self.model, Generator):
            raise ModelError("M120", f"{self.recipe.model['name']!r} cannot generate")
        only = self.constrained(Search(), allow=allow).allow
        how = sampling or Sampling()
        starts = as_strings(prompts)
        return stream_generate(
            self.model, self.task, starts, how, as_strings(stop or ()), streams, only
        )

    def compose(
        self,
        composing: CompositionOptions | None = None,
        *,
        prompt: str | Path | Sequence[Frame] = (),
        prompt_steps: int | None = None,
    ) -> Composition:
        """Generate music from a prompt: frames, or the first piece of a file.

        `prompt_steps` limits the prompt to its first steps.
        """
        task = self.music_task()
        if not isinstance(self.model, Generator):
            raise ModelError("M120", f"{self.recipe.model['name']!r} cannot generate")
        if isinstance(prompt, str | Path):
            prompt = task.read(Path(prompt), self.recipe.build_data())[0].frames
        frames = task.question(format_frames(prompt)).frames[:prompt_steps]
        return compose(self.model, task, composing or CompositionOptions(), frames)

    def music_task(self) -> Music:
        """The task; an error unless it is music."""
        if not isinstance(self.task, Music):
            raise wrong_task(self, "compose")
        return self.task

    def score(self, texts: Sequence[str]) -> list[Score]:
        """The log-probability of each text under the model, token by token."""
        require_language_model(self, "score")
        return score(self.model, self.task, as_strings(texts))

    def stream(self) -> Stream:
        """A stream: reads one sequence value by value, with a prediction after each."""
        return Stream(self.model, self.task)

    def forecast(
        self,
        what: str | Path | Sequence[Any],
        request: ForecastRequest | None = None,
        *,
        settings: dict[str, Any] | None = None,
        tell: Callable[[int], None] = lambda done: None,
        **more: Any,
    ) -> list[SeriesForecast]:
        """Forecast the series of a file, or one given as numbers or rows of numbers.

        Options by keyword: horizon, samples, seed, hold_out, series; see `ForecastRequest`.
        """
        if self.task.form is not Form.FORECAST:
            raise wrong_task(self, "forecast")
        if "series" in more:
            more["series"] = tuple(as_strings(more["series"] or ()))
        request = replace(request or ForecastRequest(), **more)
        series = self._series(what, settings or {})
        return forecast_series(self.model, self.task, series, request, self.name, tell)

    def evaluate(
        self,
        path: str | Path = "",
        *,
        search: Search | None = None,
        skip_unknown_labels: bool = True,
        settings: dict[str, Any] | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> Evaluation:
        """Metrics on a file, or on the run's own test set.

        Examples whose label is not in the training data are left out, and `left_out` counts them;
        with `skip_unknown_labels=False` they are an error.
        """
        refuse_split_options(settings or {}, self.name)
        data = self.recipe.with_settings(settings or {}).build_data()
        examples = self.task.read(Path(path), data) if path else self.own_parts(settings).test
        place = Path(path or data.test or data.train)
        known = judged_examples(self.task, examples, place, skip_unknown_labels)
        if not known:
            raise DataError("D022", f"{path or 'the test part'} has no examples to evaluate")
        found = self.evaluate_examples(known, search, tell)
        return replace(found, left_out=len(examples) - len(known))

    def evaluate_examples(
        self,
        examples: Sequence[Any],
        search: Search | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> Evaluation:
        """Metrics on these examples; `trained_on` tells which of them the run was trained on."""
        found = evaluate(self.model, self.task, examples, search or Search(), tell)
        return replace(found, trained_on=self._trained_on(found.examples))

    def own_parts(self, settings: dict[str, Any] | None = None) -> Parts:
        """The run's training, validation and test examples, split as when it was trained.

        `settings` say how to read its data files now. Examples that came to them since are in the
        training part.
        """
        if self.parts is not None and not settings:
            return self.parts
        data = self.recipe.with_settings(settings or {}).build_data()
        return parts_of_run(self.folder, self.task, data, read_task(self.folder)["fingerprint"])

    def _trained_on(self, examples: Sequence[Any]) -> tuple[int, ...]:
        """The positions of examples that this run, or another of its ensemble, was trained on."""
        known: set[int] = set()
        for folder in (self.folder, *self.others):
            data = (
                Recipe.read(folder / RECIPE).build_data()
                if self.others
                else self.recipe.build_data()
            )
            before = read_task(folder)["fingerprint"]
            if (record := record_of_run(folder, self.task, data, before)) is not None:
                known.update(record.trained_on(self.task, examples))
        return tuple(sorted(known))

    def mistakes(
        self,
        path: str | Path = "",
        *,
        search: Search | None = None,
        skip_unknown_labels: bool = True,
        settings: dict[str, Any] | None = None,
    ) -> ErrorAnalysis:
        """Error analysis on a file or the run's own test set: wrong predictions by confidence."""
        search = replace(search or Search(), probabilities=True)
        score = self.evaluate(
            path, search=search, skip_unknown_labels=skip_unknown_labels, settings=settings
        )
        return analyse_errors(self.task, score)

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
        """A view of the model's internals for one input: attention, activations, beam search, ….

        `views()` lists the available views; see `InspectionOptions` for their options. Forecasting
        models read a file, some series of a file, or numbers as a text. With `step`, the view comes
        from the training snapshot of that step, for one of the inputs of `snapshots()`.
        """
        chosen = InspectionOptions.of({"view": view, **options})
        if step is not None:
            return load_snapshot(self.folder, self.name, text, chosen, step)
        question = self._question(text, file)
        clip = self.recipe.build_training().max_grad_norm
        names = as_strings(series or ())
        return inspect(self._inspected, question, chosen, series=names, clip=clip)

    def views(self) -> AvailableViews:
        """The views available for this run, with their options, and those that are not."""
        return available_views(self._inspected)

    def snapshots(self) -> dict[str, Any]:
        """The training snapshots: the `steps` and the `inputs` for which views were saved."""
        return saved_snapshots(self.folder)

    @cached_property
    def _inspected(self) -> InspectedModel:
        return InspectedModel(self.model, self.task, self.name)

    def attribute(
        self,
        text: str = "",
        *,
        file: str | Path = "",
        series: Sequence[str] = (),
        options: AttributionOptions | None = None,
        target: TargetOptions | None = None,
    ) -> AttributionView:
        """Attribution: how much each input token, or observation, contributed to a prediction.

        `options` chooses the attribution method, `target` the output that is explained. Forecasting
        models read a file, some series of a file, or numbers as a text.
        """
        if not text.strip() and not file:
            raise DataError(
                "D023", "the text is empty", help=["there must be something to explain"]
            )
        question = self._question(text, file)
        if series and not file:
            raise UsageError(
                "U316", "series are chosen from a file, and there is none", help=["give a FILE"]
            )
        question = select_series(question, series) if file else question
        return attribute_question(
            self.model, self.task, question, self.name, how=options, about=target or TargetOptions()
        )

    def gradient_flow(
        self,
        texts: Sequence[str] = (),
        *,
        file: str | Path = "",
        layer: int = 0,
        clip: float | None = None,
    ) -> GradientFlowView:
        """Gradient flow through time in a recurrent layer, for texts or a file; layer 0 is the top.

        `beside` of the view joins several runs in one picture. See `GradientFlow` for what is
        measured.
        """
        # imported here, as it imports torch
        from ..inspection.gradient_flow.models import MAX_SEQUENCES, gradient_flow_of_model  # noqa: PLC0415

        batches = self._single_batches(texts, file)
        limit = self.recipe.build_training().max_grad_norm if clip is None else clip
        found = gradient_flow_of_model(self.model, batches, self.name, clip=limit, layer=layer)
        count = f"the first {MAX_SEQUENCES}" if len(batches) > MAX_SEQUENCES else str(len(batches))
        return GradientFlowView([found], [f"the median of {count} sequences"] * (len(batches) > 1))

    def gate_statistics(
        self, texts: Sequence[str] = (), *, file: str | Path = ""
    ) -> GateStatisticsView:
        """Gate statistics: how often each gate is saturated (open or closed)."""
        return gate_statistics(self.model, self._single_batches(texts, file), self.name)

    def _single_batches(self, texts: Sequence[str], file: str | Path) -> list[Batch]:
        """Batches of one example: those of a file, or texts with the model's own predictions."""
        if file:
            examples = self.task.read(Path(file), self.recipe.build_data())
            examples = with_known_labels(self.task, examples)
        else:
            texts = as_strings(texts)
            is_next = self.task.form is Form.NEXT
            targets = [""] * len(texts) if is_next else self.predict(texts)
            pairs = zip(map(self.task.question, texts), targets, strict=True)
            examples = [self.task.with_target(question, target) for question, target in pairs]
        return [self.task.batch([example]) for example in examples]

    def _question(self, text: str, file: str | Path) -> Any:
        """The input of a view: an example without its target; for forecasts, a list of series."""
        is_ahead = self.task.form is Form.FORECAST
        if (is_ahead and bool(text) == bool(file)) or (file and not is_ahead):
            what = "series" if is_ahead else "texts"
            help = "give a FILE of series, or numbers as a text" if is_ahead else '--text "…"'
            raise UsageError("U316", f"{self.name} reads {what}", help=[help])
        if not (text.strip() or file) and self.task.form is not Form.NEXT:
            raise DataError("D023", "the text is empty", help=["give it something to read"])
        if file:
            return self._series(file, {})
        question = self.task.question(text)
        return [truncate_at_origin(question)] if is_ahead else question

    def _series(
        self, what: str | Path | Sequence[Any], settings: dict[str, Any]
    ) -> list[TimeSeries]:
        """The series of a file, or one given as numbers."""
        if not isinstance(what, str | Path):
            return [series_from_rows(self.task, what)]
        data = self.recipe.with_settings(settings).build_data()
        return [window.series for window in self.task.read(Path(what), data)]


def load(folder: str | Path) -> Run:
    """Load a trained run from its folder, or by its name in `runs/`."""
    folder = find(str(folder))
    recipe = run_recipe(folder)
    task = recipe.build_task()
    restore_task(task, folder, read_task(folder))
    with recipe.model_kind().kept_random_state():  # a program goes on with its random numbers
        model = recipe.build_model(task.signature())
    model.restore(load_arrays(folder / WEIGHTS).arrays)
    return Run(folder, recipe, task, model)


def find(name: str, runs: Path = RUNS) -> Path:
    """The folder of a run: a path, or a name in the runs folder."""
    for folder in (Path(name), runs / name):
        if is_file(folder / RECIPE):
            return folder
    if is_file(name):
        _refuse_file(Path(name))
    known = [folder.name for folder in run_folders(runs)]
    near = nearest(name, known)
    hints = [f"did you mean {near!r}?"] if near else []
    hints += [f"you have: {', '.join(known)}"] if known else ["seqloom train … makes one"]
    raise UsageError("U008", f"there is no run called {name[:MAX_NAME]!r}", help=hints)


def run_folders(runs: Path = RUNS) -> list[Path]:
    """All run folders, oldest first; an error if their folder is a file."""
    if is_file(runs):
        raise UsageError(
            "U036",
            f"{runs} is a file, not a folder of runs",
            help=["--runs-dir FOLDER   or SEQLOOM_RUNS"],
        )
    found = [path.parent for path in runs.glob(f"*/{RECIPE}")] if runs.is_dir() else []
    return sorted(found, key=lambda folder: _changed(folder / RECIPE))


def _changed(path: Path) -> float:
    """The modification time of a file; 0 if it has been deleted meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_task(folder: Path) -> dict[str, Any]:
    """The state of the task (vocabularies, label sets) and the fingerprints of its data."""
    try:
        state = json.loads((folder / TASK).read_text(encoding="utf-8"))
        if not isinstance(state["codecs"], dict) or not isinstance(state["fingerprint"], dict):
            raise ValueError("it lacks a part")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged_task(folder, error) from error
    return dict(state)


def restore_task(task: Task, folder: Path, saved: Mapping[str, Any]) -> None:
    """Restore the codecs of a task from what `read_task` has read; a file may hold anything."""
    try:
        task.restore(saved["codecs"])
    except ValueError as error:
        raise _damaged_task(folder, error) from error


def _damaged_task(folder: Path, error: Exception) -> ModelError:
    return ModelError(
        "M113",
        f"{folder / TASK} is missing or damaged",
        notes=[str(error)],
        help=["copy the run again, or train it again"],
    )


def wrong_task(run: Run, verb: str) -> ModelError:
    """The error for a run whose task a command does not support."""
    task = run.recipe.task["name"]
    inputs = "" if run.task.form is Form.NEXT else " …"
    return ModelError(
        "M110",
        f"{run.folder} is a {task} run; {verb!r} is for another task",
        help=[f"seqloom {run.task.verb} {run_argument(run.folder)}{inputs}"],
    )


def require_language_model(run: Run, verb: str) -> None:
    """Raise an error unless the run is a language model over tokens."""
    if run.task.form is not Form.NEXT or isinstance(run.model.signature.target, Bits):
        raise wrong_task(run, verb)


def _refuse_file(path: Path) -> None:
    """Raise an error for a file where a run folder is expected."""
    what = "a file of weights; a run is the folder around it"
    try:
        load_arrays(path)
    except ModelError as error:
        if error.code != "M113" or path.suffix == WEIGHTS.suffix:
            raise
        what = f"a file; a run is a folder with a {RECIPE}"
    has_run = (path.parent / RECIPE).is_file()
    help = f"give the folder: {path.parent}" if has_run else "seqloom runs   lists the runs"
    raise ModelError("M115", f"{path} is {what}", help=[help])


def judged_examples(
    task: Task, examples: Sequence[Any], place: Path | None, skip_unknown_labels: bool
) -> Sequence[Any]:
    """The examples whose labels are in the training data; an error if none is, or if asked for."""
    known = with_known_labels(task, examples)
    if len(known) < len(examples) and not (skip_unknown_labels and known):
        raise _unknown_labels(place or Path(), task.unknown_labels(examples), bool(known))
    return known


def _unknown_labels(path: Path, unknown: dict[str, list[int]], has_others: bool) -> ModelError:
    """The error for labels that are not in the training data."""
    label, lines = next(iter(unknown.items()))
    more = f" and {len(unknown) - 1} other labels" if len(unknown) > 1 else ""
    return ModelError(
        "M101",
        f"label {label!r}{more} was not in the training data",
        place=Place(str(path), lines[0]),
        notes=[f"it occurs in {len(lines):,} of the examples"],
        help=["--unknown-labels skip   score the other rows"]
        if has_others
        else ["train again with examples of these labels, or correct them in the file"],
    )
