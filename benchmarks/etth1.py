"""Forecasts of ETTh1, 96 and 192 hours ahead: linear models and networks under equal time.

Every model trains for the same time on one thread, on the same pieces of the training part (12
months), with the best step chosen by the validation part (4 months); then every window of the test
part (4 months) is forecast. Errors are on numbers scaled by the training part, as published. All
tell the whole horizon at once (`ahead = direct`) and fit its mean by squared error; networks centre
every window by its last value.

    python benchmarks/etth1.py --seconds 120
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from surroundings import arguments, data_set, in_words, machine, positive, report, say, table

from seqloom.batch import Item, Sequences
from seqloom.data.pieces import Pieces
from seqloom.forms import Form, Series, Signature
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.options import taken
from seqloom.training.gradient import Descent
from seqloom.training.settings import Training

LOOK_BACK, BATCH, ROWS = 336, 32, 256
TRAIN, VALID, TEST = 8640, 11520, 14400  # where the parts end: 12, 4 and 4 months
EVALUATIONS = 8
DIRECT = {"ahead": "direct", "output": "squared", "look_back": LOOK_BACK}
CENTRED = DIRECT | {"center": "last", "dropout": 0.1}
RUNNERS = {
    "DLinear": ("linear", {"variety": "dlinear", "look_back": LOOK_BACK}, 0.005),
    "NLinear": ("linear", {"variety": "nlinear", "look_back": LOOK_BACK}, 0.005),
    "recurrent (GRU)": ("recurrent", CENTRED | {"cell": "gru", "width": 32, "hidden": 64}, 0.002),
    "convolutional": ("convolutional", CENTRED | {"width": 32, "hidden": 32, "layers": 6}, 0.002),
    "transformer": ("transformer", CENTRED | {"width": 32, "heads": 4, "layers": 2}, 0.001),
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
        values = rows[few[:, None] + np.arange(-LOOK_BACK, horizon)].copy()
        future = values[:, LOOK_BACK:].copy()
        values[:, LOOK_BACK:] = np.nan
        source = Sequences(values, np.full(len(few), LOOK_BACK + horizon))
        with model.at_rest():
            errors = model.predict(source, Search()).target.values - future
        squared, absolute = squared + (errors**2).sum(), absolute + np.abs(errors).sum()
        count += errors.size
    return Errors(squared / count, absolute / count)


def trained(name: str, rows: np.ndarray, horizon: int, seconds: float) -> tuple[Any, int]:
    """A model at the best of its evaluations, and how many steps it took."""
    kind_name, options, rate = RUNNERS[name]
    kind = MODELS[kind_name]
    kind.seed(1)
    width = rows.shape[1]
    space = Series(width, 0, 24, horizon)
    model: Any = kind(Signature(Form.FORECAST, space, space), **taken(kind, options))
    learned = Item(np.zeros((TRAIN, width)), rows[:TRAIN])
    pieces = Pieces([learned], LOOK_BACK, horizon, rows=BATCH, seed=1)
    settings = Training(
        epochs=10**6,
        max_time=f"{seconds}s",
        learning_rate=rate,
        clip=0.0 if kind_name == "linear" else 1.0,
    )
    way = Descent(model, pieces, settings)
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
    return model, way.step


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--seconds", type=positive, default=120, metavar="S", help="training time of each model"
    )
    asked = parser.parse_args()
    (path,) = data_set("ett/ETTh1.csv")
    facts = machine(1)
    torch.set_num_threads(1)
    rows, found = read(path), []
    for horizon in (96, 192):
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
    below = f"{results['seconds']} s of training each; {in_words(results['machine'])}"
    return f"{table(head, lines)}\n\n{below}"


if __name__ == "__main__":
    main()
