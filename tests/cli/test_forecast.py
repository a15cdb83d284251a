"""seqloom forecast, and other commands on forecasting runs."""

import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.data.series.windows import ForecastWindow
from seqloom.errors import UsageError
from seqloom.evaluation.by_length import by_horizon
from seqloom.prediction import LEVELS
from seqloom.recipe import Recipe

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files of series, and runs that learned from them; tests must not change either."""
    folder = tmp_path_factory.mktemp("series")
    steps = np.arange(144)
    sales = 200 + steps + 30 * np.sin(steps * np.pi / 6) + steps * 7919 % 13
    months = [f"{2010 + n // 12}-{n % 12 + 1:02}" for n in steps]
    rows = [f"{month},{value:.1f}" for month, value in zip(months, sales, strict=True)]
    (folder / "sales.csv").write_text("\n".join(["month,sales", *rows]) + "\n")
    two = [f"{m},{50 + n * 11 % 7},{90 - n / 4}" for n, m in enumerate(months[:96])]
    (folder / "shops.csv").write_text("\n".join(["month,north,south", *two]) + "\n")
    days = [
        f"{'' if n >= 93 else 20 + 80 * (n % 7 < 5) + n * 31 % 7},{n % 7 < 5:d}" for n in range(100)
    ]
    (folder / "visits.csv").write_text("\n".join(["visits,open", *days]) + "\n")
    runs = folder / "runs"
    for name, file, task, model, columns in (
        ("sales", "sales.csv", {"horizon": 12}, {"name": "seasonal-naive"}, ""),
        ("shops", "shops.csv", {"horizon": 6}, {"name": "naive"}, ""),
        ("both", "shops.csv", {"horizon": 6, "together": True}, {"name": "naive"}, ""),
        ("visits", "visits.csv", {"horizon": 7}, {"name": "autoregressive"}, "value=visits,known=open"),
    ):  # fmt: skip
        recipe = Recipe(
            data={"train": str(folder / file), "columns": columns},
            task={"name": "forecast", **task},
            model=model,
        )
        seqloom.train(recipe, name=name, runs=runs)
    return folder


@pytest.fixture
def tell(place, capsys, monkeypatch):
    """Run a command in the folder of the files: its exit code, stdout and stderr."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--runs-dir", "runs"])
        out, err = capsys.readouterr()
        return code, out, err

    return command


def test_one_series_is_drawn_and_tabled(tell):
    code, out, err = tell("forecast", "sales", "sales.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "sales  2014-01 – 2022-12"
    assert lines[2].startswith("     mean  ") and lines[2].index("│") == lines[1].index("│")
    assert lines[5].split() == ["mean", "80", "%", "from", "to", "95", "%", "from", "to"]
    table = [line.split() for line in lines[6:18]]
    assert [row[0] for row in table] == [f"2022-{month:02}" for month in range(1, 13)]
    for row in table:
        mean, low80, high80, low95, high95 = map(float, row[1:])
        assert low95 < low80 < mean < high80 < high95
    run = seqloom.load(Path("runs/sales"))
    (found,) = run.forecast("sales.csv")
    assert [float(row[1]) for row in table] == pytest.approx(found.mean[:, 0], abs=0.06)
    assert " ".join(lines[18:]).strip().startswith(("Rises from", "Falls from", "Stays at"))
    assert max(map(len, lines)) <= 80


def test_a_forecast_is_what_predict_says_of_the_same_numbers(place):
    """Typed numbers, a file and the model itself agree, in the units of the file."""
    run = seqloom.load(place / "runs" / "sales")
    (found,) = run.forecast(place / "sales.csv", horizon=12)
    (same,) = run.forecast(found.past[:, 0].tolist(), horizon=12)
    assert np.allclose(found.mean, same.mean) and np.allclose(*map(_edges, (found, same)))
    window = run.task.question(" ".join(repr(float(n)) for n in found.past[:, 0]))
    (answer,) = run.predictions(
        [" ".join(repr(float(n)) for n in found.past[:, 0])], seqloom.Search()
    )
    assert np.allclose(answer.value.mean, found.mean) and isinstance(window, ForecastWindow)
    assert found.ahead[0] == "2022-01" and same.ahead == tuple(map(str, range(145, 157)))
    # The season again: what was a year ago.
    assert np.allclose(found.mean[:, 0], found.past[-12:, 0])


def _edges(found):
    return np.stack(found.interval(0.8))


def test_json_is_one_object_for_each_series(tell):
    code, out, _ = tell(
        "forecast", "shops", "shops.csv", "--json", "--samples", "3", "--horizon", "4"
    )
    north, south = map(json.loads, out.splitlines())
    assert code == 0 and list(north) == ["run", "series", "after", "horizon", "times", "numbers"]
    assert (north["run"], north["series"], south["series"]) == ("shops", "north", "south")
    assert north["after"] == "2017-12" and north["times"][0] == "2018-01" and north["horizon"] == 4
    (one,) = south["numbers"]
    assert np.array(one["samples"]).shape == (3, 4) and one["actual"] is None
    assert list(one["quantiles"]) == [f"{level:g}" for level in LEVELS]
    bands = np.array(list(one["quantiles"].values()))
    assert (np.diff(bands, axis=0) > 0).all()
    again = tell("forecast", "shops", "shops.csv", "--json", "--samples", "3", "--horizon", "4")[1]
    other = tell("forecast", "shops", "shops.csv", "--json", "--samples", "3", "--seed", "2")[1]
    assert again == out and other != out


def test_several_numbers_of_one_series_stand_together(tell, place):
    code, out, _ = tell("forecast", "both", "shops.csv", "--json", "--hold-out")
    (found,) = map(json.loads, out.splitlines())
    assert code == 0 and [one["name"] for one in found["numbers"]] == ["north", "south"]
    held = [float(row.split(",")[2]) for row in (place / "shops.csv").read_text().split()[-6:]]
    assert found["numbers"][1]["actual"] == pytest.approx(held)
    _, out, _ = tell("forecast", "both", "shops.csv")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["north", "south"]


def test_many_series_have_a_line_each_and_can_be_chosen(tell):
    _, out, _ = tell("forecast", "shops", "shops.csv")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["north", "south"]
    _, out, _ = tell("forecast", "shops", "shops.csv", "--series", "south")
    assert out.startswith("south  ") and "north" not in out
    code, _, err = tell("forecast", "shops", "shops.csv", "--series", "soth")
    assert code == 2 and "U315" in err and "did you mean 'south'?" in err


def test_what_is_held_out_stands_beside_the_forecast(tell):
    _, out, err = tell("forecast", "sales", "sales.csv", "--hold-out", "-o", "held.svg")
    lines = out.splitlines()
    assert lines[5].split()[-1] == "actual" and lines[6].split()[0] == "2021-01"
    run = seqloom.load(Path("runs/sales"))
    (found,) = run.forecast("sales.csv", hold_out=True)
    assert found.actual.shape == (12, 1) and len(found.past) == 132
    assert float(lines[6].split()[-1]) == pytest.approx(found.actual[0, 0], abs=0.06)
    low, high = found.interval(0.8)
    held = int(((found.actual >= low) & (found.actual <= high)).sum())
    assert f"The 80 % interval covers {held} of 12 actual values." in " ".join(lines)
    root = ElementTree.fromstring(Path("held.svg").read_text())
    assert sum(1 for _ in root.iter(f"{SVG}circle")) == 12 and lines[-1] == "held.svg"


def test_csv_has_every_step(tell):
    code, out, err = tell("forecast", "shops", "shops.csv", "--csv", "-", "-o", "fan.svg")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err, len(rows)) == (0, "fan.svg\n", 12)
    assert (rows[6]["series"], rows[6]["time"], rows[6]["actual"]) == ("south", "2018-01", "")
    assert float(rows[0]["0.025"]) < float(rows[0]["mean"]) < float(rows[0]["0.975"])
    tell("forecast", "shops", "shops.csv", "--csv", "next.csv")
    assert Path("next.csv").read_text() == out
    code, _, err = tell("forecast", "shops", "shops.csv", "--csv", "nowhere/next.csv")
    assert code == 6 and "E302" in err


def test_json_and_a_picture_together(tell):
    code, out, err = tell("forecast", "sales", "sales.csv", "--json", "-o", "fan.png", "--dark")
    assert code == 0 and json.loads(out)["series"] == "sales" and err == "fan.png\n"
    assert Path("fan.png").stat().st_size > 1000


def test_a_long_table_says_that_it_is_cut(tell):
    _, out, _ = tell("forecast", "sales", "sales.csv", "--horizon", "60")
    assert "and 37 more steps: --csv FILE or --json gives all of them" in out
    assert len(out.splitlines()) < 40


def test_inputs_of_the_future_come_from_the_last_rows(tell, place):
    code, out, err = tell("forecast", "visits", "visits.csv", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["after"] == "93" and found["horizon"] == 7
    mean = np.array(found["numbers"][0]["mean"])
    is_open = np.array([n % 7 < 5 for n in range(93, 100)])
    assert mean[is_open].min() > mean[~is_open].max() + 30
    shorter = "\n".join((place / "visits.csv").read_text().split("\n")[:98])
    (place / "shorter.csv").write_text(shorter + "\n")
    code, _, err = tell("forecast", "visits", "shorter.csv")
    assert code == 3 and "D225" in err and "--horizon 4" in err
    code, out, _ = tell("forecast", "visits", "shorter.csv", "--horizon", "4")
    assert code == 0 and len(out.splitlines()) > 4


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("forecast", "sales", "sales.csv", "--horizon", "0"), 2, "U010"),
        (("forecast", "sales", "sales.csv", "--samples", "-1"), 2, "U060"),
        (("forecast", "sales", "sales.csv", "--history", "-1"), 2, "U010"),
        (("forecast", "sales", "sales.csv", "--hold-out", "--horizon", "144"), 3, "D260"),
        (("forecast", "sales", "empty.csv"), 3, "D213"),
        (("forecast", "sales", "hollow.csv"), 3, "D213"),
        (("forecast", "sales", "none.csv"), 3, "D001"),
        (("forecast", "sales", "sales.csv", "-o", "fan.gif"), 2, "U011"),
        (("predict", "sales", "sales.csv"), 2, "U318"),
        (("predict", "sales", "1 two 3"), 3, "D224"),
        (("errors", "sales"), 2, "U319"),
        (("inspect", "sales"), 2, "U316"),
        (("inspect", "sales", "sales.csv", "--text", "1 2"), 2, "U316"),
        (("inspect", "sales", "sales.csv", "--view", "components"), 4, "M114"),
        (("inspect", "sales", "sales.csv", "--view", "gates"), 4, "M114"),
        (("evaluate", "sales", "--by-horizon", "--by-length"), 2, "U010"),
        (("evaluate", "sales", "-o", "x.svg"), 2, "U010"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_done_is_said(tell, place, arguments, code, words):
    months = (place / "sales.csv").read_text().split("\n")
    (place / "empty.csv").write_text("\n".join(line.split(",")[0] + "," for line in months[1:]))
    (place / "hollow.csv").write_text("month,sales\n2020-01,\n2020-02,\n")
    found, _, err = tell(*arguments)
    assert found == code and f"error[{words}]" in err, err


def test_a_run_of_texts_forecasts_nothing(cli, files):
    done = cli("forecast", "judge", str(files / "labels.csv"))
    assert done.code == 4 and "M110" in done.err
    done = cli("evaluate", "judge", "--by-horizon")
    assert done.code == 2 and "U317" in done.err
    done = cli("inspect", "judge", str(files / "labels.csv"))
    assert done.code == 2 and "U316" in done.err


def test_metrics_by_steps_ahead_add_up(tell):
    _, out, _ = tell(
        "evaluate", "sales", "sales.csv", "--by-horizon", "--json", "-o", "growing.svg"
    )
    found = json.loads(out)
    ahead = found["by_horizon"]
    assert [(one["first"], one["last"]) for one in ahead["steps"]] == [
        (n, n + 1) for n in range(1, 12, 2)
    ]
    for name in ("mae", "coverage_80", "mase"):
        mean = np.mean(ahead["metrics"][name])  # buckets are of one size, and nothing is missing
        assert mean == pytest.approx(found["metrics"][name]["value"], rel=1e-9)
    assert "loss" not in ahead["metrics"] and Path("growing.svg").stat().st_size > 1000
    squares = np.mean(np.square(ahead["metrics"]["rmse"]))
    assert math.sqrt(squares) == pytest.approx(found["metrics"]["rmse"]["value"])
    _, out, _ = tell("evaluate", "sales", "sales.csv", "--by-horizon")
    lines = out.splitlines()[-7:]
    assert lines[0].split()[:2] == ["horizon", "mase"] and lines[-1].split()[0] == "11-12"
    assert max(map(len, lines)) <= 80


def test_one_step_in_a_bucket(place):
    run = seqloom.load(place / "runs" / "sales")
    score = run.evaluate(place / "sales.csv")
    found = by_horizon(run.task, score, step=1)
    assert found.buckets == [(n, n) for n in range(1, 13)]
    errors = [
        abs(window.future - answer.value.mean)[:, 0]
        for window, answer in zip(score.examples, score.predictions, strict=True)
    ]
    assert found.values["mae"] == pytest.approx(np.mean(errors, axis=0).tolist())
    with pytest.raises(UsageError, match="U317"):
        by_horizon(seqloom.TASKS["tag"](), score)


def test_runs_are_compared_on_the_same_windows(tell, place):
    seqloom.train(
        Recipe(
            data={"train": str(place / "sales.csv")},
            task={"name": "forecast", "horizon": 12},
            model={"name": "drift"},
        ),
        name="drift",
        runs=place / "runs",
    )
    for more in ((), ("--file", "sales.csv")):
        code, out, err = tell("compare", "sales", "drift", *more, "--json")
        assert code == 0 and "not on the same as" not in err
        counts = [one["n"] for one in json.loads(out)["runs"]]
        assert counts[0] == counts[1]


def test_a_stream_answers_with_a_band(tell, place):
    (place / "numbers.txt").write_text("300\n310\n\n305\n")
    _, out, _ = tell("stream", "shops", "-f", "numbers.txt")
    lines = out.splitlines()
    mean, low, high = (float(part.strip("[],")) for part in lines[1].split())
    assert low < mean < high and lines[2] == ""
    _, out, _ = tell("stream", "shops", "-f", "numbers.txt", "--json")
    first, second, reset, _ = map(json.loads, out.splitlines())
    assert reset == {"reset": True} and first["posterior"] == {}
    run = seqloom.load(place / "runs" / "shops")
    (found,) = run.forecast([300, 310], horizon=1)
    scale = run.task.scaling.default_scale(1)
    given = run.task.scaling.scale_of("x", np.array([[300.0], [310.0]]))
    assert second["mean"][0] == pytest.approx(310) and found.mean[0, 0] == pytest.approx(310)
    wide = second["quantiles"]["0.9"][0] - second["quantiles"]["0.1"][0]
    low, high = found.interval(0.8)
    assert wide / scale.factor[0] == pytest.approx(float((high - low)[0, 0]) / given.factor[0])
    (place / "pairs.txt").write_text("3 4\n")
    _, out, _ = tell("stream", "both", "-f", "pairs.txt")
    assert out.count("[") == 2 and "; " in out


def test_typed_numbers_are_answered(tell):
    code, out, _ = tell("predict", "sales", "300 310 305")
    assert code == 0 and len(out.split()) == 12
    _, out, _ = tell("predict", "sales", "300 310 305", "--json")
    found = json.loads(out)
    assert len(found["output"]) == 12 and "probability" not in found
    assert set(found["quantiles"]) == {str(level) for level in LEVELS}


def test_inspect_draws_the_fan(tell):
    _, out, _ = tell("inspect", "sales", "sales.csv", "--view", "forecast", "-o", "look.svg")
    assert out == "look.svg\n"
    _, out, _ = tell("inspect", "sales", "--text", "300 310 305", "--json")
    found = json.loads(out)
    assert found["view"] == "forecast" and found["series"][0]["past"] == [300, 310, 305]
    _, out, _ = tell("inspect", "shops", "shops.csv", "--series", "south", "--json")
    assert [one["name"] for one in json.loads(out)["series"]] == ["south"]


def test_nothing_of_torch_is_needed(place):
    """The command starts quickly: statistical models are asked without torch."""
    program = (
        "import sys; from seqloom.cli.main import main;"
        "main(['forecast', 'sales', 'sales.csv', '-q', '--runs-dir', 'runs']);"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_every_forecast_is_explained(tell, place):
    """`why` shows the influence of the observations: of a file, of one series, of typed numbers."""
    whole = json.loads(tell("attribute", "sales", "--file", "sales.csv", "--json")[1])
    assert whole["unit"] == "weight" and whole["tokens"]["tgt"][0] == "2022-01"
    # A seasonal naive forecast copies the value of one season ago.
    weights = np.array(whole["influence"], dtype=float)
    np.testing.assert_allclose(weights[:, -12:], np.eye(12), atol=1e-6)
    assert not weights[:, :-12].any()
    viewed = seqloom.load(place / "runs" / "sales").inspect(file="sales.csv", view="influence")
    assert viewed.to_json()["influence"] == whole["influence"]
    one = json.loads(
        tell("attribute", "sales", "--file", "sales.csv", "--at", "2022-03", "--json")[1]
    )
    assert one["influence"] == whole["influence"][2:3] and one["places"] == [3]
    south = json.loads(
        tell("attribute", "shops", "--file", "shops.csv", "--series", "south", "--json")[1]
    )
    assert south["influence"][0][-1] == pytest.approx(1) and "the first of" not in str(south)
    typed = json.loads(tell("attribute", "shops", "--text", "3 4 5", "--json")[1])
    assert typed["influence"] == [pytest.approx([0, 0, 1], abs=1e-6)] * 6


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--file", "sales.csv", "--by", "occlusion"], "M341"),
        (["--file", "sales.csv", "--every"], "U122"),
        (["--file", "sales.csv", "--for", "3"], "U122"),
        (["--file", "sales.csv", "--at", "13"], "U120"),
        (["--file", "sales.csv", "--series", "nowhere"], "U315"),
        (["--text", "1 2 3", "--series", "north"], "U316"),
        (["--text", "one two"], "D224"),
        (["--text", " "], "D023"),
    ],
)
def test_what_no_forecast_can_be_asked_why(tell, arguments, code):
    assert f"error[{code}]" in tell("attribute", "sales", *arguments)[2]
