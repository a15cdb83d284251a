"""Example: a small dataset, real or synthetic, and the models to train on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..recipe import Recipe
from ..training.files import write_whole

Origin = Literal["real", "made"]


@dataclass(frozen=True)
class ExampleData:
    """The data of an example: its source, a description and a function that gives its content.

    Real data may be missing on a machine; synthetic data is always available.
    """

    source: Origin
    sentence: str
    content: Callable[[], str]
    is_there: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Example:
    """A dataset and the models to train on it, from simple to large.

    Args:
        name: Name in commands and URLs.
        title: What the model does.
        sentence: What the example shows.
        task: Name of the task.
        models: The settings of each model by name, as `model.hidden_size`; the baseline is first.
        settings: Settings of all models, as `training.epochs`.
        file: Name of the data file; empty if the task generates its examples.
        materials: Data in order of preference; the first that is available is used.
    """

    name: str
    title: str
    sentence: str
    task: str
    models: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    materials: tuple[ExampleData, ...] = ()

    def material(self) -> ExampleData | None:
        """The data: real if available, else synthetic; None if the task generates its examples."""
        return next((one for one in self.materials if one.is_there()), None)

    def write(self, folder: Path) -> Path | None:
        """Write the data file into a folder; None if the task generates its examples."""
        material = self.material()
        if material is None:
            return None
        path = folder / self.file
        write_whole(path, material.content().encode())
        return path

    def settings_of(self, model: str) -> dict[str, Any]:
        """The non-default settings of one of the models."""
        return {**self.settings, **self.models[model]}

    def recipe(self, model: str, file: Path | None) -> Recipe:
        """The recipe for one of the models."""
        data = {"train": str(file)} if file else {}
        recipe = Recipe(data=data, task={"name": self.task}, model={"name": model})
        return recipe.with_settings(self.settings_of(model))

    def as_dict(self) -> dict[str, Any]:
        """The example as JSON."""
        material = self.material()
        return {
            "name": self.name,
            "title": self.title,
            "sentence": self.sentence,
            "task": self.task,
            "source": material.source if material else "made",
            "about_data": material.sentence if material else "The task generates its examples.",
            "models": list(self.models),
            "settings": {model: self.settings_of(model) for model in self.models},
        }
