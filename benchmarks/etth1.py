"""Forecasts of ETTh1, 96 and 192 hours ahead: linear models and networks under equal time.

Every model is trained for as many steps as fit into the same CPU time, estimated from a few steps,
so that the load of the machine does not matter. All are trained on the same windows of the training
set (12 months), with the best of eight evaluations on the validation set (4 months); then every
window of the test set (4 months) is forecast. Errors are on values standardised by the training
set, as published. All are direct forecasters (`ahead = direct`) trained with squared error.
Networks normalise every window by its last value, read patches of a day (`patch = 24`), and are
univariate, one global model for all seven series; linear models share weights between series.

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
from seqloom.config import constructor_arguments
from seqloom.data.loading.windows import WindowLoader
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.signature import Form, Series, Signature
from seqloom.training.gradient_descent import GradientDescent
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
    "DLinear": ("dlinear", LINEAR, 0.005),
    "NLinear": ("nlinear", LINEAR, 0.005),
    "recurrent (GRU)": (
        "recurrent",
        CENTRED | {"cell": "gru", "embedding_size": 64, "hidden_size": 128},
        0.001,
    ),
    "convolutional": (
        "convolutional",
        CENTRED | {"embedding_size": 64, "hidden_size": 64, "num_layers": 3},
        0.001,
    ),
    "transformer": (
        "transformer",
        CENTRED | {"hidden_size": 64, "num_heads": 4, "num_layers": 2},
        0.001,
    ),
}


@dataclass(frozen=True)
class Errors:
    """Means over all windows, steps and variables."""

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
        with model.inference_mode():
            errors = model.predict(source, Search()).target.values - future
        squared, absolute = squared + (errors**2).sum(), absolute + np.abs(errors).sum()
        count += errors.size
    return Errors(squared / count, absolute / count)


def made(name: str, rows: np.ndarray, horizon: int, steps: int) -> tuple[Any, GradientDescent]:
    """A model and the way it learns."""
    kind_name, options, rate = RUNNERS[name]
    kind, is_apart = MODELS[kind_name], kind_name not in ("dlinear", "nlinear")
    kind.seed(1)
    width = 1 if is_apart else rows.shape[1]
    space = Series(width, 0, 24, horizon)
    model: Any = kind(
        Signature(Form.FORECAST, space, space), **constructor_arguments(kind, options)
    )
    series = np.split(rows[:TRAIN], rows.shape[1] // width, axis=1)
    learned = [Item(np.zeros((TRAIN, width)), one) for one in series]
    batch = BATCH_APART if is_apart else BATCH
    pieces = WindowLoader(learned, LOOK_BACK, horizon, batch_size=batch, seed=1)
    clip = 1.0 if is_apart else 0.0
    settings = Training(epochs=10**6, max_steps=steps, learning_rate=rate, max_grad_norm=clip)
    return model, GradientDescent(model, pieces, settings)


def steps_in(name: str, rows: np.ndarray, horizon: int, seconds: float) -> int:
    """Number of training steps that fit into so much CPU time: by the median of a few."""
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
                {
                    "model": name,
                    "horizon": horizon,
                    "parameters": model.num_parameters(),
                    "steps": steps,
                }
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
