"""The tasks, by the names recipes use."""

from ..registry import Registry
from ..task import Task

TASKS: Registry[Task] = Registry(
    "task",
    __name__,
    {
        "language": ".language:Language",
        "tag": ".tag:Tag",
        "classify": ".classify:Classify",
        "forecast": ".forecast:Forecast",
        "translate": ".translate:Translate",
        "algorithms": ".algorithms:Algorithms",
    },
)
