"""Hidden Markov model of series: regimes that show numbers, one model of them or one per class.

Single steps of hidden regimes: the chances of the states, row by row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Stepper, Walked, Weights
from ..prediction import LEVELS, Foreseen
from ..signature import Form, Labels, Series, Signature
from ..statistical.hmm import compiled
from ..statistical.hmm.emissions import Emission, Ground, Rows
from ..statistical.hmm.gaussian_hmm import KINDS, Regimes, Visited
from ..statistical.hmm.inference import add
from ..statistical.hmm.initialise import Sketch, groups_of

Check = Callable[[Float[np.ndarray, "rows width"]], None]


class _Walk:
    """Forward sums, one after another, in nats; the equations are in the lattice's `readable`."""

    def __init__(self, regimes: Sequence[Regimes], check: Check) -> None:
        self.regimes, self._check = regimes, check
        self._width = regimes[0].shown.means().shape[1]

    def begin(self) -> State:
        """Forward sums of nothing, for each walk, and how many rows were read."""
        count = len(self.regimes), len(self.regimes[0].first)
        return np.zeros(count), np.zeros(1)

    def read(self, row: Float[np.ndarray, " numbers"], state: State) -> State:
        """The forward sums with one row more."""
        (sums, steps), rows = state, row[None, : self._width].astype(np.float64)
        self._check(rows)
        found = []
        for regimes, before in zip(self.regimes, sums, strict=True):
            lattice, fits = regimes.lattice, regimes.shown.scores(rows)[0]
            ahead = add(before[:, None] + lattice.moves, axis=0) if steps[0] else lattice.first
            found.append(ahead + fits)
        return np.array(found), steps + 1


class ForecastSteps(_Walk):
    """What is next, and how likely each state is now."""

    def __init__(self, regimes: Regimes, check: Check) -> None:
        super().__init__([regimes], check)

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        """The mean of the next step and its quantiles, and the state with this row."""
        (sums, steps), (regimes,) = self.read(value, state), self.regimes
        sums = sums - add(sums)[:, None]  # what was read is not asked again: only the chances are
        ahead = np.exp(sums) @ regimes.moves
        quantiles = regimes.shown.quantiles(ahead, np.array(LEVELS))[0]
        return np.concatenate([ahead @ regimes.shown.means(), quantiles.T]), (sums, steps)

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """The chances of the states, given all rows so far; before the first, of being first."""
        sums, steps = state
        return {"states": np.exp(sums[0]) if steps[0] else self.regimes[0].first.copy()}


class LabelSteps(_Walk):
    """How likely each label is: of the whole as far as it was read, or of the last row."""

    def __init__(
        self, regimes: Sequence[Regimes], prior: Float[np.ndarray, " labels"] | None, check: Check
    ) -> None:
        super().__init__(regimes, check)
        self._prior = prior

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, " labels"], State]:
        """Log-probabilities of the labels, and the state with this row."""
        sums, steps = self.read(value, state)
        if self._prior is None:
            scores = sums[0]
        else:
            with np.errstate(divide="ignore"):
                scores = add(sums) + np.log(self._prior)
        return scores - add(scores), (sums, steps)


TOLD = 0.1  # times that every move between labels counts as seen, where labels are told
Lengths = Int[np.ndarray, " series"]


@dataclass(frozen=True)
class Walks:
    """What a pass found for each walk: for one, or for that of each class. Two can be added."""

    found: tuple[Visited | None, ...]
    series: Float[np.ndarray, " walks"]

    @property
    def log_likelihood(self) -> float:
        """Of all series together."""
        return sum(one.log_likelihood for one in self.found if one is not None)

    def __add__(self, other: "Walks") -> "Walks":
        pairs = zip(self.found, other.found, strict=True)
        both = (one + two if one and two else one or two for one, two in pairs)
        return Walks(tuple(both), self.series + other.series)


class HiddenRegimes(Model):
    """A series is what a walk through hidden states shows; which states there are is found.

    p(x, z) = first(z₁) Π_{t>1} moves(z_{t-1}, z_t) Π_t p(x_t | z_t)
    p(future | past) = p(past, future) / p(past)              sums over all paths, by forward sums
    p(label | x) = p(label) p(x | label) / Σ p(label') p(x | label')     one such model per label

    It is learned by Baum and Welch: count how often each thing happens on average, given the series
    and the model so far, make these counts the model, and repeat. The likelihood never falls. The
    first pass only looks at the numbers, and puts those that are alike in groups to start from.
    Where each step has a label, labels are the states, and all is counted. What is missing is
    summed out; inputs that are known beforehand are not read.

    Args:
        states: How many states there are; with a label for each step, as many as labels.
        emissions: What a state shows: normal distributions, diagonal without covariances or full;
            poisson for counts; mixture for several normal distributions in each state.
        components: How many normal distributions a state has, for mixture.
        left_to_right: States come in their order, and none comes again.
        floor: The least variance of a state, as a share of the variance of all numbers; so no state
            can collapse onto a few of them.
        restarts: How often learning starts, from other groups each time; what validation likes best
            is kept.
        tolerance: Learning ends when a pass gains less than this, in nats per step, or per series
            where whole series have labels; or after training.epochs passes.
    """

    forms = frozenset({Form.FORECAST, Form.WHOLE, Form.EACH})
    reads = frozenset({Series})
    writes = frozenset({Series, Labels})
    is_joint = True

    def __init__(
        self,
        signature: Signature,
        *,
        states: int = 3,
        emissions: Literal["diagonal", "full", "poisson", "mixture"] = "diagonal",
        components: int = 2,
        left_to_right: bool = False,
        floor: float = 1e-3,
        restarts: int = 1,
        tolerance: float = 1e-4,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.source, Series):
            raise TypeError("hidden regimes show numbers")
        whole = {"states": states, "components": components, "restarts": restarts}
        for name, value in whole.items():
            if value < 1:
                raise _wrong(f"{name} = {value}: expected a whole number of at least 1", name)
        if not 0 < floor <= 1:
            raise _wrong(f"floor = {floor:g}: expected more than 0, and at most 1", "floor")
        if tolerance < 0:
            raise _wrong(f"tolerance = {tolerance:g} must not be negative", "tolerance")
        labels = signature.target.size if isinstance(signature.target, Labels) else 1
        self.width, self.emissions, self.components = signature.source.width, emissions, components
        self.is_told = signature.form is Form.EACH
        self.states = labels if self.is_told else states
        self.walks = labels if signature.form is Form.WHOLE else 1
        self.left_to_right, self.floor = left_to_right and not self.is_told, floor
        self.restarts, self.tolerance = restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from where `seed` has set it
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Begin this start: forget all, and look at the numbers first."""
        self._number, self._is_begun = number, False
        self._ground = Ground(np.zeros(self.width), np.ones(self.width))
        self._prior = np.full(self.walks, 1 / self.walks)
        self.regimes = [self._blank() for _ in range(self.walks)]

    def statistics(self, batch: Batch) -> Sketch | Walks:
        rows, lengths = self._rows(whole_series(batch))
        walks = np.zeros(len(batch), dtype=np.int64)
        if self.signature.form is Form.WHOLE:
            walks = batch.target.values[:, 0].astype(np.int64)
        told = batch.target.values[batch.target.mask] if self.is_told else None
        if not self._is_begun:
            return Sketch.of(rows, lengths, walks, self.walks, told)
        found: list[Visited | None] = []
        for number, regimes in enumerate(self.regimes):
            mine = np.repeat(walks == number, lengths)
            if not mine.any():
                found.append(None)
            elif told is not None:
                found.append(regimes.told(rows, lengths, told, self._ground))
            else:
                found.append(regimes.visited(rows[mine], lengths[walks == number], self._ground))
        return Walks(tuple(found), np.bincount(walks, minlength=self.walks).astype(np.float64))

    def update(self, statistics: Sketch | Walks) -> None:
        if isinstance(statistics, Sketch):
            self._start(statistics)
            return
        self._prior = statistics.series / statistics.series.sum()
        more = TOLD if self.is_told else 0.0
        pairs = zip(self.regimes, statistics.found, strict=True)
        self.regimes = [
            one.learned(found, self._ground, self.floor, more) if found is not None else one
            for one, found in pairs
        ]

    def _start(self, sketch: Sketch) -> None:
        """States that each fit a group of rows that are alike, or that come one after another."""
        self._must_tell(sketch)
        chance = np.random.default_rng([self._seed, self._number])
        self._is_begun, self._ground = True, sketch.spread.ground()
        self._prior, started = sketch.series / sketch.series.sum(), []
        for number in range(self.walks):
            rows, facts = sketch.of_walk(number)
            if self.is_told:
                groups = facts[:, 1].astype(np.int64)
            elif self.left_to_right:
                groups = (facts[:, 2] * self.states).astype(np.int64)
            else:
                groups = groups_of(rows, self.states, self._ground, chance)
            blank = self._blank()
            shown = blank.shown.started(rows, groups, self._ground, self.floor, chance)
            started.append(Regimes(blank.first, blank.moves, shown))
        self.regimes = started

    def _must_tell(self, sketch: Sketch) -> None:
        """Refuse numbers that there is nothing to learn from."""
        if not sketch.spread.count.any():
            raise ModelError("M423", "there is not one number to learn from: all are missing")
        if sketch.spread.is_flat():
            raise ModelError(
                "M422",
                "the numbers never change, so there are no regimes to tell apart",
                help=["check that the right column is read", "-m naive   forecasts the last value"],
            )
        steps = int((~np.isnan(sketch.rows).all(1)).sum())
        if steps < self.states:
            raise ModelError(
                "M421",
                f"states = {self.states}: there are only {steps} steps to learn from",
                help=[f"--set model.states={max(1, min(3, steps // 10))}"],
            )

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        if self.signature.form is Form.FORECAST:
            rows, lengths = self._rows(whole_series(batch))
            past, _ = self._rows(batch.source)
            regimes = self.regimes[0]
            return regimes.totals(rows, lengths) - regimes.totals(past, lengths)
        if self.is_told:
            return self._told_log_prob(batch)
        chosen = batch.target.values[:, :1].astype(np.int64)
        found: np.ndarray = np.take_along_axis(self._classes(batch.source), chosen, 1)[:, 0]
        return found

    def _classes(self, source: Sequences) -> Float[np.ndarray, "batch labels"]:
        """log p(label | series)."""
        rows, lengths = self._rows(source)
        totals = np.column_stack([regimes.totals(rows, lengths) for regimes in self.regimes])
        with np.errstate(divide="ignore"):
            scores = totals + np.log(self._prior)
        return scores - add(scores)[:, None]

    def _told_log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """log p(labels | series): that of one path, less that of all."""
        rows, lengths = self._rows(batch.source)
        regimes, labels, mask = self.regimes[0], batch.target.values, batch.target.mask
        places = regimes.places(rows, lengths)
        scores = np.zeros(mask.shape)
        scores[mask] = places.table[np.arange(len(rows)), labels[mask]]
        lattice = regimes.lattice
        scores[:, 1:] += np.where(mask[:, 1:], lattice.moves[labels[:, :-1], labels[:, 1:]], 0.0)
        scores[:, 0] += np.where(mask[:, 0], lattice.first[labels[:, 0]], 0.0)
        return scores.sum(1) - compiled.totals(lattice, places)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if self.signature.form is Form.FORECAST:
            return self._ahead(source, search)
        if not self.is_told:
            classes = self._classes(source)
            best = Sequences(classes.argmax(1)[:, None], np.ones(len(source), dtype=np.int64))
            chances = np.exp(classes)[:, None] if search.chances else None
            return Prediction(best, classes.max(1), chances=chances)
        rows, lengths = self._rows(source)
        regimes, mask = self.regimes[0], source.mask
        places = regimes.places(rows, lengths)
        path, scores = compiled.viterbi(regimes.lattice, places)
        labels, chances = np.zeros(mask.shape, dtype=np.int64), None
        labels[mask] = path
        if search.chances:
            chances = np.zeros((*mask.shape, self.states))
            chances[mask] = compiled.posteriors(regimes.lattice, places).chances
        log_probs = scores - compiled.totals(regimes.lattice, places)
        return Prediction(Sequences(labels, lengths), log_probs, chances=chances)

    def _ahead(self, source: Sequences, search: Search) -> Prediction:
        """A mixture of what the states show, at each step with the chances of being in them."""
        horizon = search.horizon or getattr(self.signature.target, "horizon", 1)
        rows, lengths = self._rows(source)
        regimes, chance = self.regimes[0], np.random.default_rng(search.seed)
        chances = regimes.chances(rows, lengths)  # steps ahead show nothing yet
        found = []
        for end, length in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
            here = chances[end - min(horizon, length) : end]
            found.append(self._foreseen(here, search.samples, chance))
        is_counted = KINDS[self.emissions].is_counted
        means = Sequences.pad([np.round(one.mean) if is_counted else one.mean for one in found])
        return Prediction.ahead(found, self.log_prob(Batch(source, means)))

    def _foreseen(
        self, chances: Float[np.ndarray, "time states"], samples: int, chance: np.random.Generator
    ) -> Foreseen:
        regimes = self.regimes[0]
        quantiles = regimes.shown.quantiles(chances, np.array(LEVELS))
        paths = regimes.futures(chances[0], len(chances), samples, chance) if samples else None
        return Foreseen(chances @ regimes.shown.means(), quantiles, paths)

    def state_chances(self, source: Sequences) -> Float[np.ndarray, "batch time states"]:
        """p(z_t | series) at each step, of the first walk; 0 where there is none."""
        found = np.zeros((*source.values.shape[:2], self.states))
        found[source.mask] = self.regimes[0].chances(*self._rows(source))
        return found

    def walked(self, source: Sequences) -> Walked:
        """What a series says of its states; where each class has a walk, of the likeliest class."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        best = 0 if self.walks == 1 else int(self._classes(one).argmax())
        (rows, lengths), regimes = self._rows(one), self.regimes[best]
        filtered = compiled.filtered(regimes.lattice, regimes.places(rows, lengths))
        smoothed, path = regimes.chances(rows, lengths), regimes.path(rows, lengths)
        return Walked(filtered, smoothed, path, regimes.moves, regimes.shown.means())

    def stepper(self) -> Stepper:
        """Steps that forecast, or tell labels, as far as the series was read."""
        if self.signature.form is Form.FORECAST:
            return ForecastSteps(self.regimes[0], self.check)
        return LabelSteps(self.regimes, None if self.is_told else self._prior, self.check)

    def weights(self) -> Weights:
        shown = {
            name: np.stack([getattr(one.shown, name) for one in self.regimes])
            for name in KINDS[self.emissions].names()
        }
        first, moves = (np.stack([getattr(o, n) for o in self.regimes]) for n in ("first", "moves"))
        ground = np.stack([self._ground.centre, self._ground.spread])
        begun = np.array([float(self._is_begun)])
        told = {"begun": begun, "ground": ground, "prior": self._prior}
        return {**told, "first": first, "moves": moves, **shown}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit {self.states} hidden regimes")
        self._is_begun, self._prior = bool(weights["begun"][0]), weights["prior"]
        self._ground = Ground(*weights["ground"])
        kind = KINDS[self.emissions]
        shown = [kind(*(weights[n][walk] for n in kind.names())) for walk in range(self.walks)]
        walks = zip(weights["first"], weights["moves"], shown, strict=True)
        self.regimes = [Regimes(*walk) for walk in walks]

    def _blank(self) -> Regimes:
        shown: Emission = KINDS[self.emissions].blank(self.states, self.components, self._ground)
        return Regimes.blank(shown, self.states, left_to_right=self.left_to_right)

    def _rows(self, source: Sequences) -> tuple[Rows, Lengths]:
        """Observed numbers of all series one after another, and how long each is."""
        rows = source.values[source.mask][:, : self.width].astype(np.float64)
        self.check(rows)
        return rows, source.lengths

    def check(self, rows: Rows) -> None:
        """Refuse numbers that no state could show."""
        if np.isinf(rows).any():
            raise ModelError("M424", "a number is infinite", help=["leave it empty: missing"])
        if not KINDS[self.emissions].is_counted:
            return
        seen = rows[~np.isnan(rows)]
        odd = seen[(seen < 0) | (seen != np.round(seen))]
        if len(odd):
            raise ModelError(
                "M425",
                f"emissions = 'poisson': {odd[0]:g} is no count",
                notes=["Counts are whole numbers that are not negative, and are read unscaled."],
                help=[
                    "--set model.emissions=diagonal",
                    "--set task.scaling=none   read as they are",
                ],
            )


def whole_series(batch: Batch) -> Sequences:
    """The source, where series are forecast with the target in its place at the end."""
    if batch.target.values.ndim < 3:
        return batch.source
    values, width = batch.source.values.copy(), batch.target.values.shape[-1]
    for row, (length, ahead) in enumerate(
        zip(batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True)
    ):
        values[row, length - ahead : length, :width] = batch.target.values[row, :ahead]
    return Sequences(values, batch.source.lengths)


def _wrong(problem: str, option: str) -> ModelError:
    example = {"states": "3", "components": "2", "restarts": "5", "floor": "0.001"}
    help = f"--set model.{option}={example.get(option, '0.0001')}"
    return ModelError("M420", f"model.{problem}", help=[help])
