"""Forecasts of ETTh1, 96 and 192 hours ahead: linear models and networks under equal time.

Every model takes as many steps as fit into the same time of one processor, which a few steps tell
beforehand, so that other work on the machine disturbs no one. It learns from the same pieces of the
training part (12 months), with the best of eight evaluations by the validation part (4 months);
then every window of the test part (4 months) is forecast. Errors are on numbers scaled by the
training part, as published. All tell the whole horizon at once (`ahead = direct`) and fit its mean
by squared error. Networks centre every window by its last value, read a day as one vector
(`patch = 24`), and take the seven series as series of their own, one model learning from all of
them; linear models do the latter by sharing their weights.

    python benchmarks/etth1.py --seconds 120
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from surroundings import arguments, data_set, in_words, machine, positive, report, say, table

from seqloom.batch import Item, Sequences
from seqloom.config import taken
from seqloom.data.loading.windows import Pieces
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.signature import Form, Series, Signature
from seqloom.training.gradient_descent import Descent
from seqloom.training.options import Training

LOOK_BACK, BATCH, BATCH_APART, ROWS = 336, 32, 128, 256
TRAIN, VALID, TEST = 8640, 11520, 14400  # where the parts end: 12, 4 and 4 months
EVALUATIONS, PROBED = 8, 25
LINEAR = {"look_back": LOOK_BACK}
CENTRED = {"ahead": "direct", "output": "squared", "look_back": LOOK_BACK, "patch": 24} | {
    "center": "last",
    "dropout": 0.2,
}
RUNNERS = {
    "DLinear": ("linear", LINEAR | {"variety": "dlinear"}, 0.005),
    "NLinear": ("linear", LINEAR | {"variety": "nlinear"}, 0.005),
    "recurrent (GRU)": ("recurrent", CENTRED | {"cell": "gru", "width": 64, "hidden": 128}, 0.001),
    "convolutional": ("convolutional", CENTRED | {"width": 64, "hidden": 64, "layers": 3}, 0.001),
    "transformer": ("transformer", CENTRED | {"width": 64, "heads": 4, "layers": 2}, 0.001),
}


@dataclass(frozen=True)
class Errors:
    """Means over all windows, steps and numbers."""

    squared: float
    absolute: float


def read(path: Path) -> np.ndarray:
    """The seven series, scaled by the training part."""
    numbers = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(1, 8))[:TEST]
    learned = numbers[:TRAIN]
    scaled: np.ndarray = (numbers - learned.mean(0)) / learned.std(0)
    return scaled


def judged(model: Any, rows: np.ndarray, begin: int, end: int, horizon: int, apart: int) -> Errors:
    """Windows whose futures lie between two steps, so far apart."""
    squared, absolute, count = 0.0, 0.0, 0
    starts = np.arange(begin, end - horizon + 1, apart)
    for few in np.split(starts, range(ROWS, len(starts), ROWS)):
        values = rows[few[:, None] + np.arange(-LOOK_BACK, horizon)]
        if model.signature.target.width == 1:  # each series by itself
            values = np.moveaxis(values, 2, 0).reshape(-1, LOOK_BACK + horizon, 1)
        values = values.copy()
        future = values[:, LOOK_BACK:].copy()
        values[:, LOOK_BACK:] = np.nan
        source = Sequences(values, np.full(len(values), LOOK_BACK + horizon))
        with model.at_rest():
            errors = model.predict(source, Search()).target.values - future
        squared, absolute = squared + (errors**2).sum(), absolute + np.abs(errors).sum()
        count += errors.size
    return Errors(squared / count, absolute / count)


def made(name: str, rows: np.ndarray, horizon: int, steps: int) -> tuple[Any, Descent]:
    """A model and the way it learns."""
    kind_name, options, rate = RUNNERS[name]
    kind, is_apart = MODELS[kind_name], kind_name != "linear"
    kind.seed(1)
    width = 1 if is_apart else rows.shape[1]
    space = Series(width, 0, 24, horizon)
    model: Any = kind(Signature(Form.FORECAST, space, space), **taken(kind, options))
    series = np.split(rows[:TRAIN], rows.shape[1] // width, axis=1)
    learned = [Item(np.zeros((TRAIN, width)), one) for one in series]
    batch = BATCH_APART if is_apart else BATCH
    pieces = Pieces(learned, LOOK_BACK, horizon, rows=batch, seed=1)
    clip = 1.0 if is_apart else 0.0
    settings = Training(epochs=10**6, steps=steps, learning_rate=rate, clip=clip)
    return model, Descent(model, pieces, settings)


def steps_in(name: str, rows: np.ndarray, horizon: int, seconds: float) -> int:
    """How many steps fit into so much time of one processor: by the middle of a few."""
    _, way = made(name, rows, horizon, PROBED)
    began, spent = time.process_time(), []
    for _ in way.steps():
        spent.append(time.process_time() - began)
        began = time.process_time()
    return max(EVALUATIONS, int(seconds / float(np.median(spent))))


def trained(name: str, rows: np.ndarray, horizon: int, seconds: float) -> tuple[Any, int]:
    """A model at the best of its evaluations, and how many steps it took."""
    model, way = made(name, rows, horizon, steps_in(name, rows, horizon, seconds))
    best, kept, due = np.inf, model.weights(), 1
    for step in way.steps():
        if step.progress >= due / EVALUATIONS:
            due = int(step.progress * EVALUATIONS) + 1
            error = judged(model, rows, TRAIN, VALID, horizon, 7).squared
            if error < best:
                best = error
                kept = {key: np.array(array) for key, array in model.weights().items()}
            model.train()
    model.restore(kept)
    say(f"{name}, {horizon} hours: {best:.3f} on the validation part, after {way.step:,} steps")
    return model, way.step


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--seconds", type=positive, default=120, metavar="S", help="processor time of each training"
    )
    parser.add_argument(
        "--horizons", type=positive, nargs="+", default=[96, 192], metavar="H", help="hours ahead"
    )
    asked = parser.parse_args()
    (path,) = data_set("ett/ETTh1.csv")
    facts = machine(1)
    torch.set_num_threads(1)
    rows, found = read(path), []
    for horizon in map(int, asked.horizons):
        for name in RUNNERS:
            model, steps = trained(name, rows, horizon, asked.seconds)
            errors = judged(model, rows, VALID, TEST, horizon, 1)
            found.append(
                {"model": name, "horizon": horizon, "parameters": model.size(), "steps": steps}
                | {"mse": errors.squared, "mae": errors.absolute}
            )
            say(f"{name}, {horizon} hours: {errors.squared:.3f} / {errors.absolute:.3f}")
    results = {"seconds": asked.seconds, "rows": found, "machine": facts}
    report(shown(results), results, asked.json)


def shown(results: dict[str, Any]) -> str:
    """The table, and the machine below it."""
    lines = [
        [r["model"], str(r["horizon"]), f"{r['parameters']:,}", f"{r['steps']:,}"]
        + [f"{r['mse']:.3f}", f"{r['mae']:.3f}"]
        for r in results["rows"]
    ]
    head = ["model", "horizon", "parameters", "steps", "MSE", "MAE"]
    below = (
        f"{results['seconds']} s of one processor for each training; {in_words(results['machine'])}"
    )
    return f"{table(head, lines)}\n\n{below}"


if __name__ == "__main__":
    main()
