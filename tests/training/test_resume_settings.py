"""A resumed run with new settings: what begins anew says so, what does not fit changes nothing."""

import hashlib
import shutil
from pathlib import Path

import pytest

from seqloom.data.loading.bptt import BPTTLoader
from seqloom.errors import SeqloomError, TrainingError
from seqloom.recipe import Recipe
from seqloom.runs.run import CHECKPOINT, load
from seqloom.runs.train import Callback, resume, train
from seqloom.training.checkpoints import load_arrays
from seqloom.training.events import read_events

from .test_resume import recipe, stream

pytestmark = pytest.mark.usefixtures("short_answers")


def stop_after(count: int) -> Callback:
    steps = iter(range(1, 10_000))
    return Callback(should_stop=lambda: next(steps) == count)


def content(folder: Path) -> dict[str, str]:
    """The digest of every file of a run, but the lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def resumed(folder: Path) -> list[str]:
    """The notes of the last resume."""
    events = [e for e in read_events(folder / "events.jsonl") if e["kind"] == "resume"]
    return events[-1].get("notes", [])


REFUSED = {
    "model.hidden_size": 8,
    "model.name": "recurrent",
    "model.attention": "none",
    "model.bidirectional": False,
    "model.input_feeding": True,
    "model.cell": "gru",
    "task.level": "character",
    "data.test_fraction": 0.1,
    "data.max_length": 1,
    "training.learning_rate": -1.0,
    "training.epochs": "many",
    "training.monitor": "nothing",
}


def test_what_does_not_fit_is_refused_and_changes_nothing(data):
    small = recipe(data, epochs=1).with_settings({"training.probes": 1})
    folder = train(small, name="kept", runs=data / "runs").folder
    before = content(folder)
    for path, value in REFUSED.items():
        with pytest.raises(SeqloomError) as told:
            resume(folder, settings={path: value})
        assert content(folder) == before, path
        if path.startswith("model.") and path != "model.name":
            assert told.value.code == "T122" and path in str(told.value)
    assert load(folder).predict(["the cat sees"])


def test_the_same_weights_in_another_model_are_refused(data):
    """Heads share one matrix: its shape does not tell how many they are."""
    heads = {"model.name": "transformer-encoder-decoder", "model.num_heads": 2}
    sizes = {"name": "", "hidden_size": 8, "feed_forward": 8}
    sizes |= {"encoder_layers": 1, "decoder_layers": 1}
    base = Recipe(recipe(data).data, {"name": "translate"}, sizes, {"epochs": 1})
    folder = train(base.with_settings(heads), name="heads", runs=data / "runs").folder
    before = content(folder)
    with pytest.raises(TrainingError, match="model.num_heads cannot change .* another model"):
        resume(folder, settings={"model.num_heads": 4})
    assert content(folder) == before
    resume(folder, settings={"model.dropout": 0.5, "training.epochs": 2})  # acts in training alone


ANEW = [
    ({"training.optimizer": "sgd"}, "memory of the optimizer begins anew: sgd"),
    ({"training.optimizer": "rmsprop"}, "memory of the optimizer begins anew: rmsprop"),
    ({"training.optimizer": "adagrad"}, "memory of the optimizer begins anew: adagrad"),
    ({"training.ema_decay": 0.9}, "moving average of the weights begins anew"),
    ({"training.batch_size": 5}, "the batches are others than before"),
    ({"training.seed": 2}, "the batches are others than before"),
    ({"training.monitor": "chrf"}, "the best weights are chosen anew"),
    ({"training.evaluate_examples": 4}, "the best weights are chosen anew"),
    ({"training.learning_rate": 0.001, "model.dropout": 0.4, "training.patience": 40}, ""),
    ({"training.average_checkpoints": 3}, ""),
]


def test_what_begins_anew_says_so(data):
    made = recipe(data, epochs=5, ema_decay=0.0, probes=0)
    stopped = train(made, name="stopped", runs=data / "runs", callback=stop_after(18)).folder
    for number, (settings, note) in enumerate(ANEW):
        folder = data / "runs" / f"again-{number}"
        shutil.copytree(stopped, folder)
        run = resume(folder, settings=settings)
        assert run.events()[-1]["reason"] == "finished"
        assert len(resumed(folder)) == bool(note)
        assert not note or note in resumed(folder)[0]
        load(folder)


@pytest.mark.parametrize("rows", [2, 6])
def test_other_streams_begin_with_a_state_of_their_own(data, rows):
    """Also fewer ones, where the states of other streams would fit."""
    folder = train(stream(data), name="text", runs=data / "runs", callback=stop_after(33)).folder
    made = Recipe.read(folder / "recipe.toml").with_settings({"training.batch_size": rows})
    run = resume(folder, settings={"training.batch_size": rows}, callback=stop_after(1))
    (note,) = resumed(folder)
    assert "state that is carried through the text begins anew" in note
    before, after = load_arrays(folder / CHECKPOINT), run.task
    items = [after.encode(example) for example in run.parts.train]
    batches = BPTTLoader(items, rows, 5, 1, in_order=True)
    place, count = before.facts["place"], len(batches.epoch(before.facts["epoch"]))
    assert 0 < place < count and before.facts["batches"] == count
    assert before.arrays["carried/0"].shape[0] == rows
    assert made.build_training().batch_size == rows


def test_the_state_of_a_stream_is_kept_where_the_batches_are_the_same(data):
    stopped = train(stream(data), name="text", runs=data / "runs", callback=stop_after(33))
    resume(stopped.folder, settings={"training.learning_rate": 0.01})
    assert resumed(stopped.folder) == []
