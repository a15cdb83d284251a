"""The [training] table of a recipe: hyperparameters of training."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from ..data.loading.curriculum import CurriculumName
from ..errors import UsageError
from ..metrics import METRICS
from .stopwatch import Clock

USUAL_EPOCHS, ENOUGH_STEPS = 10, 500
# At least so many steps between two evaluations, where epochs are as many as needed.
EVALUATION_STEPS = 25
PATIENCE = 10, 10 * EVALUATION_STEPS  # evaluations and steps without improvement, by default

LARGEST = 2**31 - 1
LARGEST_SEED = 2**32 - 1  # that NumPy takes
# The least value of an option, and the largest; shares are below 1.
BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("batch_size", "evaluate_examples"), (1, LARGEST)),
    **dict.fromkeys(("bptt", "epochs", "max_steps", "batch_tokens", "warmup_steps"), (0, LARGEST)),
    "patience": (-1, LARGEST),
    **dict.fromkeys(("average_checkpoints", "evaluate_steps", "probes"), (0, LARGEST)),
    **dict.fromkeys(("learning_rate", "l1", "l2", "max_grad_norm"), (0, math.inf)),
    **dict.fromkeys(("evaluate_seconds", "save_seconds"), (0, math.inf)),
    **dict.fromkeys(("momentum", "ema_decay", "warmup_ratio"), (0, 1)),
    "seed": (0, LARGEST_SEED),
}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model is trained.

    Args:
        epochs: The number of passes over the training data. 0 is 10, or as many more as gradient
            descent needs to take 500 steps where there are few examples; such short epochs are
            evaluated every 25 steps or more.
        max_steps: The maximum number of optimizer steps; 0 is no limit.
        max_time: How long training may take, evaluations included, as 90s, 10m or 2h; empty is no
            limit. The last evaluation comes after it.
        clock: How max_time and evaluate_seconds are measured: on the clock (wall), or in processor
            seconds of the steps alone (process), as for comparisons under equal time, so that
            neither waiting for other programs nor evaluations count.
        batch_size: Sequences per batch.
        bptt: Truncated-BPTT length: how many tokens of a continuous text a step reads in each of
            its batch_size streams; gradients go back no further. 0 is 64, or the whole context of a
            Transformer, in as many rows as make the same number of tokens: positions that training
            never has would be noise to it.
        batch_tokens: The most tokens of sources and targets together, with their padding, in a
            batch, instead of a number of sequences; 0 is off.
        optimizer: Optimizer.
        learning_rate: Peak learning rate.
        momentum: Momentum of sgd, and decay of the squared gradients' mean in rmsprop.
        l1: Weight of the L1 penalty (lasso): the sum of absolute weights in the loss.
        l2: Weight of the L2 penalty (ridge): half the sum of squared weights in the loss.
        max_grad_norm: Maximum gradient norm (gradient clipping); 0 disables it.
        schedule: Learning-rate schedule: constant; linear or cosine decay to almost nothing at the
            end; inverse-sqrt of the steps after the warmup; halved each time validation does not
            improve (plateau), or after every epoch (exponential).
        warmup_steps: Learning-rate warmup in steps; 0 goes by warmup_ratio.
        warmup_ratio: Learning-rate warmup as a fraction of training, where warmup_steps is 0.
        ema_decay: Decay of the exponential moving average of the weights, used for evaluation and
            checkpoints, as 0.999; 0 disables it.
        average_checkpoints: Checkpoint averaging: evaluate and keep the mean of the weights at the
            last evaluations, as 5; 0 disables it.
        patience: Early stopping: after how many evaluations without improvement training stops, as
            scikit-learn's n_iter_no_change; 0 is never, -1 is 10 that are at least 250 steps.
        evaluate_steps: Evaluate every so many steps; 0 is once an epoch.
        evaluate_seconds: Evaluate after so many seconds of training as well, or more where
            evaluations would take over a third of all time; 0 is off.
        evaluate_examples: The most validation examples an evaluation during training looks at,
            taken evenly from all of them; of a continuous text, from its beginning.
        monitor: The validation metric that selects the best checkpoint, as crps where prediction
            intervals matter more than a single number; empty is the task's first metric.
        save_seconds: Write a checkpoint after so many seconds, besides every evaluation.
        curriculum: Curriculum learning: none, one level after another from easy to hard (naive),
            all levels mixed from the start, or both (combined). Levels are what a task makes by its
            options, as digits and nesting, or else the shorter of the examples, an eighth more each
            time.
        curriculum_share: The fraction of training after which naive and combined have reached the
            last level, which is what is learned without a curriculum.
        probes: Of how many validation examples each evaluation keeps the activations, to be
            replayed later; 0 keeps none.
        seed: Random seed.
    """

    epochs: int = 0
    max_steps: int = 0
    max_time: str = ""
    clock: Clock = "wall"
    batch_size: int = 64
    bptt: int = 0
    batch_tokens: int = 0
    optimizer: Literal["adam", "sgd", "adagrad", "rmsprop"] = "adam"
    learning_rate: float = 0.002
    momentum: float = 0.9
    l1: float = 0.0
    l2: float = 0.0
    max_grad_norm: float = 1.0
    schedule: Literal["constant", "linear", "cosine", "inverse-sqrt", "plateau", "exponential"] = (
        "cosine"
    )
    warmup_steps: int = 0
    warmup_ratio: float = 0.02
    ema_decay: float = 0.0
    average_checkpoints: int = 0
    patience: int = -1
    evaluate_steps: int = 0
    evaluate_seconds: float = 0.0
    evaluate_examples: int = 2000
    monitor: str = ""
    save_seconds: float = 30.0
    curriculum: CurriculumName = "none"
    curriculum_share: float = 0.5
    probes: int = 3
    seed: int = 1

    def __post_init__(self) -> None:
        for name in BOUNDS:
            if problem := _problem(name, getattr(self, name)):
                raise UsageError("U010", f"[training] {name} {problem}")
        if not 0 < self.curriculum_share <= 1:
            raise UsageError("U010", "[training] curriculum_share must be above 0 and at most 1")
        if self.monitor and self.monitor not in METRICS:
            raise UsageError(
                "U010",
                f"[training] monitor = {self.monitor!r}: there is no such metric",
                help=[f"metrics: {', '.join(METRICS)}"],
            )
        if self.ema_decay and self.average_checkpoints:
            raise UsageError(
                "U010", "[training] ema_decay and average_checkpoints exclude each other"
            )
        self.seconds()

    def passes(self, batches: int = 0) -> int:
        """The number of passes: `epochs`, or what is enough for this many batches in a pass."""
        enough = math.ceil(ENOUGH_STEPS / batches) if batches else 0
        return self.epochs or max(USUAL_EPOCHS, enough)

    def early_stopping(self) -> tuple[int, int]:
        """After how many evaluations, and at least how many steps, without improvement to stop.

        No evaluations is never. Evaluations alone would stop small data, whose epochs are a few
        steps each, before anything is learned.
        """
        return PATIENCE if self.patience < 0 else (self.patience, 0)

    def seconds(self) -> float:
        """The time budget in seconds; infinite where none is set."""
        if not self.max_time:
            return float("inf")
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", self.max_time.strip())
        if found is None:
            raise UsageError(
                "U010", f"max_time = {self.max_time!r}: expected a time like 90s, 10m or 2h"
            )
        if not (seconds := float(found[1]) * _UNITS[found[2]]):
            raise UsageError("U010", "[training] max_time must be above 0; empty is no limit")
        return seconds


def _problem(name: str, value: float) -> str:
    """What is wrong with the value of an option, in words; empty if nothing is."""
    low, high = BOUNDS[name]
    if not math.isfinite(value):
        return "must be a finite number"
    if value < low:
        return "must not be negative" if low == 0 else f"must be at least {low:g}"
    if high == 1 and value >= 1:
        more = "; a number of steps is warmup_steps" if name == "warmup_ratio" else ""
        return f"must be below 1{more}"
    return f"must be at most {high:,.0f}" if value > high else ""
