"""seqloom runs, show and compare."""

import fcntl
import json
import shutil
import subprocess
import sys

import pytest

from seqloom.cli.commands.runs import age, thinned

from .conftest import RUNS


@pytest.fixture
def copy(runs, tmp_path):
    """A run that a test may spoil."""
    return shutil.copytree(runs / "tagger", tmp_path / "runs" / "tagger")


def append(folder, **event) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps({"t": 1.0, "step": 9, **event}) + "\n")


def test_runs_lists_every_run_with_its_best(cli):
    done = cli("runs")
    heading, *rows, legend = done.out.splitlines()
    assert heading.split() == ["run", "task", "model", "state", "best", "curve", "age"]
    assert [row.split()[0] for row in rows] == list(RUNS)
    assert all("finished" in row for row in rows)
    assert "accuracy for tag and classify" in legend and legend.endswith("on validation data")


def test_runs_of_one_task_for_machines_and_for_shells(cli):
    found = [
        json.loads(line)
        for line in cli("runs", "--task", "language", "--json").out.split("\n")[:-1]
    ]
    assert [one["name"] for one in found] == ["counts", "writer"]
    assert found[1]["metric"] == "bits_per_character" and found[1]["best"] == min(found[1]["curve"])
    assert cli("runs", "--task", "tag", "--quiet").out == "tagger\n"


def test_runs_where_there_are_none(cli, tmp_path):
    done = cli("runs", "--task", "forecast")
    assert done.code == 0 and not done.out and "there are runs of: classify" in done.err
    from seqloom.cli.main import main

    assert main(["runs", "--runs-dir", str(tmp_path / "empty")]) == 0


def test_a_running_run_tells_how_far_it_is(copy, capsys):
    from seqloom.cli.main import main

    append(copy, kind="train", progress=0.52)
    with (copy / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["runs", "--runs-dir", str(copy.parent)]) == 0
    assert "running 52 %" in capsys.readouterr().out
    assert main(["show", "tagger", "--runs-dir", str(copy.parent)]) == 0
    assert f"seqloom train --resume {copy} " in capsys.readouterr().err


def test_show_tells_all_about_a_run(cli, runs):
    done = cli("show", "attentive")
    for text in ("translate with encoder-decoder · finished", "32 train · 2 valid · 8 test", "attention additive",
                 "parameters", "step  epoch  BLEU  chrF  tokenised BLEU  sequence error rate", "★", "card.md"):  # fmt: skip
        assert text in done.out, text
    assert f"seqloom translate {runs}/attentive" in done.err
    found = json.loads(cli("show", "counts", "--json").out)
    assert found["learned"] > 0, "a counting model has its numbers only after it has counted"
    assert found["settings"]["model.order"] == 5 and found["evaluations"]
    assert found["card"] == str(runs / "counts" / "card.md")


def test_compare_sets_runs_side_by_side(cli):
    done = cli("compare", "counts", "writer")
    assert done.code == 0
    assert "model.order" in done.out and "data.split_seed" not in done.out
    for row in (
        "bits per character",
        "training time",
        "parameters",
        "size on disk",
        "ms per example",
    ):
        assert row in done.out
    assert "★" in done.out and "n = " in done.out
    assert "counts is better: bits per character" in done.out
    assert "--all shows" in done.err
    assert "data.split_seed" in cli("compare", "counts", "writer", "--all").out


def test_compare_for_machines_and_on_a_file_that_was_learned_from(cli, files):
    done = cli(
        "compare",
        "attentive",
        "plain",
        "--file",
        str(files / "pairs.tsv"),
        "--limit",
        "7",
        "--json",
    )
    found = json.loads(done.out)
    assert [one["n"] for one in found["runs"]] == [found["n"]] * 2
    assert 0 < found["n"] <= 7 and "verdict" in found
    assert found["differences"]["model.attention"] == ["additive", "none"]
    assert found["paired_difference"]["plain"]["low"] <= found["paired_difference"]["plain"]["high"]
    assert "attentive was trained on" in done.err
    paired = found["paired"]["plain"]
    assert list(paired) == list(found["runs"][0]["metrics"]), "functions of sums among them"
    for metric, apart in paired.items():
        values = [one["metrics"][metric]["value"] for one in found["runs"]]
        assert apart["value"] == pytest.approx(values[1] - values[0])
        assert apart["certain"] <= (apart["differing"] >= 6) and metric
    assert paired[found["metric"]]["value"] == found["paired_difference"]["plain"]["value"]


def test_compare_tells_of_every_metric_and_by_length(cli):
    done = cli("compare", "counts", "writer", "--by-length")
    assert done.code == 0 and "writer against counts, example by example:" in done.out
    for title in ("bits per character", "bits per byte", "perplexity per token"):
        assert f"  {title}: counts is better than writer by " in done.out
    assert "bits per character by tokens of the source" in done.out
    found = json.loads(cli("compare", "tagger", "tagger", "--by-length", "--json").out)
    assert [curve["name"] for curve in found["by_length"]["models"]] == ["tagger", "tagger"]
    assert found["paired"]["tagger"]["accuracy"]["sentence"] == (
        "accuracy: tagger and tagger are equal"
    )


def test_compare_tells_where_each_run_wins(cli):
    done = cli("compare", "counts", "writer", "--where")
    assert done.code == 0 and "bits per character by length" in done.out
    assert "counts wins" in done.out or "more than chance" in done.out
    found = json.loads(cli("compare", "counts", "writer", "--json").out)["where"]
    assert found["length"]["sentence"] in done.out
    done = cli("compare", "tagger", "tagger", "--where")
    assert "F1 by label" in done.out and "By label, no difference is more than chance." in done.out


def test_compare_needs_runs_of_one_task(cli):
    done = cli("compare", "tagger", "judge")
    assert done.code == 4 and "error[M116]" in done.err and "judge: classify" in done.err
    assert cli("compare", "tagger").code == 2
    assert cli("compare", "tagger", "nobody").code == 2


def test_numbers_as_people_read_them():
    assert [age(s) for s in (5, 61, 7200, 200_000)] == ["5 s", "1 min", "2 h", "2 d"]
    assert thinned([1.0, 2.0, 3.0, 4.0], 2) == [2.0, 4.0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs"],
        ["show", "attentive"],
        ["evaluate", "counts"],
        ["generate", "counts"],
        ["score", "counts", "the cat", "--surprise"],
    ],
)
def test_no_torch_for_what_does_not_need_it(runs, arguments):
    code = "import sys; from seqloom.cli.main import main; code = main(sys.argv[1:]); sys.exit(code or 99 * ('torch' in sys.modules))"
    command = [sys.executable, "-c", code, *arguments, "--runs-dir", str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
