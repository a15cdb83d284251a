"""Examples: their data passes the check, their models train, and what is made is the same anywhere."""

import random

import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.examples import EXAMPLES, real, synthetic
from seqloom.models import MODELS
from seqloom.runs.check import check


@pytest.fixture
def nothing_real(monkeypatch):
    """A machine without data sets."""
    monkeypatch.delenv("SEQLOOM_DATA", raising=False)
    monkeypatch.setattr(real.importlib.util, "find_spec", lambda name: None)


def test_the_seven_are_there():
    names = ["pronounce", "shakespeare", "parts-of-speech", "spam", "river", "chorales", "copy"]
    assert list(EXAMPLES) == names
    for example in EXAMPLES.values():
        assert example.title and example.sentence.endswith((".", "?"))
        assert 2 <= len(example.models) <= 3 and all(name in MODELS for name in example.models)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_setting_is_right(name, tmp_path):
    example = EXAMPLES[name]
    for model in example.models:
        recipe = example.recipe(model, tmp_path / example.file if example.file else None)
        filled = recipe.checked()
        assert filled.model["name"] == model and filled.training["max_time"] in ("30s", "40s")


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_made_passes_the_check_and_trains(name, tmp_path, nothing_real):
    example = EXAMPLES[name]
    told = example.as_dict()
    assert told["source"] == "made" and told["about_data"].endswith(".")
    file = example.write(tmp_path)
    if file is not None:
        shorten(file, 2000)
        report = check(file, None, Data(), {})
        assert report.task == example.task and not report.has_problems
        shorten(file, 120)
    for model in example.models:
        recipe = example.recipe(model, file).with_settings(quick(example.task))
        run = seqloom.train(recipe, name=model, runs=tmp_path / "runs")
        assert run.events()[-1]["kind"] == "end" and run.model.num_parameters() > 0


def shorten(file, lines):
    """Its first lines: all are made in the same way. A river needs its years."""
    if file.name != "flow.csv":
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))


def quick(task):
    """Two steps, on little data."""
    few = {"task.examples": 60, "task.valid_examples": 10, "task.test_examples": 10}
    return {
        "training.max_steps": 2,
        "training.evaluate_seconds": 0.0,
        "training.probes": 0,
        "training.evaluate_examples": 4,
        **(few if task == "algorithms" else {}),
    }


@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if one.file])
def test_what_is_made_is_the_same_again_and_written_whole(name, tmp_path, nothing_real):
    example = EXAMPLES[name]
    assert example.write(tmp_path).read_text() == example.material().content()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if one.file])
def test_all_that_is_made_passes_the_check(name, tmp_path, nothing_real):
    report = check(EXAMPLES[name].write(tmp_path), None, Data(), {})
    assert report.task == EXAMPLES[name].task and not report.has_problems


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if len(one.materials) > 1])
def test_real_data_where_it_is_at_hand(name, tmp_path):
    example = EXAMPLES[name]
    if example.as_dict()["source"] != "real":
        pytest.skip("the real data is not on this machine")
    file = example.write(tmp_path)
    report = check(file, None, Data(), {})
    assert report.task == example.task and not report.has_problems
    assert next(iter(report.counts.values())) > 200


def test_letters_sound_by_their_neighbours():
    chance = random.Random(0)
    found = dict(synthetic.word(chance) for _ in range(4000))
    soft = [sounds for word, sounds in found.items() if word.startswith(("ce", "ci"))]
    hard = [sounds for word, sounds in found.items() if word.startswith(("ca", "co", "cu"))]
    assert soft and all(sounds.startswith("S") for sounds in soft)
    assert hard and all(sounds.startswith("K") for sounds in hard)


def test_the_river_has_seasons_and_a_memory():
    flows = synthetic.flows(12 * 60)
    months = [sum(flows[month::12]) / 60 for month in range(12)]
    assert max(months) > 1.5 * min(months)
    apart = [flow - months[place % 12] for place, flow in enumerate(flows)]
    power = sum(a * a for a in apart)
    together = sum(a * b for a, b in zip(apart, apart[1:], strict=False))
    assert together / power > 0.5, "a wet month follows a wet month"


def test_hymns_keep_the_rules():
    chance = random.Random(3)
    for _ in range(20):
        for chord in synthetic.piece(chance):
            assert chord == sorted(set(chord)) and len(chord) == 4
            assert all(
                low <= p <= high for p, (low, high) in zip(chord, synthetic.RANGES, strict=True)
            )
            assert len({pitch % 12 for pitch in chord}) == 3
