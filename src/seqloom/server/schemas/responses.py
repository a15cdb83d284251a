"""Response schemas (pydantic); /openapi.json is generated from them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..run_store import RunState


class ExtensibleResponse(BaseModel):
    """A response that may have additional fields."""

    model_config = ConfigDict(extra="allow")


class FileLocation(BaseModel):
    """The location of an error in a file."""

    file: str
    line: int | None = None


class Problem(BaseModel):
    """Problem details of an error (RFC 9457), with the message of the command line."""

    type: str = Field(description="The help page of the error code.")
    title: str
    status: int
    detail: str = Field(description="The full message as the command line prints it.")
    code: str = Field(description="Error code, such as D011; see `seqloom explain CODE`.")
    problem: str = Field(description="The error in one sentence.")
    place: FileLocation | None = None
    notes: list[str] = Field(default=[], description="Further information.")
    help: list[str] = Field(default=[], description="Suggested fixes.")
    errors: list[dict[str, Any]] = Field(
        default=[], description="Every invalid field of the request: loc and msg."
    )


class Health(BaseModel):
    """Liveness and readiness."""

    status: str = "ok"


class VersionInfo(BaseModel):
    """Versions of Seqloom, Python and the API."""

    seqloom: str
    python: str
    api: str = "v1"


class RunningTraining(BaseModel):
    """A run that is training."""

    id: str
    progress: float | None


class ServerStatus(BaseModel):
    """Server status, as in the status bar of every page."""

    version: str
    runs_dir: str = Field(description="The folder of runs.")
    running: list[RunningTraining]
    waiting: list[str] = Field(description="Queued runs.")
    loaded: list[str] = Field(description="Loaded models, most recently used first.")
    local: bool = Field(description="Whether only this computer can reach the server.")
    token: bool = Field(description="Whether a token is required.")
    threads: int = Field(description="CPU cores available for training.")
    address: str
    limits: dict[str, float] = Field(description="Limits on requests.")


class RunSummary(BaseModel):
    """Summary of a run."""

    id: str = Field(description="The name of its folder; climb~5-gram is 5-gram in climb.")
    name: str
    task: str
    model: str
    state: RunState
    progress: float | None = Field(description="Fraction of training that is done.")
    metric: str | None = Field(description="The main metric of its task.")
    metric_title: str | None
    best: float | None = Field(description="Best validation value of the metric.")
    best_shown: str | None
    curve: list[float] = Field(description="The metric at each evaluation, downsampled.")
    age: float = Field(description="Seconds since the last event.")
    seconds: float = Field(description="Training time.")
    learned: int | None = Field(description="Number of parameters.")
    has_weights: bool


class RunList(BaseModel):
    """All runs, newest first."""

    runs: list[RunSummary]


class Snapshots(BaseModel):
    """Training snapshots: views of fixed inputs, saved at each evaluation."""

    steps: list[int]
    inputs: list[str]
    views: list[str] = Field(description="The views that were saved of each input.")


class JobOutput(BaseModel):
    """Log and exit code of a training process that the studio has started."""

    log: list[str] = Field(description="The last 20 lines.")
    exit_code: int | None
    runs: list[str] = Field(description="The runs that are trained one after another, in order.")


class RunDetail(RunSummary):
    """A run in detail."""

    recipe: dict[str, dict[str, Any]] = Field(description="The tables data, task, model, training.")
    toml: str
    start: dict[str, Any] = Field(description="The start event: sizes, versions.")
    evaluations: int
    best_step: int | None
    best_metrics: dict[str, float | None] = Field(description="All metrics at the best step.")
    test: dict[str, Any] | None = Field(description="Metrics on the test set, if evaluated.")
    job: JobOutput | None
    resume_command: str
    error: Problem | None = Field(description="The error that ended it.")
    can_resume: bool
    checkpoint_step: int | None = Field(description="The step of the last checkpoint.")
    probes: Snapshots
    folder: str


class RunCommand(BaseModel):
    """The command that trains a run again."""

    command: str = Field(description="`seqloom train …`; empty if the run was not trained.")
    missing: list[str] = Field(description="Files of the command that no longer exist.")


class LoggedRequest(BaseModel):
    """A logged request."""

    t: float
    method: str
    path: str
    status: int
    ms: float
    model: str | None


class LoggedRequests(BaseModel):
    """The last requests, newest first."""

    requests: list[LoggedRequest]


class StartedRuns(BaseModel):
    """Runs that were started."""

    job: str
    runs: list[str] = Field(description="The ids of the runs, in order.")


class StopResponse(BaseModel):
    """The state of a run when it was stopped."""

    id: str
    state: str


class RenameResponse(BaseModel):
    """The new id of a renamed run."""

    id: str


class OptionField(BaseModel):
    """An option as a form field."""

    name: str
    kind: Literal["whole", "number", "truth", "text", "choice"]
    choices: list[str] = Field(description="The allowed values, if only some are.")
    default: bool | int | float | str | list[int | str] | None
    help: str


class TaskInfo(BaseModel):
    """A task that models can be trained for."""

    name: str
    summary: str
    verb: str = Field(description="The inference command for models of this task.")
    form: str
    roles: list[str] = Field(description="The columns of its file; none if its data is synthetic.")
    headline: str = Field(description="The metric that selects the best checkpoint.")
    headline_title: str
    options: list[OptionField]


class TaskList(BaseModel):
    """All tasks."""

    tasks: list[TaskInfo]


class TrainableModel(BaseModel):
    """A model that can be trained for a task."""

    name: str
    summary: str
    is_baseline: bool = Field(description="Whether it is a baseline for other models.")
    learns: Literal["counting", "passes", "gradients"]
    learns_by: str = Field(description="The training method, such as: EM (Baum-Welch).")
    options: list[OptionField]


class TrainableModels(BaseModel):
    """The models of a task, from simple to large, and all options."""

    models: list[TrainableModel]
    training: list[OptionField]
    data: list[OptionField]
    recipes: list[str] = Field(description="Recipes for this task that are shipped with Seqloom.")


class CheckedRecipe(BaseModel):
    """A valid recipe."""

    toml: str = Field(description="With every default written out.")
    short_toml: str = Field(description="Only what differs from the defaults.")
    command: str = Field(description="The equivalent command.")
    problems: list[str]
    tables: dict[str, dict[str, Any]]


class TrainingTimeEstimate(BaseModel):
    """Estimated training time on this machine."""

    seconds: float | None = Field(
        description="Including data loading and evaluation; null if unknown."
    )
    words: str = Field(description="Such as: about 4 min, instant, not known.")
    reason: str = Field(description="Why it is unknown.")
    problem: Problem | None = Field(description="The error that training would raise.")


class ErrorCodePage(BaseModel):
    """The explanation of an error code (`seqloom explain CODE`)."""

    code: str
    title: str
    what: str
    fix: str
    why: str
