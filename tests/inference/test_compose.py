"""Pieces are drawn as the model's odds say, the same from the same seed, and read back as written."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.errors import SeqloomError, UsageError
from seqloom.inference.compose import Composition, CompositionOptions, sample_frame
from seqloom.recipe import Recipe
from seqloom.tasks.music import Music

from ..conftest import write_data

ODDS = np.array([0.5, -1.0, 2.0, 0.0])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = write_data(tmp_path_factory.mktemp("composing"))
    recipe = Recipe(
        {"train": str(folder / "pieces.json")},
        {"name": "music", "steps_per_quarter": 2},
        {"name": "convolutional", "embedding_size": 8, "hidden_size": 8, "num_layers": 2},
        {"epochs": 5, "batch_size": 8, "learning_rate": 0.02},
    )
    return seqloom.train(recipe, runs=folder / "runs")


def drawn(settings, count=3_000):
    """How often each row was drawn."""
    chance = np.random.default_rng(0)
    found = Counter(tuple(sample_frame(ODDS, settings, chance).tolist()) for _ in range(count))
    return {row: found[row] / count for row in product((0.0, 1.0), repeat=4)}


@pytest.mark.parametrize("temperature, voices", [(1.0, 0), (0.5, 0), (1.0, 2), (2.0, 1)])
def test_rows_come_as_often_as_their_odds_say(temperature, voices):
    """Independent keys; with voices, as likely as rows with no more notes are among themselves."""
    chances = 1 / (1 + np.exp(-ODDS / temperature))
    expected = {
        row: float(np.prod(np.where(row, chances, 1 - chances)))
        for row in product((0.0, 1.0), repeat=4)
        if not voices or sum(row) <= voices
    }
    total = sum(expected.values())
    found = drawn(CompositionOptions(temperature=temperature, voices=voices))
    for row, share in found.items():
        truth = expected.get(row, 0.0) / total
        assert share == pytest.approx(truth, abs=4.5 * (truth / 3_000) ** 0.5), row


def test_without_temperature_the_likelier_is_taken():
    chance = np.random.default_rng(0)
    assert sample_frame(ODDS, CompositionOptions(temperature=0), chance).tolist() == [1, 0, 1, 0]
    assert sample_frame(ODDS, CompositionOptions(temperature=0, voices=1), chance).tolist() == [
        0,
        0,
        1,
        0,
    ]


def test_extreme_odds_are_no_accident():
    odds, chance = np.array([1e4, -1e4]), np.random.default_rng(0)
    for settings in (
        CompositionOptions(temperature=1e-3),
        CompositionOptions(temperature=1e-3, voices=1),
    ):
        assert sample_frame(odds, settings, chance).tolist() == [1, 0]


def test_the_same_seed_draws_the_same_piece(run):
    first, again, other = (
        run.compose(CompositionOptions(steps=20, seed=seed)) for seed in (3, 3, 4)
    )
    assert first == again and first.frames != other.frames
    assert len(first.frames) == 20 and first.given == 0
    longer = run.compose(CompositionOptions(steps=30, seed=3))
    assert longer.frames[:20] == first.frames


def test_a_piece_goes_on_from_its_prompt(run, tmp_path):
    frames = [(60, 64, 67), (60, 64, 67), (61,)]
    found = run.compose(CompositionOptions(steps=5), prompt=frames)
    assert found.frames[:3] == frames and found.given == 3 and len(found.frames) == 8
    for name in ("prompt.mid", "prompt.json"):
        file = Composition(frames, 0, 2).save(tmp_path / name)
        assert run.compose(CompositionOptions(steps=5), prompt=file) == found
        short = run.compose(CompositionOptions(steps=5), prompt=file, prompt_steps=2)
        assert short == run.compose(CompositionOptions(steps=5), prompt=frames[:2])
    with pytest.raises(SeqloomError, match="pitch 5") as told:
        run.compose(prompt=[(5,)])
    assert told.value.code == "D267"


@pytest.mark.parametrize("name", ["piece.mid", "piece.MIDI", "piece.json"])
def test_what_is_saved_reads_back_equal(run, tmp_path, name):
    found = run.compose(CompositionOptions(steps=40, temperature=1.5))
    path = found.save(tmp_path / name, tempo=60)
    assert Music(steps_per_quarter=2).read(path, Data())[0].frames == found.frames


def test_voices_are_never_more(run):
    found = run.compose(CompositionOptions(steps=60, temperature=5.0, voices=3))
    assert max(map(len, found.frames)) == 3


@pytest.mark.parametrize(
    "settings",
    [{"steps": 0}, {"temperature": -1.0}, {"temperature": float("nan")}, {"voices": -1}]
    + [{"seed": -1}, {"steps": 10**9}],
)
def test_settings_that_cannot_be(settings):
    with pytest.raises(UsageError, match="expected") as told:
        CompositionOptions(**settings)
    assert told.value.code == "U332"


def test_files_that_cannot_be(tmp_path):
    piece = Composition([(60,)], 0, 4)
    for name, tempo, code in (
        ("piece.txt", 90, "U333"),
        ("piece.mid", 1, "U332"),
        ("no/piece.mid", 90, "E302"),
    ):
        with pytest.raises(SeqloomError) as told:
            piece.save(tmp_path / name, tempo)
        assert told.value.code == code
