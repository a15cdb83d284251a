"""The tasks, by the names recipes use."""

from ..config import Registry
from ..task import Task

TASKS: Registry[Task] = Registry(
    "task",
    __name__,
    {
        "language": ".language:Language",
        "tag": ".tag:Tag",
        "classify": ".classify:Classify",
        "forecast": ".forecast:Forecast",
        "series-classify": ".series_classification:SeriesClassify",
        "translate": ".translate:Translate",
        "algorithms": ".algorithmic_task:Algorithms",
        "music": ".music:Music",
    },
)
