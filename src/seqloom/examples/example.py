"""What an example is: data that is found or made, and the models to train on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..recipe import Recipe
from ..training.checkpoints import write_whole

Origin = Literal["real", "made"]


@dataclass(frozen=True)
class Material:
    """Data for an example: where it comes from, in a sentence, and its content as a file.

    What is real may be missing on a machine; what is made never is.
    """

    source: Origin
    sentence: str
    content: Callable[[], str]
    is_there: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Example:
    """A first training that takes about a minute for each of its models, from simple to large.

    Args:
        name: what it is called in commands and addresses.
        title: what it does.
        sentence: what there is to see.
        task: its task.
        models: by name the settings of each model, as `model.hidden`; a baseline is the first.
        settings: those of all models, as `training.epochs`.
        file: what its data file is called; empty where the task makes its own examples.
        materials: the data; the first that is there is taken.
    """

    name: str
    title: str
    sentence: str
    task: str
    models: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    materials: tuple[Material, ...] = ()

    def material(self) -> Material | None:
        """The data: real where it is at hand, else made by rules; None where the task makes it."""
        return next((one for one in self.materials if one.is_there()), None)

    def write(self, folder: Path) -> Path | None:
        """Write the data file into a folder; None where the task makes its own examples."""
        material = self.material()
        if material is None:
            return None
        path = folder / self.file
        write_whole(path, material.content().encode())
        return path

    def settings_of(self, model: str) -> dict[str, Any]:
        """Every setting that differs from the defaults, for one of the models."""
        return {**self.settings, **self.models[model]}

    def recipe(self, model: str, file: Path | None) -> Recipe:
        """What is trained."""
        data = {"train": str(file)} if file else {}
        recipe = Recipe(data=data, task={"name": self.task}, model={"name": model})
        return recipe.with_settings(self.settings_of(model))

    def as_dict(self) -> dict[str, Any]:
        """The example for machines."""
        material = self.material()
        return {
            "name": self.name,
            "title": self.title,
            "sentence": self.sentence,
            "task": self.task,
            "source": material.source if material else "made",
            "about_data": material.sentence if material else "The task draws its own questions.",
            "models": list(self.models),
            "settings": {model: self.settings_of(model) for model in self.models},
        }
