"""What the web API answers of models and data, field by field; the rest is in `answers`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from .responses import Open, Opt, Probes, Problem


class DataSetRow(BaseModel):
    """A file that was given to the studio."""

    id: str
    name: str
    bytes: int
    created: float
    example: str = Field("", description="The example that it came with.")


class DataSets(BaseModel):
    """Every data set, the newest first."""

    datasets: list[DataSetRow]


class NextStep(BaseModel):
    """What to train, so that the file is read in the same way."""

    task: str
    settings: dict[str, Any]


class SeenSymbol(BaseModel):
    """One symbol, and whether training will know it."""

    text: str
    known: bool


class SampleRow(BaseModel):
    """A row as a model will see it."""

    line: int
    symbols: dict[str, list[SeenSymbol]] = Field(description="By role.")
    more: dict[str, int] = Field(description="How many symbols are left out, by role.")
    label: str | list[str] | None


class DataReport(Open):
    """What was found in a file."""

    dataset: DataSetRow
    report: dict[str, Any] = Field(description="What `seqloom check --json` prints.")
    rows: list[SampleRow] = Field(description="The first 20, as a model will see them.")
    lengths: dict[str, list[dict[str, Any]]] = Field(description="How many are how long, by role.")
    ok: bool = Field(description="Whether training is open.")
    reason: str | None = Field(description="Why it is closed, in words.")
    next: NextStep
    remedy: dict[str, Any] | None = Field(description="A way of reading that would help.")
    tasks: list[str] = Field(description="The three tasks it is most likely meant for.")


class ModelRow(BaseModel):
    """A model in a list."""

    id: str
    task: str
    model: str
    form: str | None
    verb: str
    metric: str | None
    metric_title: str | None
    best: float | None
    best_shown: str | None
    size: int | None = Field(description="How many numbers it learned.")
    bytes: int
    age: float


class Models(BaseModel):
    """Every run that has weights, the newest first."""

    models: list[ModelRow]


class ViewOffer(BaseModel):
    """A view that a model has."""

    view: str
    title: str
    about: str
    options: list[Opt]


class ViewName(BaseModel):
    """A view that a model lacks."""

    view: str
    title: str


class Ahead(BaseModel):
    """How far a model of series looks ahead, and at which numbers."""

    horizon: int
    period: int
    columns: list[str]
    known: list[str] = Field(description="Columns whose future it has to be told.")


class ModelDetail(ModelRow):
    """All about a model."""

    folder: str = Field(description="Where it is, as the command line calls it.")
    views: list[ViewOffer] = Field(description="In the order in which a page shows them.")
    missing: list[ViewName]
    examples: list[str] = Field(description="Inputs to try.")
    labels: list[str] | None
    symbols: int | None = Field(description="How many symbols it knows.")
    unit: str
    probes: Probes
    forecast: Ahead | None
    parameters: list[Opt] = Field(description="What can be set where it is asked.")
    snippets: dict[str, str] = Field(description="curl, python and javascript.")


class Card(BaseModel):
    """A model in words."""

    markdown: str


class Usage(BaseModel):
    """How much was read."""

    inputs: int
    symbols: int


class Answered(BaseModel):
    """Answers, in the order of the inputs."""

    outputs: list[dict[str, Any]] = Field(
        description="As `seqloom predict --json` prints them: input, output, log_prob, "
        "probability, probabilities, nbest. A text that goes on: input, text, ended, symbols."
    )
    model: str
    timing_ms: float
    usage: Usage


class ViewShown(Open):
    """A view: numbers, and a sentence computed from them."""

    view: str
    version: int
    model: str
    caption: str = Field(description="What there is to see, in one sentence.")
    notes: list[str]


class Comparison(Open):
    """Runs side by side, as `seqloom compare --json` prints them."""

    task: str
    examples: str
    n: int
    runs: list[dict[str, Any]]
    differences: dict[str, list[Any]]
    metric: str
    verdict: str
    notes: list[str]
    where: dict[str, Any] = Field(description="By length, label, and known or unknown symbols.")
    cost: list[dict[str, Any]] = Field(description="Of each run: size, bytes, seconds, ms.")


class RunAnswer(Open):
    """What one run says to an input."""

    run: str
    output: dict[str, Any] | None
    surprise: dict[str, Any] | None = Field(description="The view of that name, if it has it.")
    next: dict[str, Any] | None = Field(description="The view of that name, if it has it.")
    error: Problem | None


class ComparedAnswers(BaseModel):
    """The same input through several runs."""

    text: str
    runs: list[RunAnswer]


class ExampleRow(BaseModel):
    """A first training."""

    name: str
    title: str
    sentence: str = Field(description="What there is to see.")
    task: str
    source: Literal["real", "made"]
    about_data: str = Field(description="Where its data comes from.")
    models: list[str]
    seconds: float | None = Field(description="What all its models took here, once measured.")


class Examples(BaseModel):
    """Every example."""

    examples: list[ExampleRow]


class ExampleChosen(BaseModel):
    """An example whose data is ready."""

    dataset: str | None = Field(description="The id of its data; none: the task makes its own.")
    task: str
    models: list[str] = Field(description="From simple to large.")
    settings: dict[str, dict[str, Any]] = Field(description="By model, as table.key.")
    common: dict[str, Any] = Field(description="Those that all models share.")
