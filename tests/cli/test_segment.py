"""seqloom segment: segmentation of a file, pictures, JSON, a saved run, errors."""

import json

import numpy as np
import pytest

from seqloom.cli.main import main
from seqloom.views.segmentation import Regime, RegimesView, segments_of


@pytest.fixture
def river(tmp_path):
    """Two levels, each for twenty months, and a month that is missing."""
    chance = np.random.default_rng(0)
    rows = ["month,level"]
    for n in range(100):
        level = f"{(5, 25)[n // 20 % 2] + chance.normal():.2f}" if n != 7 else ""
        rows.append(f"{2010 + n // 12}-{n % 12 + 1:02},{level}")
    path = tmp_path / "river.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_states_stretches_and_a_sentence(river, capsys):
    assert main(["segment", str(river), "--states", "2", "--restarts", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["view"] == "regimes" and found["names"] == ["level"]
    assert [round(state["mean"][0]) for state in found["states"]] == [5, 25]
    assert [s["steps"] for s in found["stretches"]] == [20] * 5
    assert found["stretches"][1] == {"state": "2", "from": "2011-09", "to": "2013-04", "steps": 20}
    assert found["states"][0]["share"] == pytest.approx(0.6, abs=0.01)
    assert found["states"][1]["stay"] == pytest.approx(20, rel=0.1)
    assert len(found["path"]) == len(found["values"]) == 100
    assert "State 1 has 60 % of the steps" in found["caption"]


def test_tables_and_a_strip(river, capsys):
    assert main(["segment", str(river), "--states", "2", "--restarts", "1"]) == 0
    told = capsys.readouterr().out
    assert "level mean ± deviation" in told and "2016-09" in told
    strip = next(line for line in told.split("\n") if line.startswith("   state"))
    assert set(strip.split()[1]) == {"1", "2"}


@pytest.mark.parametrize("end", ["svg", "png", "html"])
def test_pictures(river, end, capsys):
    path = river.with_suffix(f".{end}")
    assert main(["segment", str(river), "--states", "2", "--restarts", "1", "-o", str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    if end == "svg":
        drawn = path.read_text()
        assert drawn.count("state 1: 20 steps") == 3 and "state 2: 20 steps" in drawn
    else:
        assert path.stat().st_size > 1000


def test_a_run_is_kept_and_forecasts(river, capsys):
    runs = str(river.parent / "runs")
    kept = ["--name", "river", "--runs-dir", runs, "--set", "task.horizon=3"]
    assert main(["segment", str(river), "--states", "2", *kept]) == 0
    assert main(["forecast", "river", str(river), "--runs-dir", runs, "--json"]) == 0
    last = capsys.readouterr().out.strip().split("\n")[-1]
    assert len(json.loads(last)["numbers"][0]["mean"]) == 3


def refused(capsys, *given):
    code = main(["segment", *map(str, given)])
    return code, capsys.readouterr().err


def test_files_without_regimes(river, tmp_path, capsys):
    flat = tmp_path / "flat.csv"
    flat.write_text("level\n" + "7\n" * 30)
    for given, code in (
        ((flat,), "M422"),
        ((river, "--states", "200"), "M421"),
        ((river, "--states", "0"), "U010"),
        ((river, "--set", "model.emissions=poisson"), "M425"),
        ((river, "--series", "rhine"), "U311"),
    ):
        number, told = refused(capsys, *given)
        assert number and f"error[{code}]" in told and "Traceback" not in told


def test_infinite_and_missing_numbers(tmp_path, capsys):
    for text, code in (("1\ninf\n2\n", "D203"), ("nan\nnan\nnan\n", "D2")):
        path = tmp_path / "odd.csv"
        path.write_text("level\n" + text)
        number, told = refused(capsys, path)
        assert number == 3 and f"error[{code}" in told


def test_a_view_by_itself():
    states = [Regime("1", np.zeros(2), np.ones(2), 0.75, 4.0, np.array([0.75, 0.25])),
              Regime("2", np.ones(2), np.ones(2), 0.25, np.inf, np.array([0.0, 1.0]))]  # fmt: skip
    values = np.array([[0.0, 1.0], [np.nan, 2.0], [1.0, 3.0], [2.0, 4.0]])
    view = RegimesView(states, [0, 0, 0, 1], values, ["a", "b"], list("wxyz"), "numbers")
    assert view.to_table()[1:] == [["1", "w", "y", "3"], ["2", "z", "z", "1"]]
    assert view.states_table()[2][4] == "unlimited"
    assert "the current state is 2, since z" in view.caption
    text = view.to_text(40, ascii=True)
    assert text.isascii() and "1112" in text
    assert json.loads(json.dumps(view.to_json()))["values"][1] == [None, 2.0]
    assert [s.steps for s in segments_of([1, 1, 0])] == [2, 1]
    with pytest.raises(ValueError):
        RegimesView(states, [0], values, ["a", "b"], list("wxyz"), "numbers")
