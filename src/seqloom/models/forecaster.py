"""How a network forecasts: step by step through futures that it draws, or all steps at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..model import Model, Prediction, Search, State
from ..nn.forecast.distributions import DENSITIES
from ..nn.forecast.heads import NextStep
from ..nn.forecast.options import Outlook
from ..nn.forecast.windows import Piece, cut, log_densities, observed
from ..nn.pooling import Body
from ..prediction import LEVELS, Foreseen
from ..signature import Series, Signature

PATHS_AT_ONCE = 1024  # so many futures are drawn side by side


@dataclass(frozen=True)
class Told:
    """What is foreseen of a piece, in its own moved and stretched numbers."""

    mean: Float[Tensor, "batch time width"]
    quantiles: Float[Tensor, "batch time width levels"]
    paths: Float[Tensor, "batch samples time width"] | None = None

    def of(self, piece: Piece, keep: int) -> list[Foreseen]:
        """In the numbers of the series, with so many of the paths."""
        shift, scale = piece.shift, piece.scale
        means = self.mean.double().numpy() * scale + shift
        quantiles = self.quantiles.double().numpy() * scale[..., None] + shift[..., None]
        if self.paths is None or not keep:
            return list(map(Foreseen, means, quantiles))
        paths = self.paths[:, :keep].double().numpy() * scale[:, None] + shift[:, None]
        return list(map(Foreseen, means, quantiles, paths))


@runtime_checkable
class Tells(Protocol):
    """A network that makes distributions of all steps ahead of what it reads of the past."""

    def tell(self, piece: Piece) -> Float[Tensor, "batch ahead width count"]:
        """The numbers of the distributions, one for each number of each row ahead."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


class Forecaster(ABC):
    """Log-densities, losses and forecasts of series, whatever reads them."""

    def __init__(self, signature: Signature, outlook: Outlook, look_back: int) -> None:
        source, target = series_of(signature)
        self.width, self.known, self.horizon = target.width, source.known, target.horizon
        self.outlook, self.look_back = outlook, look_back
        self.density = DENSITIES[outlook.output]()

    @property
    @abstractmethod
    def kind(self) -> torch.dtype:
        """The precision of the weights."""

    @abstractmethod
    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        """Log of the density of each future given its past; of observed numbers only."""

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """What descent minimises, for each observed number."""

    @abstractmethod
    def foresee(self, source: Sequences, search: Search) -> list[Foreseen]:
        """The forecasts without their densities."""

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The forecasts, and how dense the distribution of each is at its mean."""
        found = self.foresee(source, search)
        mean = Sequences.pad([each.mean for each in found])
        return Prediction.ahead(found, self.log_prob(Batch(source, mean)).double().numpy())

    def _cut(
        self, source: Sequences, aheads: Int[np.ndarray, " batch"], target: Sequences | None = None
    ) -> Piece:
        return cut(
            source,
            aheads,
            self.width,
            look_back=self.look_back,
            center=self.outlook.center,
            kind=self.kind,
            target=target,
        )

    def _scored(self, piece: Piece, p: Tensor, y: Tensor) -> Float[Tensor, " batch"]:
        """The sum of the log-densities; to stretch by s makes each of them less by log s."""
        real = piece.real()
        found = log_densities(self.density, p, y, real)
        if self.outlook.center == "standard":
            stretch = torch.from_numpy(np.log(piece.scale)).to(found.dtype)
            found = found - stretch * (~y.isnan() & real[..., None])
        return found.sum((1, 2))


class AtOnce(Forecaster):
    """All steps of the horizon at once; they are independent of each other, given the past.

    p(y_1 … y_H | past) = Π_k p_k(y_k | past)

    What lies beyond the horizon is forecast from there, with the steps before it drawn at random.
    """

    def __init__(
        self,
        signature: Signature,
        outlook: Outlook,
        look_back: int,
        model: Tells,
    ) -> None:
        super().__init__(signature, outlook, look_back)
        self.model = model

    @property
    def kind(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        total = torch.zeros(len(batch), dtype=self.kind)
        for part in self._blocks(batch):
            piece = self._cut(part.source, part.target.lengths)
            total = total + self._scored(piece, self.model.tell(piece), piece.moved(part.target))
        return total

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        piece = self._cut(batch.source, batch.target.lengths)
        y = piece.moved(batch.target)
        losses, told = observed(self.density, self.model.tell(piece), y, piece.real())
        return losses.sum() / told.sum().clamp(min=1)

    def foresee(self, source: Sequences, search: Search) -> list[Foreseen]:
        horizon = search.horizon or self.horizon
        if horizon > self.horizon:
            at_once = max(1, PATHS_AT_ONCE // max(search.samples, self.outlook.paths))
            rows = np.arange(len(source))
            few = [_rows(source, r) for r in np.split(rows, rows[at_once::at_once])]
            return [each for part in few for each in self._further(part, horizon, search)]
        piece = self._cut(source, np.full(len(source), horizon))
        p = self.model.tell(piece)
        paths = None
        if search.samples:
            u = chance(search.seed, horizon, search.samples, self.width, self.kind)
            each = p[:, None].expand(-1, search.samples, -1, -1, -1)
            paths = self.density.drawn(each, u.expand(len(p), -1, -1, -1, -1))
        return Told(self.density.mean(p), self.density.levels(p), paths).of(piece, search.samples)

    def _further(self, source: Sequences, horizon: int, search: Search) -> list[Foreseen]:
        """Block after block, each from what was drawn of those before it."""
        count = max(search.samples, self.outlook.paths)
        first = self.foresee(_but_last(source, horizon - self.horizon), Search())
        u = chance(search.seed, horizon, count, self.width, self.kind)
        pasts = np.repeat(source.lengths - horizon, count)
        values = np.repeat(source.values, count, 0)
        means = []
        for begin in range(0, horizon, self.horizon):
            ahead = min(self.horizon, horizon - begin)
            now = Sequences(values, pasts + begin + ahead)
            piece = self._cut(now, np.full(len(values), ahead))
            p = self.model.tell(piece)
            part = u[:, begin : begin + ahead].repeat(len(source), 1, 1, 1)
            drawn = self.density.drawn(p, part).double().numpy() * piece.scale + piece.shift
            means.append(self.density.mean(p).double().numpy() * piece.scale + piece.shift)
            places = pasts[:, None] + begin + np.arange(ahead)
            values[np.arange(len(values))[:, None], places, : self.width] = drawn
        places = pasts[:, None] + np.arange(horizon)
        paths = values[np.arange(len(values))[:, None], places, : self.width]
        expected = np.concatenate(means, 1).reshape(len(source), count, horizon, -1).mean(1)
        many = paths.reshape(len(source), count, horizon, -1)
        known = zip(first, expected, many, strict=True)
        return [_begun(exact, mean, few, search.samples) for exact, mean, few in known]

    def _blocks(self, batch: Batch) -> Iterator[Batch]:
        """A future as blocks that are as long as the horizon, each with those before it as past."""
        target = batch.target
        longest = int(target.lengths.max(initial=0))
        if longest <= self.horizon:
            yield batch
            return
        pasts = batch.source.lengths - target.lengths
        values = np.array(batch.source.values)
        for begin in range(0, longest, self.horizon):
            aheads = np.clip(target.lengths - begin, 0, self.horizon)
            part = Sequences(target.values[:, begin : begin + int(aheads.max())], aheads)
            over = np.minimum(begin, target.lengths)
            yield Batch(Sequences(np.array(values), pasts + over + aheads), part)
            for row in range(len(values)):
                place = pasts[row] + begin
                told = part.values[row, : aheads[row]]
                values[row, place : place + aheads[row], : self.width] = told


class Stepwise(Forecaster):
    """One step after another, each from all before it; to go further, steps are drawn at random.

    p(y_1 … y_H | past) = Π_k p(y_k | past, y_1 … y_k-1)

    In training the true steps are read, also those that follow (teacher forcing), and every step of
    past and future is learned. Where pieces are centred by their past, only the future is: the past
    would know what comes later in it.
    """

    def __init__(
        self,
        signature: Signature,
        outlook: Outlook,
        look_back: int,
        read: nn.Module,
        body: Body,
        dropout: nn.Module,
        output: NextStep,
    ) -> None:
        super().__init__(signature, outlook, look_back)
        self.read, self.body, self.dropout, self.output = read, body, dropout, output

    @property
    def kind(self) -> torch.dtype:
        return self.output.told.weight.dtype

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        piece = self._cut(batch.source, batch.target.lengths, batch.target)
        states = self._late(self._states(piece))
        return self._scored(piece, self.output(piece.future(states)), piece.future(piece.seen))

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        piece = self._cut(batch.source, batch.target.lengths, batch.target)
        states = self._states(piece)
        if self.outlook.center == "none":
            real = torch.arange(1, piece.seen.shape[1]) < piece.lengths[:, None]
            losses, told = observed(self.density, self.output(states), piece.seen[:, 1:], real)
        else:
            p = self.output(piece.future(self._late(states)))
            losses, told = observed(self.density, p, piece.future(piece.seen), piece.real())
        return losses.sum() / told.sum().clamp(min=1)

    def foresee(self, source: Sequences, search: Search) -> list[Foreseen]:
        horizon = search.horizon or self.horizon
        piece = self._cut(source, np.full(len(source), horizon))
        count = max(search.samples, self.outlook.paths)
        if horizon == 1 and not search.samples:
            count = 1
        found: list[Foreseen] = [Foreseen(np.zeros((0, 0)), np.zeros((0, 0, 0)))] * len(source)
        for rows in _alike(piece.pasts.numpy(), max(1, PATHS_AT_ONCE // count)):
            few = _part(piece, rows)
            told = self._drawn(few, chance(search.seed, horizon, count, self.width, self.kind))
            for row, each in zip(rows.tolist(), told.of(few, search.samples), strict=True):
                found[row] = each
        return found

    def _drawn(self, piece: Piece, u: Float[Tensor, "samples time width 2"]) -> Told:
        """Futures that go on from their own steps; what is foreseen of the first step is exact."""
        body: Any = self.body
        count, horizon = u.shape[:2]
        batch, past = len(piece.seen), int(piece.pasts[0])
        vectors = self.read(piece.read()[:, :past])
        outputs, state = body.carry(vectors, body.initial(batch))
        p = self.output(outputs[:, -1])[:, None].expand(-1, count, -1, -1)
        levels, means, paths = self.density.levels(p[:, 0]), [], []
        for step in range(horizon):
            y = self.density.drawn(p, u[:, step].expand(batch, -1, -1, -1))
            means.append(self.density.mean(p).mean(1))
            paths.append(y)
            if step + 1 == horizon:
                break
            if step == 0:
                state = tuple(part.repeat_interleave(count, 0) for part in state)
            known = piece.known[:, past + step + 1, None].expand(-1, count, -1)
            row = torch.cat([y, known], dim=-1).flatten(0, 1)
            output, state = body.step(self.read(row), state)
            p = self.output(output).unflatten(0, (batch, count))
        drawn = torch.stack(paths, dim=2)
        shares = drawn.new_tensor(LEVELS)
        quantiles = drawn.quantile(shares, dim=1).permute(1, 2, 3, 0)
        quantiles = torch.cat([levels[:, None], quantiles[:, 1:]], dim=1)
        return Told(torch.stack(means, dim=1), quantiles, drawn)

    def _states(self, piece: Piece) -> Float[Tensor, "batch before hidden"]:
        states: Tensor = self.dropout(self.body(self.read(piece.read()), piece.lengths - 1))
        return states

    @staticmethod
    def _late(states: Float[Tensor, "batch before hidden"]) -> Float[Tensor, "batch time hidden"]:
        """The state from which each row is foreseen, where that row is; the first has none."""
        return torch.cat([states[:, :1], states], dim=1)


class ForecastStepper:
    """One row after another, each answered by a forecast of the next.

    A state is what the model reads of the past: the last rows, as many as it looks back.
    """

    def __init__(self, model: Model, forecaster: Forecaster) -> None:
        self._model, self._forecaster = deepcopy((model, forecaster))

    def begin(self) -> State:
        return (np.zeros((0, self._forecaster.width + self._forecaster.known)),)

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None]
        rows = np.concatenate([state[0], row])[-self._forecaster.look_back :]
        after = np.array(row)
        after[:, : self._forecaster.width] = np.nan  # its inputs are those of this step
        source = Sequences.pad([np.concatenate([rows, after])])
        with self._model.at_rest():
            (found,) = self._forecaster.foresee(source, Search(horizon=1))
        return np.concatenate([found.mean, found.quantiles[0].T]), (rows,)


def series_of(signature: Signature) -> tuple[Series, Series]:
    """What is read and what is forecast."""
    source, target = signature.source, signature.target
    if not isinstance(source, Series) or not isinstance(target, Series):
        raise TypeError("series are forecast from series")
    return source, target


def chance(
    seed: int, steps: int, count: int, width: int, kind: torch.dtype
) -> Float[Tensor, "samples time width 2"]:
    """Two numbers between 0 and 1 for each step of each path, the same for every series.

    They are spread evenly over the paths of a step, one in each of `count` equal parts, so that few
    paths are enough; each path alone is as if all its numbers were drawn by themselves.
    """
    drawn = np.empty((count, steps, width, 2))
    for step in range(steps):  # a longer horizon begins as a shorter one does
        source = np.random.default_rng([seed, step])
        parts = source.permuted(np.tile(np.arange(count), (2 * width, 1)), axis=1)
        drawn[:, step] = (
            parts.T.reshape(count, width, 2) + source.random((count, width, 2))
        ) / count
    return torch.from_numpy(np.clip(drawn, 1e-6, 1 - 1e-6)).to(kind)


def _begun(
    exact: Foreseen,
    mean: Float[np.ndarray, "time width"],
    paths: Float[np.ndarray, "samples time width"],
    keep: int,
) -> Foreseen:
    """Drawn futures, the beginning of which is known exactly."""
    drawn, known = Foreseen.drawn(paths, keep=keep), len(exact.mean)
    return Foreseen(
        np.concatenate([exact.mean, mean[known:]]),
        np.concatenate([exact.quantiles, drawn.quantiles[known:]]),
        drawn.paths,
    )


def _rows(source: Sequences, rows: Int[np.ndarray, " some"]) -> Sequences:
    return Sequences(source.values[rows], source.lengths[rows])


def _but_last(source: Sequences, count: int) -> Sequences:
    return Sequences(source.values, source.lengths - count)


def _alike(pasts: Int[np.ndarray, " batch"], most: int) -> Iterator[Int[np.ndarray, " some"]]:
    """Rows whose pasts are equally long, a few at a time."""
    for past in np.unique(pasts):
        rows = np.flatnonzero(pasts == past)
        yield from np.split(rows, range(most, len(rows), most))


def _part(piece: Piece, rows: Int[np.ndarray, " some"]) -> Piece:
    """Some rows of a piece."""
    few = torch.from_numpy(rows)
    tensors = piece.seen[few], piece.known[few], piece.pasts[few], piece.aheads[few]
    return Piece(*tensors, piece.shift[rows], piece.scale[rows])
