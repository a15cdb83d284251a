"""The [training] table: how a model learns."""

import re
import time
from dataclasses import dataclass
from typing import Literal

from ..data.loading.curriculum import Curriculum
from ..errors import UsageError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def worked() -> float:
    """Seconds that this thread had a processor: what it waits for others, or sleeps, is not work.

    It is the thread that takes the steps; those that help it work while it works.
    """
    return time.thread_time()


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model learns.

    Args:
        epochs: How often all training examples are seen.
        steps: The most steps taken; 0 is no limit.
        max_time: The longest training may work, as 90s, 10m or 2h; empty is no limit. Time in which
            its process is stopped, or waits for others that are busy, does not count, nor do
            evaluations.
        batch_size: How many sequences a step learns from.
        window: How many symbols of a continuous text a step reads in each of its batch_size
            streams; the gradient goes back no further.
        batch_tokens: The most symbols of sources and targets together, with their padding, that a
            step learns from, instead of a number of sequences; 0 is off.
        optimizer: The way of descent.
        learning_rate: How far a step goes at first.
        momentum: How much of the last step sgd and rmsprop keep.
        l1: The weight of the sum of all weights' sizes in the loss (lasso).
        l2: The weight of half the sum of all squared weights in the loss (ridge).
        clip: The longest a gradient may be; 0 is off.
        schedule: How the learning rate falls: not at all, in a line or a half cosine to almost
            nothing at the end, with one over the root of the steps after the warm-up, by half each
            time validation does not improve (plateau), or by half after every epoch (halved).
        warmup: The share of training over which the learning rate rises at the start; from 1 on, a
            number of steps.
        average: How slowly a running mean of the weights, which is what is evaluated and kept,
            follows them, as 0.999; 0 is off.
        average_last: Of how many last evaluations the weights are averaged, their mean being what
            is evaluated and kept, as 5; 0 is off.
        patience: After how many evaluations without improvement training stops; 0 is never.
        evaluate_steps: After how many steps the model is evaluated; 0 is once an epoch.
        evaluate_seconds: After how many seconds of learning the model is evaluated as well, or more
            where evaluations would take over a third of all time; 0 is off.
        evaluate_examples: The most validation examples an evaluation during training looks at,
            taken evenly from all of them; of a continuous text, from its beginning.
        choose: The metric of the validation part by which the best step is chosen, as crps where
            bands matter more than a single number; empty is the first that the task measures.
        save_seconds: After how many seconds a checkpoint is written, besides every evaluation.
        curriculum: Whether easy examples come first: none, one level after another (naive), all
            levels mixed from the start, or both (combined). Levels are what a task makes by its
            options, as digits and nesting, or else the shorter of the examples, an eighth more each
            time.
        curriculum_share: The share of training after which naive and combined have reached the last
            level, which is what is learned without a curriculum.
        probes: Of how many validation examples each evaluation keeps what happens inside, to be
            replayed later; 0 keeps none.
        seed: Where randomness starts.
    """

    epochs: int = 10
    steps: int = 0
    max_time: str = ""
    batch_size: int = 64
    window: int = 64
    batch_tokens: int = 0
    optimizer: Literal["adam", "sgd", "adagrad", "rmsprop"] = "adam"
    learning_rate: float = 0.002
    momentum: float = 0.9
    l1: float = 0.0
    l2: float = 0.0
    clip: float = 1.0
    schedule: Literal["constant", "linear", "cosine", "inverse-root", "plateau", "halved"] = (
        "cosine"
    )
    warmup: float = 0.02
    average: float = 0.0
    average_last: int = 0
    patience: int = 0
    evaluate_steps: int = 0
    evaluate_seconds: float = 0.0
    evaluate_examples: int = 2000
    choose: str = ""
    save_seconds: float = 30.0
    curriculum: Curriculum = "none"
    curriculum_share: float = 0.5
    probes: int = 3
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "window", "evaluate_examples"):
            if getattr(self, name) < 1:
                raise UsageError("U010", f"[training] {name} must be at least 1")
        for name in ("learning_rate", "clip", "l1", "l2", "patience", "warmup", "steps") + (
            "batch_tokens",
            "average_last",
            "probes",
        ):
            if getattr(self, name) < 0:
                raise UsageError("U010", f"[training] {name} must not be negative")
        if not 0 < self.curriculum_share <= 1:
            raise UsageError("U010", "[training] curriculum_share must be above 0 and at most 1")
        if self.average and self.average_last:
            raise UsageError("U010", "[training] average and average_last exclude each other")
        self.seconds()

    def seconds(self) -> float:
        """The time budget in seconds; infinite where none is set."""
        if not self.max_time:
            return float("inf")
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", self.max_time.strip())
        if found is None:
            raise UsageError(
                "U010", f"max_time = {self.max_time!r}: expected a time like 90s, 10m or 2h"
            )
        return float(found[1]) * _UNITS[found[2]]
