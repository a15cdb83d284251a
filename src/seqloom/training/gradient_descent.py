"""Gradient descent on minibatches: clipping, learning-rate schedules, averaged weights."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from ..batch import Batch
from ..data.loading.batching import DataLoader
from ..data.loading.bptt import BPTTLoader
from ..data.loading.curriculum import CurriculumLoader
from ..errors import ModelError, TrainingError
from ..model import GradientTrained, SegmentLoss, State, Stateful
from .learner import Learner, Snapshot, Step
from .optimizers import OPTIMIZERS, factor
from .options import EVALUATION_STEPS, USUAL_EPOCHS, Training
from .stopwatch import Stopwatch


class GradientDescent(Learner):
    """Gradient-descent learner; a resumed run is exact to the bit.

    An epoch's batches follow from the seed and the epoch, so the position in the data is two
    numbers; the rest of the state is the weights, the optimizer, and torch's random state for
    dropout.
    """

    def __init__(self, model: GradientTrained, batches: DataLoader, settings: Training) -> None:
        self.model, self.batches, self.settings = model, batches, settings
        self.module = cast(nn.Module, model)
        weights = [cast(Tensor, weight) for weight in model.parameters()]
        self.parameters = [weight for weight in weights if weight.requires_grad]
        self.optimizer = OPTIMIZERS[settings.optimizer](self.parameters, settings)
        self.average = [w.detach().clone() for w in self.parameters] if settings.ema_decay else []
        self.evaluated: list[list[Tensor]] = []  # the weights at the last evaluations
        self.step, self.epoch, self.place = 0, 0, 0
        self.epochs = settings.passes(_full_epoch(batches))
        self.seconds, self.slowed = 0.0, 1.0
        self.stopwatch = Stopwatch(settings.clock)
        self._last: dict[str, float] = {}
        self._alarming = EXPLODED
        # Truncated BPTT: the state that is carried to the next segment.
        self.carried: State | None = None

    @cached_property
    def _data(self) -> str:
        """A digest of the data, which tells whether a place in an epoch means the same."""
        return self.batches.digest()

    def steps(self) -> Iterator[Step]:
        self.module.train()
        self.stopwatch.start()
        while self._is_unfinished():
            self._advance_curriculum()
            order = self.batches.epoch(self.epoch)
            batch = self.batches.batch(order[self.place])
            values = self._take_step(self._loss(batch))
            warning = self._warning(values["gradient"])
            self.step, self.place = self.step + 1, self.place + 1
            if ends := self.place == len(order):
                self.epoch, self.place = self.epoch + 1, 0
            self.seconds += self.stopwatch.step()
            tokens = int(batch.target.lengths.sum())
            epoch = self.epoch + self.place / len(order)
            progress, level = self._progress(), self._level()
            yield Step(self.step, epoch, progress, tokens, values, ends, warning, level)

    def _is_unfinished(self) -> bool:
        """Whether there is another step: what came between the steps may have taken the time."""
        self.seconds += self.stopwatch.between_steps()
        return self._progress() < 1

    def _advance_curriculum(self) -> None:
        """Advance the curriculum where it is due; as much of the epoch is left as before."""
        if isinstance(self.batches, CurriculumLoader):
            before = len(self.batches.epoch(self.epoch))
            if self.batches.advance(self._progress()):
                after = len(self.batches.epoch(self.epoch))
                self.place = self.place * after // before

    def _level(self) -> dict[str, int]:
        """The level of a curriculum that goes from level to level."""
        lessons = self.batches
        if not isinstance(lessons, CurriculumLoader) or lessons.schedule.curriculum == "mixed":
            return {}
        return {"level": lessons.level + 1, "levels": len(lessons.levels)}

    @property
    def at_target_level(self) -> bool:
        return (
            not isinstance(self.batches, CurriculumLoader)
            or self.batches.level == self.batches.last_level
        )

    @property
    def evaluation_interval(self) -> int:
        has_more = not self.settings.epochs and self.epochs > USUAL_EPOCHS
        return EVALUATION_STEPS if has_more else 1

    def _loss(self, batch: Batch) -> Tensor:
        """The loss of whole sequences, or of a segment with the carried state (truncated BPTT)."""
        if not isinstance(self.batches, BPTTLoader):
            whole: Tensor = self.model.loss(batch)
            return whole
        reader = cast(_Reader, self.model)
        if self.carried is None or self.place == 0 or not reader.in_order:
            self.carried = reader.begin(batch.source)
        loss, state = reader.loss_from(batch, self.carried)
        self.carried = tuple(part.detach() for part in state)
        return cast(Tensor, loss)

    def _take_step(self, loss: Tensor) -> dict[str, float]:
        """Backpropagate, clip, and take an optimizer step unless loss or gradient is not finite."""
        settings = self.settings
        rate = settings.learning_rate * self.slowed
        warmup = settings.warmup_ratio, self.step, self.epoch, settings.warmup_steps
        rate *= factor(settings.schedule, self._progress(), *warmup)
        loss.backward()
        self._add_penalties()
        norm = nn.utils.clip_grad_norm_(self.parameters, settings.max_grad_norm or math.inf)
        values = {"loss": loss.item(), "gradient": norm.item(), "rate": rate}
        if not math.isfinite(values["loss"]) or not math.isfinite(values["gradient"]):
            raise _diverged(self.step + 1, values, self._last, settings)
        self.optimizer.step(rate)
        self.optimizer.forget_gradients()  # before the next loss is made, to have the memory for it
        self._update_average()
        self._last = values
        return values

    def _add_penalties(self) -> None:
        """Add the gradient of the L1 penalty; that of the L2 penalty is the optimizer's part.

        They count for weights, too, that the loss of this batch does not depend on, as those of
        rare words in an adaptive softmax.
        """
        if not (self.settings.l1 or self.settings.l2):
            return
        for weight in self.parameters:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            if self.settings.l1:
                weight.grad.add_(weight.detach().sign(), alpha=self.settings.l1)

    def _warning(self, norm: float) -> dict[str, Any]:
        """A warning when the unclipped gradient explodes; again when it is ten times larger."""
        if self.settings.max_grad_norm or norm < self._alarming:
            return {}
        self._alarming = 10 * norm
        return _exploded(self.step + 1, norm, self.settings)

    def _update_average(self) -> None:
        """Update the exponential moving average; the decay is smaller at the start."""
        if self.average:
            keep = min(self.settings.ema_decay, (self.step + 1) / (self.step + 10))
            with torch.no_grad():
                torch._foreach_lerp_(self.average, self.parameters, 1 - keep)

    def _progress(self) -> float:
        """How far training is: by epochs, steps or time, whichever ends it first."""
        settings = self.settings
        epochs = self.epoch + self.place / len(self.batches.epoch(self.epoch))
        steps = self.step / settings.max_steps if settings.max_steps else 0.0
        return max(epochs / self.epochs, steps, self.seconds / settings.seconds())

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        """Use the moving average of the weights, or their mean over the last evaluations."""
        settings = self.settings
        if not settings.ema_decay and not settings.average_checkpoints:
            yield
            return
        own = [weight.detach().clone() for weight in self.parameters]
        if settings.average_checkpoints:
            self.evaluated = [*self.evaluated, own][-settings.average_checkpoints :]
        means = [torch.stack(weights).mean(0) for weights in zip(*self.evaluated, strict=True)]
        _copy(self.average or means, self.parameters)
        try:
            yield
        finally:
            _copy(own, self.parameters)

    def on_no_improvement(self) -> None:
        if self.settings.schedule == "plateau":
            self.slowed /= 2

    def snapshot(self) -> Snapshot:
        tensors: dict[str, Tensor] = {
            f"model/{name}": tensor for name, tensor in self.module.state_dict().items()
        }
        for number, state in self.optimizer.memory.items():
            tensors |= {f"optimizer/{number}/{name}": value for name, value in state.items()}
        tensors |= {f"average/{number}": mean for number, mean in enumerate(self.average)}
        for number, weights in enumerate(self.evaluated):
            tensors |= {f"evaluated/{number}/{place}": w for place, w in enumerate(weights)}
        tensors |= {f"carried/{number}": part for number, part in enumerate(self.carried or ())}
        tensors["random"] = torch.get_rng_state()
        facts = {name: getattr(self, name) for name in _FACTS}
        facts |= {"data": self._data, "batches": len(self.batches.epoch(self.epoch))}
        facts["parameters"] = len(self.parameters)
        if isinstance(self.batches, CurriculumLoader):
            facts["level"] = self.batches.level
        return Snapshot({k: t.detach().numpy().copy() for k, t in tensors.items()}, facts)

    def restore(self, snapshot: Snapshot) -> list[str]:
        tensors = {name: torch.from_numpy(array) for name, array in snapshot.arrays.items()}
        try:
            self.module.load_state_dict(_under("model/", tensors))
        except RuntimeError as error:
            raise ModelError(
                "M111",
                "the weights of the checkpoint do not fit this model",
                notes=str(error).splitlines()[1:3],
                help=["a recipe belongs to its weights: restore recipe.toml, or train anew"],
            ) from error
        for name in _FACTS:
            setattr(self, name, snapshot.facts[name])
        if isinstance(self.batches, CurriculumLoader):
            self.batches.restore(snapshot.facts.get("level", 0))
        same = snapshot.facts.get("parameters", len(self.parameters)) == len(self.parameters)
        notes = self._restore_memory(_under("optimizer/", tensors), same)
        notes += self._restore_averages(tensors)
        notes += self._restore_place(snapshot.facts, _under("carried/", tensors))
        torch.set_rng_state(tensors["random"])
        return notes

    def _restore_memory(self, saved: dict[str, Tensor], is_same: bool) -> list[str]:
        """The memory of the optimizer; it begins anew for another one, or for other parameters."""
        memory: dict[int, dict[str, Tensor]] = {}
        for path, value in saved.items():
            number, name = path.split("/")
            memory.setdefault(int(number), {})[name] = value
        fits = is_same and all(
            number < len(self.parameters)
            and _shapes(kept) == _shapes(self.optimizer.begin(self.parameters[number]))
            for number, kept in memory.items()
        )
        is_missing = (
            self.step > 0 and not memory and any(map(self.optimizer.begin, self.parameters))
        )
        self.optimizer.memory = memory if fits else {}
        anew = f"the memory of the optimizer begins anew: {self.settings.optimizer} has none yet"
        return [anew] if is_missing or not fits else []

    def _restore_averages(self, tensors: dict[str, Tensor]) -> list[str]:
        """The moving average of the weights, and the weights at the last evaluations."""
        evaluated = _under("evaluated/", tensors)
        rows = [_numbered(_under(f"{row}/", evaluated)) for row in range(len(evaluated))]
        rows = [row for row in rows if _same_shapes(row, self.parameters)]
        self.evaluated = rows[-self.settings.average_checkpoints or len(rows) :]
        if not self.average:
            return []
        saved = _numbered(_under("average/", tensors))
        fits = _same_shapes(saved, self.parameters)
        _copy(saved if fits else self.parameters, self.average)
        anew = "the moving average of the weights begins anew, with the weights as they are"
        return [] if fits else [anew]

    def _restore_place(self, facts: dict[str, Any], carried: dict[str, Tensor]) -> list[str]:
        """The place in the epoch; the same share of it, without a state, if its batches differ."""
        count = len(self.batches.epoch(self.epoch))
        before = facts.get("batches", count)
        self.place = min(self.place * count // max(1, before), count - 1)
        if facts.get("data") == self._data:
            self.carried = tuple(_numbered(carried)) or None
            return []
        self.carried = None
        if not self.place or "data" not in facts:
            return []
        state = ", and the state that is carried through the text begins anew" * bool(carried)
        return [
            "the batches are others than before: this epoch goes on at the same share of them"
            f"{state}; some examples may come twice in it, others not at all"
        ]


@runtime_checkable
class _Reader(Stateful, SegmentLoss, Protocol):
    """A model that is trained on a continuous text by truncated BPTT."""


EXPLODED = 1e4  # a gradient longer than this, unclipped, is worth a warning
GATED = "--set model.cell=lstm   a gated cell, where the model is recurrent"
_FACTS = ("step", "epoch", "place", "seconds", "slowed")


def _full_epoch(batches: DataLoader) -> int:
    """The number of batches in an epoch; 0 where a curriculum makes it grow."""
    return 0 if isinstance(batches, CurriculumLoader) else len(batches.epoch(0))


def _copy(origin: Iterable[Tensor], to: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for source, target in zip(origin, to, strict=False):
            target.copy_(source)


def _shapes(tensors: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shapes of tensors; a single number may have been saved as an array of one."""
    return {name: tuple(tensor.shape) or (1,) for name, tensor in tensors.items()}


def _same_shapes(tensors: list[Tensor], weights: list[Tensor]) -> bool:
    return [tensor.shape for tensor in tensors] == [weight.shape for weight in weights]


def _numbered(tensors: dict[str, Tensor]) -> list[Tensor]:
    """Tensors that are named by their numbers, in order."""
    return [tensors[str(number)] for number in range(len(tensors))]


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}


def _diverged(
    step: int, now: dict[str, float], before: dict[str, float], settings: Training
) -> TrainingError:
    what = "loss" if not math.isfinite(now["loss"]) else "gradient"
    clip = (
        f"max_grad_norm {settings.max_grad_norm:g}"
        if settings.max_grad_norm
        else "no gradient clipping"
    )
    told = (
        f"the step before: loss {before['loss']:.4g}, gradient norm {before['gradient']:.3g}"
        f" ({clip}), learning rate {before['rate']:.3g}"
        if before
        else f"it was the first step: learning rate {now['rate']:.3g}, {clip}"
    )
    smaller = f"--set training.learning_rate={settings.learning_rate / 10:g}"
    remedies = [f"{smaller} --set training.max_grad_norm=1.0"]
    if what == "gradient":
        remedies.append(GATED)
    return TrainingError(
        "T130",
        f"the {what} became {now[what]} at step {step}",
        notes=[
            told,
            "Most likely the learning rate is too high. The last good checkpoint is kept.",
        ],
        help=remedies,
    )


def _exploded(step: int, norm: float, settings: Training) -> dict[str, Any]:
    """A warning: error code, message, gradient norm and remedies."""
    smaller = (
        f"--set training.learning_rate={settings.learning_rate / 10:g}   a smaller learning rate"
    )
    return {
        "code": "T131",
        "problem": f"the gradient exploded at step {step}: its norm is {norm:.3g}, without clipping"
        " (--set training.max_grad_norm=1.0, a smaller learning rate or a gated cell help)",
        "gradient": norm,
        "help": ["--set training.max_grad_norm=1.0   gradient clipping", smaller, GATED],
    }
