"""The simple forecasts: M4 hourly by its naive figures, and whether the bands of taps hold.

M4 hourly (414 series, 48 hours ahead, a season of 24): naive and seasonal naive must have the
published sMAPE and MASE to three decimals. Beside them is autoregression of the changes from season
to season, one model for all series.

Coverage: the last quarter of each series is held out, with a forecast of a season at every origin
(every season of long series). How each is read is settled before: logarithms for passengers, which
grow by a share of themselves, roots for sunspots, which are counts; changes from season to season
where the lowest criterion on the training part is theirs. The order is chosen by BIC.

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
SERIES: dict[str, dict[str, Any]] = {
    "airline-passengers": {"task.transform": "log", "task.stride": 1},
    "monthly-sunspots": {"task.transform": "sqrt"},
    "daily-min-temperatures": {},
}
HELD_OUT = 0.25
CHOICES = ("none", "step", "season")
BOUND = 0.04  # how far a share may be off


def main() -> None:
    """Train, judge and report."""
    given = arguments(__doc__).parse_args()
    train, test = data_set("m4-hourly/Hourly-train.csv", "m4-hourly/Hourly-test.csv")
    files = data_set(*(f"series/{name}.csv" for name in SERIES))
    facts = machine(1)
    hours = []
    for model, settings in M4:
        say(model)
        hours.append(judged(model, train, {**HOURS, **settings, "data.test": str(test)}))
    bands = [covered(name, path) for name, path in zip(SERIES, files, strict=True)]
    results = {"m4": hours, "coverage": bands, "machine": facts}
    report(shown(hours, bands, facts), results, given.json)
    for row in hours:
        if row["model"] in PUBLISHED:
            found = (round(row["smape"], 3), round(row["mase"], 3))
            assert found == PUBLISHED[row["model"]], f"{row['model']}: {found}"
    for row in bands:
        assert abs(row["coverage_80"] - 0.8) <= BOUND, row
        assert abs(row["coverage_95"] - 0.95) <= BOUND, row


def judged(model: str, path: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """A model trained on a file and judged on its test part."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = seqloom.train(
            "forecast", path, model=model, name="run", runs=folder, settings=settings
        )
        found = run.evaluate()
        values = found.values()
        about: dict[str, Any] = {"model": model, "windows": len(found.examples)}
        if model == "autoregressive":
            about |= {"order": run.model.order or len(run.model.delays.taps)}
            about |= {"criterion": min(run.model.criteria.values(), default=0.0)}
    return {**about, **values, "seconds": time.monotonic() - began}


def covered(name: str, path: Any) -> dict[str, Any]:
    """How many values lie in the bands, for the changes that the training part speaks for."""
    say(name)
    common = {"data.test_fraction": HELD_OUT, "data.valid_fraction": 0.1, "model.criterion": "bic"}
    common |= SERIES[name]
    noise = {kind: surprise(path, {**common, "model.differences": kind}) for kind in CHOICES}
    best = min(noise, key=lambda kind: noise[kind])
    row = judged("autoregressive", path, {**common, "model.differences": best})
    return {"series": name, "differences": best, **row}


def surprise(path: Any, settings: dict[str, Any]) -> float:
    """The criterion of the training part, which is the log of the size of a step's error."""
    with tempfile.TemporaryDirectory() as folder:
        kwargs: dict[str, Any] = {"model": "autoregressive", "name": "run", "runs": folder}
        recipe = seqloom.train("forecast", path, settings=settings, **kwargs).recipe
        return learned_criterion(recipe)


def learned_criterion(recipe: Any) -> float:
    """Learn from the training part once more, and ask for what chose the order."""
    from seqloom.batch import collate
    from seqloom.parts import read_parts

    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    model = recipe.build_model(task.signature())
    model.update(model.statistics(collate([task.encode(one) for one in parts.train])))
    return min(model.criteria.values())


def shown(hours: list[dict[str, Any]], bands: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """Two tables, and the machine."""
    first = [
        [r["model"], f"{r['smape']:.3f}", f"{r['mase']:.3f}", f"{r['seconds']:.1f}"] for r in hours
    ]
    second = [
        [
            r["series"],
            r["differences"],
            str(r["windows"]),
            f"{100 * r['coverage_80']:.1f} %",
            f"{100 * r['coverage_95']:.1f} %",
            f"{r['mase']:.3f}",
        ]
        for r in bands
    ]
    return "\n\n".join(
        [
            table(["M4 hourly", "sMAPE", "MASE", "seconds"], first),
            table(
                ["series", "changes", "windows", "in 80 % bands", "in 95 % bands", "MASE"], second, 2
            ),
            in_words(facts),
        ]
    )


if __name__ == "__main__":
    main()
