"""Optimizers and learning-rate schedules: Adam, SGD with momentum, Adagrad, RMSprop.

The equations are those of torch.optim, and so are the results, bit for bit. Torch's own classes
import a compiler at the first use, which costs more than a second and 60 MiB in every process that
trains; its fused kernels, called here, do not.

How the learning rate moves from the first step to the last.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from .options import Training

Tensors = dict[str, Tensor]


class Optimizer(ABC):
    """Optimizer: updates weights from their gradients, with a state for each weight."""

    def __init__(self, weights: list[Tensor], settings: Training) -> None:
        self.weights, self.settings = weights, settings
        self.memory: dict[int, Tensors] = {}

    def step(self, rate: float) -> None:
        """Update every weight that has a gradient."""
        moved = [number for number, weight in enumerate(self.weights) if weight.grad is not None]
        if not moved:
            return
        for number in moved:
            if number not in self.memory:
                self.memory[number] = self.begin(self.weights[number])
        weights = [self.weights[number] for number in moved]
        grads = [weight.grad for weight in weights if weight.grad is not None]
        kept = [self.memory[number] for number in moved]
        with torch.no_grad():
            self.move(weights, grads, kept, rate)

    def forget_gradients(self) -> None:
        """Set the gradients to None, which frees them."""
        for weight in self.weights:
            weight.grad = None

    @abstractmethod
    def begin(self, weight: Tensor) -> Tensors:
        """The initial state of a weight."""

    @abstractmethod
    def move(
        self, weights: list[Tensor], grads: list[Tensor], kept: list[Tensors], rate: float
    ) -> None:
        """One step, in place; `kept` has the state of each weight."""


class Adam(Optimizer):
    """Adam (Kingma & Ba, 2015).

    m = β₁ m + (1 - β₁) g,  v = β₂ v + (1 - β₂) g²
    w = w - rate · m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + ε)
    """

    def begin(self, weight: Tensor) -> Tensors:
        zero = {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
        return {"step": torch.zeros(())} | zero

    def move(
        self, weights: list[Tensor], grads: list[Tensor], kept: list[Tensors], rate: float
    ) -> None:
        steps = _all(kept, "step")
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            weights,
            grads,
            _all(kept, "exp_avg"),
            _all(kept, "exp_avg_sq"),
            [],
            steps,
            lr=rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=self.settings.l2,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class Sgd(Optimizer):
    """Stochastic gradient descent (SGD) with momentum: b = μ b + g,  w = w - rate · b."""

    def begin(self, weight: Tensor) -> Tensors:
        return {"momentum_buffer": torch.zeros_like(weight)} if self.settings.momentum else {}

    def move(
        self, weights: list[Tensor], grads: list[Tensor], kept: list[Tensors], rate: float
    ) -> None:
        torch._fused_sgd_(
            weights,
            grads,
            _all(kept, "momentum_buffer") if self.settings.momentum else [],
            weight_decay=self.settings.l2,
            momentum=self.settings.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,  # from a buffer of zeros the first step is the same
        )


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011): s = s + g²,  w = w - rate · g / (√s + ε)."""

    def begin(self, weight: Tensor) -> Tensors:
        return {"step": torch.zeros(()), "sum": torch.zeros_like(weight)}

    def move(
        self, weights: list[Tensor], grads: list[Tensor], kept: list[Tensors], rate: float
    ) -> None:
        steps = _all(kept, "step")
        torch._foreach_add_(steps, 1)
        torch._fused_adagrad_(
            weights,
            grads,
            _all(kept, "sum"),
            steps,
            lr=rate,
            lr_decay=0.0,
            weight_decay=self.settings.l2,
            eps=1e-10,
            maximize=False,
        )


class RmsProp(Optimizer):
    """RMSProp (Hinton, 2012) with momentum.

    s = α s + (1 - α) g²,  b = μ b + g / (√s + ε),  w = w - rate · b
    """

    def begin(self, weight: Tensor) -> Tensors:
        return {name: torch.zeros_like(weight) for name in ("square_avg", "momentum_buffer")}

    def move(
        self, weights: list[Tensor], grads: list[Tensor], kept: list[Tensors], rate: float
    ) -> None:
        for weight, grad, memory in zip(weights, grads, kept, strict=True):
            if self.settings.l2:
                grad = grad.add(weight, alpha=self.settings.l2)
            square, buffer = memory["square_avg"], memory["momentum_buffer"]
            square.mul_(0.99).addcmul_(grad, grad, value=1 - 0.99)
            buffer.mul_(self.settings.momentum).addcdiv_(grad, square.sqrt().add_(1e-8))
            weight.add_(buffer, alpha=-rate)


OPTIMIZERS: dict[str, type[Optimizer]] = {
    "adam": Adam,
    "sgd": Sgd,
    "adagrad": Adagrad,
    "rmsprop": RmsProp,
}


def _all(kept: list[Tensors], name: str) -> list[Tensor]:
    return [memory[name] for memory in kept]


FLOOR = 0.01  # the share of the rate at the very start and the very end


def _cosine(progress: float) -> float:
    """Cosine annealing, (1 + cos π p) / 2 (Loshchilov & Hutter, 2017)."""
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2


# From how far training is, 0 to 1, how often as long as the warm-up it has taken, 1 or more, and
# how many epochs are over.
SCHEDULES: dict[str, Callable[[float, float, int], float]] = {
    "constant": lambda progress, warmups, epochs: 1.0,
    "linear": lambda progress, warmups, epochs: 1 - (1 - FLOOR) * progress,
    "cosine": lambda progress, warmups, epochs: _cosine(progress),
    "inverse-sqrt": lambda progress, warmups, epochs: warmups**-0.5,  # Vaswani et al., 2017
    "plateau": lambda progress, warmups, epochs: 1.0,  # what evaluation finds moves this one
    "exponential": lambda progress, warmups, epochs: 0.5**epochs,
}


def factor(  # noqa: PLR0913 - where training stands, and how it warms up
    schedule: str,
    progress: float,
    warmup_ratio: float,
    step: int = 0,
    epochs: int = 0,
    warmup_steps: int = 0,
) -> float:
    """The factor of the learning rate (warmup and schedule), `progress` of the way from 0 to 1.

    The warmup is a number of steps, or else a fraction of the way. `step` steps were taken, and
    `epochs` are over.
    """
    if warmup_steps:
        warmups = (step + 1) / warmup_steps
    else:
        warmups = progress / warmup_ratio if warmup_ratio else float(step + 1)
    rise = min(1.0, max(FLOOR, warmups)) if warmup_steps or warmup_ratio else 1.0
    return rise * SCHEDULES[schedule](min(1.0, progress), max(1.0, warmups), epochs)
