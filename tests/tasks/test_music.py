"""The task music: its parts, what its metrics count, and frames that come one by one."""

import json

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.evaluation.evaluate import evaluate
from seqloom.metrics import value_of
from seqloom.models import MODELS
from seqloom.prediction import BernoulliLogits
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.signature import Bits, Form, Signature
from seqloom.tasks.music import Foretold, Music, Piece

from ..conftest import tunes

PIECES = tunes(12)
PARTED = {"test": PIECES[:3], "train": PIECES[3:9], "valid": PIECES[9:]}


@pytest.fixture
def parted(tmp_path):
    path = tmp_path / "parted.json"
    path.write_text(json.dumps(PARTED))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("music")
    (folder / "parted.json").write_text(json.dumps(PARTED))
    recipe = Recipe(
        {"train": str(folder / "parted.json")},
        {"name": "music", "lowest": 30, "highest": 90},
        {"name": "recurrent", "cell": "gru", "embedding_size": 8, "hidden_size": 8},
        {"epochs": 2, "batch_size": 4},
    )
    return seqloom.train(recipe, runs=folder / "runs")


def frames(pieces):
    return [[tuple(frame) for frame in piece] for piece in pieces]


def test_a_file_brings_its_parts(parted):
    parts = read_parts(Music(), Data(train=str(parted), allow_overlap=True))
    found = {name: [one.frames for one in getattr(parts, name)] for name in PARTED}
    assert found == {name: frames(pieces) for name, pieces in PARTED.items()}


def test_a_named_file_stands_for_the_part_it_is_named_for(parted, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps([[[50], [51]]]))
    parts = read_parts(Music(), Data(train=str(parted), test=str(other), allow_overlap=True))
    assert [piece.frames for piece in parts.test] == [[(50,), (51,)]]
    assert len(parts.valid) == 3


def test_folds_are_cut_of_what_is_learned_from(parted):
    parts = read_parts(Music(), Data(train=str(parted), folds=3, allow_overlap=True))
    learned = [piece.frames for piece in [*parts.train, *parts.valid, *parts.test]]
    assert sorted(learned) == sorted(frames(PARTED["train"]))


def test_parts_are_no_one_set_to_be_judged_on(parted):
    with pytest.raises(DataError, match="test and train and valid in it") as told:
        Music().read(parted, Data())
    assert told.value.code == "D266"
    assert len(Music().open(parted, Data()).rows) == 12  # to look at all of it is allowed


def test_parts_without_one_to_learn_from_are_told(tmp_path):
    (tmp_path / "two.json").write_text(json.dumps({"valid": PIECES[:1], "test": PIECES[1:2]}))
    with pytest.raises(DataError, match="valid and test in it") as told:
        read_parts(Music(), Data(train=str(tmp_path / "two.json")))
    assert told.value.code == "D266"


def test_who_can_do_it_follows_from_forms_and_spaces():
    """What reads rows and writes bits can; what counts symbols cannot, nor what looks ahead."""
    signature = Music().signature()
    able = {name for name in MODELS if MODELS[name].supports(signature)}
    assert able >= {"recurrent", "feedforward", "convolutional", "transformer"}
    assert not able & {"ngram", "cache", "hmm-tagger", "hmm", "bag-of-words"}
    for name in ("recurrent", "convolutional"):
        with pytest.raises(ModelError, match="bidirectional") as told:
            MODELS[name](signature, bidirectional=True)
        assert told.value.code == "M121"
    with pytest.raises(ValueError, match="same space of bits"):
        Signature(Form.NEXT, Bits(4), Bits(5))


def test_a_long_piece_is_told(parted):
    with pytest.raises(DataError, match="at most 4 are allowed") as told:
        read_parts(Music(), Data(train=str(parted), max_length=4))
    assert told.value.code == "D041"


@pytest.mark.parametrize("steps", [0, 97])
def test_steps_that_cannot_be(steps):
    with pytest.raises(UsageError, match="expected 1 to 96") as told:
        Music(steps_per_quarter=steps)
    assert told.value.code == "U331"


def test_metrics_count_what_they_say():
    """Three frames: the first is not among those that published results count."""
    task, piece = Music(), Piece([(60, 64), (60, 64), (62,)])
    found = task.score(piece, Foretold([(99,), (60, 67), (62,)], nats_of_first=5.0), 17.0)
    values = {name: value_of(name, [ratio]) for name, ratio in found.items()}
    # Of frame 2: 60 is right, 64 is missed, 67 is a false alarm; of frame 3 all is right.
    expected = {"nats_per_frame": 6.0, "nats_of_all_frames": 17 / 3, "frame_accuracy": 2 / 4}
    assert values == pytest.approx(expected)
    assert list(values)[0] == task.primary_metric


def test_nats_are_those_of_the_odds_frame_by_frame(run):
    """By hand from what the model expects: sums over keys, means over frames and not pieces."""
    task, examples = run.task, run.parts.test
    found = evaluate(run.model, task, examples, seqloom.model.Search()).values()
    after, everything, hits, heard, count = 0.0, 0.0, 0, 0, 0
    for example in examples:
        rows = task.keys.to_matrix(example.frames)
        with run.model.inference_mode():
            (odds,) = run.model.bit_logits(task.batch([example]).source)
        chances = 1 / (1 + np.exp(-odds.values))
        nats = -np.where(rows > 0, np.log(chances), np.log(1 - chances)).sum(1)
        after, everything, count = (
            after + nats[1:].sum(),
            everything + nats.sum(),
            count + len(rows),
        )
        right, guess = rows[1:] > 0, chances[1:] > 0.5
        hits, heard = hits + (right & guess).sum(), heard + (right | guess).sum()
    expected = [after / (count - len(examples)), everything / count, hits / heard]
    assert [*found.values()] == pytest.approx(expected, rel=1e-5)


def test_a_piece_of_one_frame_has_nothing_after_the_first():
    task, piece = Music(), Piece([(60,)])
    answer = task.decode_for(piece, BernoulliLogits(np.zeros((1, 88))))
    found = task.score(piece, answer, 88 * np.log(2))
    assert found["nats_per_frame"] == pytest.approx((0.0, 0))
    assert found["nats_of_all_frames"] == pytest.approx((88 * np.log(2), 1))


@pytest.mark.parametrize("kind", ["line", "pitches", "bits"])
def test_a_stream_answers_each_frame_as_the_whole_does(run, kind):
    piece = Piece([(60, 64), (), (62, 67, 71), (90,)])
    with run.model.inference_mode():
        (odds,) = run.model.bit_logits(run.task.batch([Piece([*piece.frames, ()])]).source)
    stream = run.stream()
    for place, frame in enumerate(piece.frames, start=1):
        value = {
            "line": ",".join(map(str, frame)) or "-",
            "pitches": list(frame),
            "bits": run.task.keys.to_matrix([frame])[0],
        }[kind]
        reply = stream.step(value)
        assert reply.numbers == pytest.approx(1 / (1 + np.exp(-odds.values[place])), rel=1e-4)
        assert reply.value == run.task.show(
            run.task.decode(BernoulliLogits(odds.values[place : place + 1]))
        )


def test_a_stream_goes_on_from_where_it_was_saved(run, tmp_path):
    stream, other = run.stream(), run.stream()
    stream.step("60,64")
    stream.state.save(tmp_path / "here.safetensors")
    other.state = seqloom.inference.stream.StreamState.load(tmp_path / "here.safetensors")
    assert stream.step("62").numbers.tolist() == other.step("62").numbers.tolist()


@pytest.mark.parametrize(
    "value, code", [("60 64", "D050"), ("C4", "D273"), ("20", "D267"), ([0.5] * 61, "D273")]
)
def test_a_frame_that_cannot_be_read(run, value, code):
    with pytest.raises(DataError) as told:
        run.stream().step(value)
    assert told.value.code == code


def test_what_is_for_symbols_is_refused(run):
    for use, code in (
        (lambda: run.generate("60"), "M110"),
        (lambda: run.score(["60 62"]), "M110"),
        (lambda: run.attribute("60 62"), "M481"),
        (lambda: run.predict(["60 62"]), "M480"),
        (lambda: run.predict(["60 62"], beam=2), "U062"),
        (lambda: run.ensemble(run), "M191"),
    ):
        with pytest.raises(seqloom.errors.SeqloomError) as told:
            use()
        assert told.value.code == code


def test_gates_can_be_looked_at(run):
    view = run.inspect("60,64 - 62", view="gates")
    assert "60,64" in view.to_text()
