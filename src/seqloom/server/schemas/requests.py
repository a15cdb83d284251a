"""What the web API is asked, field by field: the description at /openapi.json is made of this."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str
SettingName = Annotated[str, Field(max_length=100)]
Values = dict[SettingName, Any]
Name = Annotated[str, Field(max_length=200)]
FEW = 16


class Body(BaseModel):
    """A request; fields that nobody knows are refused, as they may be misspelt."""

    model_config = ConfigDict(extra="forbid")


class Pasted(Body):
    """A text that was typed or pasted, to be kept as a data set."""

    text: str = Field(description="What the file is to hold.")
    name: Name = Field("pasted.txt", description="What the file is called; its end says its form.")


class RecipeAsked(Body):
    """A recipe: whole, as TOML; or a task, a data set, a model and settings."""

    toml: str | None = Field(None, description="The recipe as a file would hold it.")
    task: Name | None = Field(None, description="A task, or a recipe that comes with Seqloom.")
    data: Name | None = Field(None, description="The id of a data set.")
    model: Name | None = Field(None, description="Left out: the simplest that can do the task.")
    settings: Values = Field(
        {}, description="By table.key, as model.hidden, laid over all the rest."
    )


class Started(Body):
    """Trainings to begin, one after another."""

    recipes: list[RecipeAsked] = Field(min_length=1, max_length=FEW)
    names: list[Name] = Field([], description="What the runs are called, if all are named.")
    file_settings: Values = Field(
        {}, description="Laid over every recipe: how the file is read, as data.encoding."
    )


class Stopped(Body):
    """How to stop."""

    discard: bool = Field(False, description="Delete the run once it has stopped.")


class Renamed(Body):
    """What a run is to be called."""

    name: Name = Field(description="Small letters, digits and hyphens; at most 64.")


class Resumed(Body):
    """How to go on."""

    settings: Values = Field({}, description="By table.key, as training.learning_rate.")


class Asked(Body):
    """What a model is asked."""

    inputs: list[str] = Field(description="Texts; of a model of series, CSV files as text.")
    parameters: Values = Field(
        {},
        description="How to search or draw: beam, nbest, limit; temperature, top_k, top_p, stop; "
        "horizon. GET /api/v1/models/{model} lists those of a model.",
    )


class Prompted(Body):
    """A text that is to go on."""

    prompt: str = Field("", description="What the text goes on from.")
    parameters: Values = Field(
        {}, description="temperature, top_k, top_p, min_p, limit, seed, stop"
    )


class Looked(BaseModel):
    """What is looked into: a text, or series; and the options of the view beside it."""

    model_config = ConfigDict(extra="allow")

    text: str = Field("", description="What the model reads.")
    series: str = Field("", description="A file of series as text, for a model that forecasts.")
    dataset: Name = Field("", description="The id of a data set of series, in place of `series`.")


class Compared(Body):
    """Runs to set side by side."""

    runs: list[Name] = Field(min_length=2, max_length=FEW)
    limit: int | None = Field(None, ge=1, le=100_000, description="Only so many examples.")
    beam: int = Field(1, ge=1, le=32)


class ComparedInputs(Body):
    """One input for several runs."""

    runs: list[Name] = Field(min_length=1, max_length=FEW)
    text: str = Field(description="What every run is asked.")
    parameters: Values = Field({}, description="As for predict.")
