"""seqloom evaluate and predict on labels: by label, confusion matrix, calibration."""

import json

import pytest

import seqloom
from seqloom.cli.commands import predict
from seqloom.recipe import Recipe


def test_scores_by_label_add_up(cli, files):
    told = cli("evaluate", "judge", str(files / "labels.csv"), "--by-label", "--json")
    found = json.loads(told.out)
    rows = {row["label"]: row for row in found["by_label"]["labels"]}
    assert set(rows) == {"long", "short"}
    hits = sum(row["hits"] for row in rows.values())
    assert hits / found["n"] == pytest.approx(found["metrics"]["accuracy"]["value"])
    mean = sum(row["f1"] for row in rows.values()) / 2
    assert mean == pytest.approx(found["metrics"]["macro_f1"]["value"])
    told = cli("evaluate", "judge", str(files / "labels.csv"), "--by-label")
    assert "precision" in told.out and "short" in told.out


def test_confusion_and_calibration_in_files_and_in_the_terminal(cli, files, tmp_path):
    file, svg, png = str(files / "labels.csv"), tmp_path / "c.svg", tmp_path / "r.png"
    told = cli("evaluate", "judge", file, "--confusion", str(svg), "--calibration", str(png))
    assert told.code == 0 and str(svg) in told.out and str(png) in told.out
    assert svg.read_text().startswith("<svg") and png.stat().st_size > 1000
    told = cli("evaluate", "judge", file, "--confusion", "--calibration")
    assert "rows: true; columns: predicted" in told.out
    assert "Expected calibration error" in told.out and "% correct of" in told.out
    found = json.loads(cli("evaluate", "judge", file, "--calibration", "--confusion", "--json").out)
    assert sum(map(sum, found["confusion"]["counts"])) == found["n"]
    error, view = found["calibration_error"], found["calibration"]
    assert error["low"] <= error["value"] <= error["high"]
    assert view["error"] == pytest.approx(error["value"])
    assert sum(one["count"] for one in view["bins"]) == found["n"]


def test_pictures_need_a_suffix_and_labels(cli, files):
    assert "U011" in cli("evaluate", "judge", "--confusion", str(files / "labels.csv")).err
    told = cli("evaluate", "attentive", str(files / "pairs.tsv"), "--by-label")
    assert told.code == 2 and "U096" in told.err


def test_probabilities_of_all_labels(cli, monkeypatch):
    found = json.loads(cli("classify", "judge", "the cat sees", "--json").out)
    chances = found["probabilities"]
    assert set(chances) == {"long", "short"} and sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert next(iter(chances)) == found["output"]
    assert chances[found["output"]] == pytest.approx(found["probability"], abs=1e-5)
    assert cli("classify", "judge", "the cat sees").out.strip() == found["output"]
    monkeypatch.setattr(predict, "is_interactive", lambda stream: True)
    shown = cli("classify", "judge", "the cat sees").out
    assert shown.startswith(f"{found['output']} ") and "%" in shown


def test_several_labels_from_file_to_answer(cli, tmp_path, runs):
    lines = [
        json.dumps({"text": f"{a} {b} {n}", "label": [x for x in (a, b) if x != "none"]})
        for n in range(8)
        for a in ("red", "none")
        for b in ("blue", "none")
    ]
    file = tmp_path / "films.jsonl"
    file.write_text("\n".join(lines) + "\n")
    recipe = Recipe(
        {"train": str(file), "test_fraction": 0.2},
        {"name": "classify", "several": True},
        {"name": "recurrent", "embedding_size": 8, "hidden_size": 8},
        {"epochs": 30, "batch_size": 4, "learning_rate": 0.02},
    )
    seqloom.train(recipe, name="films", runs=tmp_path / "runs")
    folder = str(tmp_path / "runs" / "films")
    texts = ["red blue 1", "none blue 2", "none none 3"]
    found = [
        json.loads(line) for line in cli("classify", folder, *texts, "--json").out.splitlines()
    ]
    assert [one["output"] for one in found] == [["blue", "red"], ["blue"], []]
    assert set(found[0]["probabilities"]) == {"red", "blue"}
    assert cli("classify", folder, *texts).out == "blue, red\nblue\n(none)\n"
    stream = seqloom.load(folder).stream()
    replies = [stream.step(word) for word in texts[0].split()]
    assert replies[-1].value == "blue, red"
    assert replies[-1].numbers.tolist() == pytest.approx(
        [found[0]["probabilities"][label] for label in ("blue", "red")], abs=1e-4
    )
    judged = json.loads(
        cli(
            "evaluate", folder, str(file), "--by-label", "--calibration", "--confusion", "--json"
        ).out
    )
    assert list(judged["metrics"]) == ["micro_f1", "macro_f1", "exact_match", "loss"]
    assert judged["metrics"]["exact_match"]["value"] > 0.9
    assert {row["label"]: row["right"] for row in judged["by_label"]["labels"]} == {
        "blue": 16,
        "red": 16,
    }
    # Every label of every text is a decision, those that are not there too.
    assert sum(one["count"] for one in judged["calibration"]["bins"]) == 64
