"""What the web API answers, field by field: the description at /openapi.json is made of this."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..run_store import State


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
    resume_command: str
    error: Problem | None = Field(description="What ended it, where something has.")
    can_resume: bool
    checkpoint_step: int | None = Field(description="From where it would go on.")
    probes: Probes
    folder: str


class RunCommand(BaseModel):
    """The command that would train a run again."""

    command: str = Field(description="`seqloom train …`; empty where a run was not trained.")
    missing: list[str] = Field(description="Files that it names and that are no longer there.")


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


class Named(BaseModel):
    """What a run is called now."""

    id: str


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


class Estimated(BaseModel):
    """How long a training would take on this machine."""

    seconds: float | None = Field(description="With reading and judging; null where not known.")
    words: str = Field(description="Such as: about 4 min, instant, not known.")
    reason: str = Field(description="Why it is not known.")
    problem: Problem | None = Field(description="The error that training would end with.")


class CodePage(BaseModel):
    """What `seqloom explain CODE` tells."""

    code: str
    title: str
    what: str
    fix: str
    why: str
