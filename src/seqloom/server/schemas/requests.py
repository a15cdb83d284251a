"""Request schemas (pydantic); /openapi.json is generated from them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str
SettingName = Annotated[str, Field(max_length=100)]
Values = dict[SettingName, Any]
Name = Annotated[str, Field(max_length=200)]
MAX_RUNS, MAX_TOML = 16, 65_536


class RequestBody(BaseModel):
    """A request body; unknown fields are refused, as they may be misspelt."""

    model_config = ConfigDict(extra="forbid")


class PastedText(RequestBody):
    """A typed or pasted text, to be stored as a data set."""

    text: str = Field(description="The content of the file.")
    name: Name = Field("pasted.txt", description="The file name; its extension says its format.")


class RecipeRequest(RequestBody):
    """A recipe: as TOML; or a task, a data set, a model and settings."""

    toml: str | None = Field(None, max_length=MAX_TOML, description="The recipe as TOML.")
    task: Name | None = Field(None, description="A task, or a recipe that is shipped with Seqloom.")
    data: Name | None = Field(None, description="The id of a data set.")
    model: Name | None = Field(None, description="Default: the simplest model for the task.")
    settings: Values = Field(
        {}, description="By table.key, as model.hidden_size, override everything else."
    )


class TrainRequest(RequestBody):
    """Runs to train, in order."""

    recipes: list[RecipeRequest] = Field(min_length=1, max_length=MAX_RUNS)
    names: list[Name] = Field(
        [], max_length=MAX_RUNS, description="Names of the runs: none, or one each."
    )
    file_settings: Values = Field(
        {}, description="Override every recipe: how the file is read, as data.encoding."
    )


class StopRequest(RequestBody):
    """How to stop a run."""

    discard: bool = Field(False, description="Delete the run once it has stopped.")


class RenameRequest(RequestBody):
    """The new name of a run."""

    name: Name = Field(description="Small letters, digits and hyphens; at most 64.")


class ResumeRequest(RequestBody):
    """How to resume a run."""

    settings: Values = Field({}, description="By table.key, as training.learning_rate.")


class PredictRequest(RequestBody):
    """Inputs for a model, with inference options."""

    inputs: list[str] = Field(description="Texts; for a forecasting model, CSV files as text.")
    parameters: Values = Field(
        {},
        description="Search or sampling options: beam, nbest, limit; temperature, top_k, top_p, "
        "stop; horizon. GET /api/v1/models/{model} lists those of a model.",
    )


class GenerateRequest(RequestBody):
    """A prompt to continue."""

    prompt: str = Field("", description="The beginning of the text.")
    parameters: Values = Field(
        {}, description="temperature, top_k, top_p, min_p, limit, seed, stop"
    )


class ViewRequest(BaseModel):
    """Input of a view, a text or time series, and the options of the view."""

    model_config = ConfigDict(extra="allow")

    text: str = Field("", description="The input text.")
    series: str = Field(
        "", description="A CSV file of time series as text, for a forecasting model."
    )
    dataset: Name = Field(
        "", description="The id of a data set of time series, instead of `series`."
    )


class CompareRequest(RequestBody):
    """Runs to compare on the same examples."""

    runs: list[Name] = Field(min_length=2, max_length=MAX_RUNS)
    limit: int | None = Field(None, ge=1, le=100_000, description="Maximum number of examples.")
    beam: int = Field(1, ge=1, le=32)
    length: int = Field(
        0, ge=0, le=1024, description="Maximum number of tokens of an output; 0: as in training."
    )


class CompareInputsRequest(RequestBody):
    """One input for several runs."""

    runs: list[Name] = Field(min_length=1, max_length=MAX_RUNS)
    text: str = Field(description="The input of all runs.")
    parameters: Values = Field({}, description="As for predict.")
