"""Views that training keeps at each evaluation: small, exact on resume, and without any effect."""

import json

import numpy as np
import pytest

from seqloom import Recipe, load, train
from seqloom.errors import ModelError, UsageError
from seqloom.inspection import training_snapshots
from seqloom.runs.train import Callback, resume

TEXT = "".join(f'he said "hello {number:03}" and left.\n' for number in range(120))
TAGS = "".join(f"the D\ncat{number} N\nsat V\n\n" for number in range(40))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("probes")
    (found / "text.txt").write_text(TEXT)
    (found / "words.tsv").write_text("".join(f"ab{n:b}\t{n:b}ba\n" for n in range(80)))
    (found / "tags.txt").write_text(TAGS)
    return found


def recipe(folder, task="language", file="text.txt", model="recurrent", **training):
    data = {"train": str(folder / file), "valid_fraction": 0.2, "test_fraction": 0.1}
    small = {"embedding_size": 8, "hidden_size": 12} if model != "hmm-tagger" else {}
    settings = {"max_steps": 12, "evaluate_steps": 3, "batch_size": 8, **training}
    return Recipe(data, {"name": task}, {"name": model, **small}, settings)


@pytest.fixture(scope="module")
def run(folder):
    return train(recipe(folder), name="with", runs=folder / "runs")


def test_probes_change_nothing_that_is_learned(folder, run):
    without = train(recipe(folder, probes=0), name="without", runs=folder / "runs")
    ours, theirs = run.model.weights(), without.model.weights()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    ours, theirs = (
        [(e["kind"], e["step"]) for e in one.events() if e["kind"] != "train"]
        for one in (run, without)
    )
    assert ours == theirs
    assert without.snapshots() == {"steps": [], "inputs": []}


def test_each_evaluation_is_kept_and_small(run):
    steps, inputs = run.snapshots()["steps"], run.snapshots()["inputs"]
    assert steps == [3, 6, 9, 12] and len(inputs) == 3
    path = run.folder / "probes" / "step-00000006.json"
    told = json.loads(path.read_text())
    assert told["step"] == 6 and [one["text"] for one in told["inputs"]] == inputs
    assert path.stat().st_size < 400_000
    for one in told["inputs"]:
        assert set(one["views"]) == {"states", "gates", "next", "surprise"}
        assert all(view["step"] == 6 for view in one["views"].values())
        assert max(map(len, one["views"]["states"]["values"])) <= training_snapshots.MAX_CELLS


def test_a_step_is_shown_as_it_was(run):
    """What is kept is what the model showed then: the last of them is the model as it is now."""
    text = run.snapshots()["inputs"][0]
    first, last = (run.inspect(text, view="surprise", step=step) for step in (3, 12))
    assert first.to_json()["step"] == 3 and first.to_json()["mean"] > last.to_json()["mean"]
    assert first.to_svg().startswith("<svg") and first.caption in first.to_text(400)
    best = max(run.events(), key=lambda e: (e.get("best", False), e["step"]))["step"]
    kept = run.inspect(text, view="surprise", step=best).to_json()
    now = run.inspect(text, view="surprise").to_json()
    assert now["mean"] == pytest.approx(kept["mean"], abs=1e-3)
    assert kept["tokens"] == now["tokens"] and kept["ranks"] == now["ranks"]


@pytest.mark.parametrize(
    ("options", "code"),
    [({"step": 4}, "U352"), ({"step": 3, "text": "never seen"}, "U352")]
    + [({"step": 3, "view": "beam"}, "M114"), ({"step": 3, "view": "states", "layer": 0}, "U352")],
)
def test_what_was_not_kept_is_told(run, options, code):
    text = options.pop("text", run.snapshots()["inputs"][0])
    with pytest.raises((UsageError, ModelError)) as caught:
        run.inspect(text, **{"view": "next", **options})
    assert caught.value.code == code


def test_every_kind_that_is_kept_can_be_drawn_again(folder):
    asked = [("tag", "tags.txt", "recurrent", {"tags", "states", "gates"})]
    asked += [("tag", "tags.txt", "hmm-tagger", {"tags", "trellis"})]
    asked += [
        ("translate", "words.tsv", "encoder-decoder", {"attention", "gates", "states", "next"})
    ]
    for task, file, model, kinds in asked:
        run = train(recipe(folder, task, file, model), name=f"{task}-{model}", runs=folder / "runs")
        found = run.snapshots()
        for kind in kinds:
            view = run.inspect(found["inputs"][0], view=kind, step=found["steps"][-1])
            assert view.to_json()["view"] == kind and view.to_svg() and len(view.to_table()) > 1


def test_resume_takes_away_what_did_not_happen(folder):
    """A run that was killed after its last checkpoint goes back to it, and so do its probes."""
    whole = train(recipe(folder, max_steps=18), name="whole", runs=folder / "runs")
    seen = []

    def must_stop():
        return bool(seen)

    def tell(event):
        if event.kind == "eval" and event.step == 9:
            seen.append(event)

    callback = Callback(tell, must_stop)
    train(recipe(folder, max_steps=18), name="cut", runs=folder / "runs", callback=callback)
    later = folder / "runs" / "cut" / "probes" / "step-00000015.json"
    later.write_text("{}")  # as if it had gone on before it was killed
    again = resume(folder / "runs" / "cut")
    assert again.snapshots() == whole.snapshots()
    for step in whole.snapshots()["steps"]:
        name = f"step-{step:08}.json"
        ours, theirs = (
            json.loads((r.folder / "probes" / name).read_text()) for r in (again, whole)
        )
        assert _without_names(ours) == _without_names(theirs)


def _without_names(told):
    for one in told["inputs"]:
        for view in one["views"].values():
            view.pop("model")
    return told


def test_few_steps_are_kept_evenly(tmp_path):
    for step in range(1, 200):
        (tmp_path / f"step-{step:08}.json").write_text("{}")
        training_snapshots.thin_out(tmp_path)
    steps = [int(path.stem[5:]) for path in sorted(tmp_path.glob("*.json"))]
    assert len(steps) == training_snapshots.MAX_SNAPSHOTS and steps[0] == 1 and steps[-1] == 199
    assert max(np.diff(steps)) <= 4 * 199 / training_snapshots.MAX_SNAPSHOTS


def test_probes_take_little_time(folder, monkeypatch):
    """Beyond an allowance they are left out rather than slow training down."""
    monkeypatch.setattr(training_snapshots, "EXTRA_SECONDS", -1.0)
    monkeypatch.setattr(training_snapshots, "TIME_FRACTION", 0.0)
    run = train(recipe(folder), name="hurried", runs=folder / "runs")
    assert run.snapshots()["steps"] == []


def test_texts_go_on_while_a_model_learns(run):
    """The same beginnings each time, and each goes on; the last as the model draws it now."""
    samples = [event["samples"] for event in run.events() if event["kind"] == "sample"]
    assert len(samples) == 4 and len(samples[0]) == 2
    questions = [[one["question"] for one in some] for some in samples]
    assert all(some == questions[0] for some in questions)
    assert all(TEXT.count(one) for one in questions[0])
    assert samples[0] != samples[-1] and any(one["answer"] for one in samples[-1])


def test_loading_shows_probes(folder, run):
    assert load(run.folder).snapshots() == run.snapshots()
