"""Recalibrated prediction intervals: fitted on the validation part, kept with the run, optional."""

import numpy as np
import pytest

import seqloom
from seqloom.errors import UsageError

QUIET = {"task.horizon": 4, "task.stride": 1, "task.period": 1, "model.structure": "local-level"}


@pytest.fixture(scope="module")
def shaky(tmp_path_factory):
    """A walk that goes three times as far in each step once it is not learned from any more."""
    folder = tmp_path_factory.mktemp("shaky")
    steps = np.random.default_rng(4).normal(size=400)
    steps[240:] *= 3
    rows = "".join(f"{n},{value:.4f}\n" for n, value in enumerate(steps.cumsum()))
    (folder / "walk.csv").write_text("step,value\n" + rows)
    return folder


def trained(folder, name, **settings):
    file, parts = folder / "walk.csv", {"data.valid_fraction": 0.2, "data.test_fraction": 0.2}
    return seqloom.train(
        "forecast", file, model="kalman", name=name, runs=folder, settings=QUIET | parts | settings
    )


def test_bands_are_as_wide_as_the_validation_part_shows(shaky):
    run, plain = trained(shaky, "moved"), trained(shaky, "plain", **{"task.calibrate": False})
    assert (run.task.bands.factors > 2).all() and not len(plain.task.bands.factors)
    found, own = run.evaluate().values(), plain.evaluate().values()
    assert own["coverage_80"] < 0.6 < 0.7 < found["coverage_80"] < 0.92
    assert found["mase"] == own["mase"] and found["loss"] == own["loss"]
    (forecast,) = seqloom.load(shaky / "moved").forecast(shaky / "walk.csv")
    (narrow,) = seqloom.load(shaky / "plain").forecast(shaky / "walk.csv")
    widths = [np.subtract(*one.interval(0.8)[::-1])[:, 0] for one in (forecast, narrow)]
    np.testing.assert_allclose(widths[0] / widths[1], run.task.bands.factors)


def test_a_run_of_old_has_the_bands_of_its_model(shaky):
    task = trained(shaky, "old").task
    state = task.state()
    assert state.pop("bands")
    task.restore(state)
    assert not len(task.bands.factors)


def test_the_best_step_is_chosen_by_what_is_asked(shaky):
    settings = {"training.max_steps": 6, "training.evaluate_steps": 1, "task.horizon": 4}
    settings |= {"model.embedding_size": 4, "model.hidden_size": 4, "task.period": 1}
    for metric in ("crps", "smape"):
        run = seqloom.train(
            "forecast", shaky / "walk.csv", model="recurrent", name=f"by-{metric}", runs=shaky,
            settings=settings | {"training.monitor": metric},
        )  # fmt: skip
        judged = [event for event in run.events() if event["kind"] == "eval"]
        kept = [event[metric] for event in judged if event["best"]]
        assert kept[-1] == min(event[metric] for event in judged)
    with pytest.raises(UsageError) as told:
        seqloom.train(
            "forecast", shaky / "walk.csv", model="naive", name="wrong", runs=shaky,
            settings={"training.monitor": "bleu"},
        )  # fmt: skip
    assert told.value.code == "U014" and "crps" in told.value.help[0]
