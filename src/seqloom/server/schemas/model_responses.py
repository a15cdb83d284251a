"""Response schemas (pydantic) for models, data sets, comparisons and examples."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from .responses import ExtensibleResponse, OptionField, Problem, Snapshots


class DataSetInfo(BaseModel):
    """An uploaded file."""

    id: str
    name: str
    bytes: int
    created: float
    example: str = Field("", description="The built-in example that it belongs to.")


class DataSetList(BaseModel):
    """All data sets, newest first."""

    datasets: list[DataSetInfo]


class SuggestedTraining(BaseModel):
    """The task and the data settings for training on this file."""

    task: str
    settings: dict[str, Any]


class TokenPreview(BaseModel):
    """A token, and whether it is in the vocabulary."""

    text: str
    known: bool


class RowPreview(BaseModel):
    """A tokenized row."""

    line: int
    symbols: dict[str, list[TokenPreview]] = Field(description="Tokens, by role.")
    more: dict[str, int] = Field(description="Number of tokens that are not listed, by role.")
    label: str | list[str] | None


class DataReport(ExtensibleResponse):
    """The check of a data set."""

    dataset: DataSetInfo
    report: dict[str, Any] = Field(description="As `seqloom check --json` prints it.")
    rows: list[RowPreview] = Field(description="The first 20 rows, tokenized.")
    lengths: dict[str, list[dict[str, Any]]] = Field(description="Histogram of lengths, by role.")
    ok: bool = Field(description="Whether training is possible.")
    reason: str | None = Field(description="Why training is not possible.")
    next: SuggestedTraining
    remedy: dict[str, Any] | None = Field(description="Data settings that would help.")
    tasks: list[str] = Field(description="The three most likely tasks.")


class ModelSummary(BaseModel):
    """Summary of a model."""

    id: str
    task: str
    model: str
    form: str | None
    verb: str
    metric: str | None
    metric_title: str | None
    best: float | None
    best_shown: str | None
    size: int | None = Field(description="Number of parameters.")
    bytes: int
    age: float


class ModelList(BaseModel):
    """All runs that have weights, newest first."""

    models: list[ModelSummary]


class ViewInfo(BaseModel):
    """A view that a model supports."""

    view: str
    title: str
    about: str
    options: list[OptionField]


class MissingView(BaseModel):
    """A view that a model does not support."""

    view: str
    title: str


class ForecastInfo(BaseModel):
    """Forecast horizon and columns of a forecasting model."""

    horizon: int
    period: int
    columns: list[str]
    known: list[str] = Field(
        description="Columns whose future values must be given (known covariates)."
    )


class ModelDetail(ModelSummary):
    """A model in detail."""

    folder: str = Field(description="The run folder, as for the command line.")
    views: list[ViewInfo] = Field(description="In the order of the page.")
    missing: list[MissingView]
    examples: list[str] = Field(description="Example inputs.")
    labels: list[str] | None
    symbols: int | None = Field(description="Vocabulary size.")
    unit: str
    probes: Snapshots
    forecast: ForecastInfo | None
    parameters: list[OptionField] = Field(description="Inference options.")
    snippets: dict[str, str] = Field(description="curl, python and javascript.")


class ModelCard(BaseModel):
    """A model card."""

    markdown: str


class PredictUsage(BaseModel):
    """Size of the input."""

    inputs: int
    symbols: int


class PredictResponse(BaseModel):
    """Predictions, in the order of the inputs."""

    outputs: list[dict[str, Any]] = Field(
        description="As `seqloom predict --json` prints them: input, output, log_prob, "
        "probability, probabilities, nbest. Generated text: input, text, ended, symbols."
    )
    model: str
    timing_ms: float
    usage: PredictUsage


class ViewResponse(ExtensibleResponse):
    """A view: its data, and a caption computed from them."""

    view: str
    version: int
    model: str
    caption: str = Field(description="What it shows, in one sentence.")
    notes: list[str]


class CompareResponse(ExtensibleResponse):
    """A comparison of runs, as `seqloom compare --json` prints it."""

    task: str
    examples: str
    n: int
    runs: list[dict[str, Any]]
    differences: dict[str, list[Any]]
    metric: str
    verdict: str
    notes: list[str]
    where: dict[str, Any] = Field(
        description="By length, by label, and by known and unknown tokens."
    )
    cost: list[dict[str, Any]] = Field(
        description="Of each run: parameters, bytes, training seconds, ms per example."
    )


class RunPrediction(ExtensibleResponse):
    """The output of one run for an input."""

    run: str
    output: dict[str, Any] | None
    surprise: dict[str, Any] | None = Field(description="The view of that name, if supported.")
    next: dict[str, Any] | None = Field(description="The view of that name, if supported.")
    error: Problem | None


class CompareInputsResponse(BaseModel):
    """The outputs of several runs for the same input."""

    text: str
    runs: list[RunPrediction]


class ExampleInfo(BaseModel):
    """A built-in example."""

    name: str
    title: str
    sentence: str = Field(description="What it shows.")
    task: str
    source: Literal["real", "made"]
    about_data: str = Field(description="The source of its data.")
    models: list[str]
    seconds: float | None = Field(
        description="Measured training time of all its models on this machine."
    )


class ExampleList(BaseModel):
    """All examples."""

    examples: list[ExampleInfo]


class ExampleSetup(BaseModel):
    """An example whose data set is stored."""

    dataset: str | None = Field(
        description="The id of its data set; null if the task generates its data."
    )
    task: str
    models: list[str] = Field(description="From simple to large.")
    settings: dict[str, dict[str, Any]] = Field(description="By model, as table.key.")
    common: dict[str, Any] = Field(description="Settings that all models share.")
