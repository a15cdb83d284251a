"""What the web API answers, field by field: the description at /openapi.json is made of this."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .shelf import State


class Open(BaseModel):
    """An answer that may have further fields."""

    model_config = ConfigDict(extra="allow")


class Place(BaseModel):
    """Where in a file something is wrong."""

    file: str
    line: int | None = None


class Problem(BaseModel):
    """What went wrong (RFC 9457), in the words of the command line."""

    type: str = Field(description="The page of the code.")
    title: str
    status: int
    detail: str = Field(description="The whole text as the command line prints it.")
    code: str = Field(description="Such as D011; `seqloom explain CODE` tells all about it.")
    problem: str = Field(description="One sentence.")
    place: Place | None = None
    notes: list[str] = Field(default=[], description="What else is good to know.")
    help: list[str] = Field(default=[], description="What can be done.")
    errors: list[dict[str, Any]] = Field(
        default=[], description="Every place of the request that does not fit: loc and msg."
    )


class Health(BaseModel):
    """Whether the server lives."""

    status: str = "ok"


class Version(BaseModel):
    """What runs here."""

    seqloom: str
    python: str
    api: str = "v1"


class Running(BaseModel):
    """A training that is under way."""

    id: str
    progress: float | None


class Status(BaseModel):
    """How the studio stands: what the strip at the bottom of every page says."""

    version: str
    runs_dir: str = Field(description="Where the runs are.")
    running: list[Running]
    waiting: list[str] = Field(description="Runs that wait for others before them.")
    loaded: list[str] = Field(description="Models that are in memory, the last used first.")
    local: bool = Field(description="Only this computer can reach the server.")
    token: bool = Field(description="A token is needed.")
    threads: int = Field(description="Processors that a training may use.")
    address: str
    limits: dict[str, float] = Field(description="How much a request may bring, and how long.")


class RunRow(BaseModel):
    """A run in a list."""

    id: str = Field(description="The name of its folder; climb~5-gram is 5-gram in climb.")
    name: str
    task: str
    model: str
    state: State
    progress: float | None = Field(description="The share of training that is done.")
    metric: str | None = Field(description="The most telling metric of its task.")
    metric_title: str | None
    best: float | None = Field(description="The best it had on validation.")
    best_shown: str | None
    curve: list[float] = Field(description="The metric at each evaluation, thinned.")
    age: float = Field(description="Seconds since anything last happened.")
    seconds: float = Field(description="How long it was trained.")
    learned: int | None = Field(description="How many numbers it learned.")
    has_weights: bool


class Runs(BaseModel):
    """Every run, the newest first."""

    runs: list[RunRow]


class Probes(BaseModel):
    """What was asked of a model at its evaluations, for a time-lapse."""

    steps: list[int]
    inputs: list[str]
    views: list[str] = Field(description="The views that were kept of them.")


class JobState(BaseModel):
    """What the process of a training has said, where the studio has started it."""

    log: list[str] = Field(description="The last 20 lines.")
    exit_code: int | None


class RunDetail(RunRow):
    """All about one run."""

    recipe: dict[str, dict[str, Any]] = Field(description="The tables data, task, model, training.")
    toml: str
    start: dict[str, Any] = Field(description="What was said at the start: sizes, versions.")
    evaluations: int
    best_step: int | None
    best_metrics: dict[str, float | None] = Field(description="All metrics at the best step.")
    test: dict[str, Any] | None = Field(description="On the test part, where it was measured.")
    job: JobState | None
    command: str = Field(description="What would train it again.")
    resume_command: str
    error: Problem | None = Field(description="What ended it, where something has.")
    can_resume: bool
    checkpoint_step: int | None = Field(description="From where it would go on.")
    probes: Probes
    folder: str


class Note(BaseModel):
    """A request that was answered."""

    t: float
    method: str
    path: str
    status: int
    ms: float
    model: str | None


class Notes(BaseModel):
    """The last requests, the newest first."""

    requests: list[Note]


class Begun(BaseModel):
    """Trainings that were begun."""

    job: str
    runs: list[str] = Field(description="The ids of the runs, in order.")


class StateNow(BaseModel):
    """How a run stood when it was asked to stop."""

    id: str
    state: str


class Opt(BaseModel):
    """One setting, as a field of a form."""

    name: str
    kind: Literal["whole", "number", "truth", "text", "choice"]
    choices: list[str] = Field(description="The words to choose from, where only some will do.")
    default: bool | int | float | str | None
    help: str


class TaskRow(BaseModel):
    """A task: what models are trained for."""

    name: str
    summary: str
    verb: str = Field(description="The command that uses a model of this task.")
    form: str
    roles: list[str] = Field(description="The columns of its file; none: it makes its own data.")
    headline: str = Field(description="The metric that chooses the best step.")
    headline_title: str
    options: list[Opt]


class Tasks(BaseModel):
    """Every task."""

    tasks: list[TaskRow]


class ModelChoice(BaseModel):
    """A model that can do a task."""

    name: str
    summary: str
    is_baseline: bool = Field(description="Others are only measured by it.")
    learns: Literal["counting", "passes", "gradients"]
    options: list[Opt]


class ModelChoices(BaseModel):
    """The models of a task, from simple to large, and all that can be set."""

    models: list[ModelChoice]
    training: list[Opt]
    data: list[Opt]
    recipes: list[str] = Field(description="Recipes for this task that come with Seqloom.")


class CheckedRecipe(BaseModel):
    """A recipe that is right, in every form."""

    toml: str = Field(description="With every default written out.")
    short_toml: str = Field(description="Only what differs from the defaults.")
    command: str = Field(description="The command that does the same.")
    problems: list[str]
    tables: dict[str, dict[str, Any]]


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


class CodePage(BaseModel):
    """What `seqloom explain CODE` tells."""

    code: str
    title: str
    what: str
    fix: str
    why: str


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
