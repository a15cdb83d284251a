"""The split belongs to the run, whatever becomes of its data files."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import SeqloomError
from seqloom.recipe import Recipe
from seqloom.runs.run import load
from seqloom.runs.split_record import SPLIT
from seqloom.runs.splits import FILES
from seqloom.runs.train import resume
from seqloom.training.checkpoints import save_arrays

WORDS = ["red", "green", "blue", "cold", "warm", "fast", "slow", "good", "bad", "big", "small"]
CHANCE = random.Random(0)
LINES = list(dict.fromkeys(" ".join(CHANCE.choices(WORDS, k=4)) for _ in range(200)))


NGRAM = {"name": "ngram", "order": 2}


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def labelled(lines):
    return ["text,label", *(f"{line},{'long' if 'big' in line else 'short'}" for line in lines)]


def trained(data, task="classify", model=None, **options):
    return seqloom.train(
        Recipe(
            data={"train": str(data), "valid_fraction": 0.1, "test_fraction": 0.2},
            task={"name": task, **options},
            model=model or {"name": "bag-of-words"},
        ),
        name="run",
        runs=data.parent / "runs",
    )


@pytest.fixture
def judge(tmp_path):
    """A classifier, and its file."""
    file = tmp_path / "texts.csv"
    write(file, labelled(LINES[:120]))
    return trained(file), file


def keys(run, examples):
    return {run.task.key(example) for example in examples}


def test_a_changed_file_moves_no_example_from_training_to_test(judge):
    run, file = judge
    learned, tested = keys(run, run.parts.train), keys(run, run.parts.test)
    CHANCE.shuffle(lines := LINES[:100] + LINES[120:180])
    write(file, labelled(lines))
    again = load(run.folder)
    found = again.evaluate()
    assert keys(run, found.examples) == {key for key in tested if " ".join(key) in lines}
    assert not keys(run, found.examples) & learned and not found.trained_on
    asked = {mistake.asked for mistake in again.mistakes().mistakes}
    assert asked <= {" ".join(key) for key in tested}
    assert run.evaluate().examples == run.parts.test, "what was trained here remembers its parts"


def test_what_has_changed_is_told(judge, capsys):
    run, file = judge
    write(file, labelled(LINES[:100] + LINES[120:180]))
    assert main(["evaluate", str(run.folder)]) == 0
    told = capsys.readouterr().err
    gone = len(run.parts.test) - len(load(run.folder).evaluate().examples)
    assert f"{gone} of the {len(run.parts.test)} test examples are no longer in the data" in told
    assert "60 examples are new" in told and "has changed since it was trained" in told


def test_a_file_without_any_of_them_is_refused(judge):
    run, file = judge
    write(file, labelled(LINES[150:]))
    with pytest.raises(SeqloomError, match="D165"):
        load(run.folder).evaluate()


@pytest.mark.parametrize("option", ["split_seed=7", "test_fraction=0.5", "folds=3"])
def test_a_setting_that_would_move_the_split_is_refused(judge, option, capsys):
    run, _ = judge
    for command in (["evaluate"], ["errors"], ["train", "--resume"]):
        assert main([*command, str(run.folder), "--set", f"data.{option}"]) == 2
        assert "U111" in capsys.readouterr().err
    key, _, value = option.partition("=")
    with pytest.raises(SeqloomError, match="U111"):
        run.evaluate(settings={f"data.{key}": json.loads(value)})


def test_rows_that_were_trained_on_are_named(judge, tmp_path, capsys):
    run, file = judge
    found = load(run.folder).evaluate(file)
    learned = keys(run, run.parts.train)
    assert {run.task.key(found.examples[i]) for i in found.trained_on} == learned
    assert main(["evaluate", str(run.folder), str(file)]) == 0
    assert f"{len(learned)} of 120 examples were trained on" in capsys.readouterr().err
    write(file, ["text,label", *(f"{' '.join(key)},long" for key in learned)])  # most are wrong
    assert main(["errors", str(run.folder), str(file), "--json"]) == 0
    assert all(one["trained_on"] for one in json.loads(capsys.readouterr().out)["mistakes"])
    assert main(["errors", str(run.folder), str(file)]) == 0
    told = capsys.readouterr()
    assert "trained on  input" in told.out and "all examples were trained on" in told.err


def test_an_ensemble_and_a_mixture_know_what_their_runs_were_trained_on(tmp_path):
    write(tmp_path / "text.txt", LINES[:120])
    run = trained(tmp_path / "text.txt", "language", NGRAM, tokens="bytes")
    second = seqloom.train(
        run.recipe.with_settings({"data.split_seed": 5}), name="second", runs=tmp_path
    )
    both = load(run.folder).ensemble(load(second.folder))
    found = both.evaluate()
    expected = keys(run, run.parts.test) & keys(run, second.parts.train)
    assert expected and keys(run, [found.examples[i] for i in found.trained_on]) == expected
    mixed = seqloom.mix(run, second, runs=tmp_path / "mixed").evaluate()
    assert mixed.trained_on == found.trained_on


def test_training_goes_on_without_what_was_held_out(judge):
    run, file = judge
    held = keys(run, [*run.parts.test, *run.parts.valid])
    write(file, labelled(LINES[120:180] + LINES[:120][::-1]))
    again = resume(run.folder, data_changed=True)
    assert not keys(run, again.parts.train) & held
    assert len(again.parts.train) == len(run.parts.train) + 60
    everything = load(run.folder).evaluate(file)
    assert len(everything.trained_on) == len(again.parts.train), "new rows are in the record, too"


def test_a_run_without_a_record_says_that_it_cannot_be_verified(judge, capsys):
    run, file = judge
    tested = keys(run, run.parts.test)
    (run.folder / SPLIT).unlink()
    assert keys(run, load(run.folder).evaluate().examples) == tested
    assert load(run.folder).evaluate(file).trained_on, "it is made anew where the data is as it was"
    write(file, labelled(LINES[:110]))
    assert main(["evaluate", str(run.folder)]) == 0
    assert "cannot be verified" in capsys.readouterr().err


def test_a_damaged_record_is_told(judge):
    run, _ = judge
    save_arrays(run.folder / SPLIT, dict.fromkeys(FILES, np.zeros(2, np.float32)))
    with pytest.raises(SeqloomError, match="M113"):
        load(run.folder).evaluate()


@pytest.mark.parametrize("at_front", [False, True])
def test_a_continuous_text_keeps_its_test_part(tmp_path, at_front):
    file = tmp_path / "text.txt"
    write(file, LINES[:100])
    run = trained(file, "language", NGRAM, layout="stream", tokens="words")
    learned, tested = ([one.text for one in part] for part in (run.parts.train, run.parts.test))
    write(file, LINES[150:] + LINES[:100] if at_front else LINES[:100] + LINES[150:])
    found = load(run.folder).evaluate()
    assert [one.text for one in found.examples] == tested[1:-1] and not found.trained_on
    assert len(load(run.folder).evaluate(file).trained_on) in (len(learned), len(learned) - 1)
    again = resume(run.folder, data_changed=True)
    assert not {one.text for one in again.parts.train} & set(tested)


def test_repeated_lines_of_a_text_are_no_sign_of_training(tmp_path):
    file = tmp_path / "text.txt"
    write(file, LINES[:60] + ["", "end", ""] + LINES[60:100] + ["", "", "", "", "end"])
    run = trained(file, "language", NGRAM, layout="stream", tokens="words")
    assert not run.evaluate().trained_on


def series(values, first=1):
    return ["time,sales", *(f"{n},{value}" for n, value in enumerate(values, start=first))]


@pytest.mark.parametrize("dated", [False, True])
def test_a_series_that_grows_keeps_its_test_part(tmp_path, dated):
    file = tmp_path / "sales.csv"
    values = [round(CHANCE.gauss(50, 9), 1) for _ in range(130)]
    first = 1900 if dated else 1
    write(file, series(values[:100], first))
    options = {"horizon": 2, "period": 1}
    run = trained(file, "forecast", {"name": "naive"}, **options)
    expected = run.evaluate()
    write(file, series(values, first))
    found = load(run.folder).evaluate()
    assert [e.future.tolist() for e in found.examples] == [
        e.future.tolist() for e in expected.examples
    ]
    assert found.values() == expected.values() and not found.trained_on
    everything = load(run.folder).evaluate(file)
    ends = [everything.examples[i].end for i in everything.trained_on]
    assert max(ends) - run.parts.train[0].end in (0, 1), "windows that end in the training part"
    assert len(ends) == sum(one.origin < run.parts.train[0].end for one in everything.examples)


def test_a_series_that_lost_its_past_is_known_again_by_its_times(tmp_path):
    file = tmp_path / "sales.csv"
    values = [round(CHANCE.gauss(50, 9), 1) for _ in range(100)]
    write(file, series(values, 1900))
    run = trained(file, "forecast", {"name": "naive"}, horizon=2, period=1)
    write(file, series(values[40:], 1940))
    again = load(run.folder)
    assert [e.future.tolist() for e in again.evaluate().examples] == [
        e.future.tolist() for e in run.parts.test
    ]


def test_the_record_travels_with_the_run(judge, tmp_path):
    run, file = judge
    archive = tmp_path / "run.zip"
    assert main(["export", str(run.folder), "-o", str(archive), "--force"]) == 0
    assert (
        main(["import", str(archive), "--name", "copy", "--runs-dir", str(tmp_path / "other")]) == 0
    )
    copy = load(tmp_path / "other" / "copy")
    assert len(copy.evaluate(file).trained_on) == len(run.parts.train)
    assert Path(copy.folder / SPLIT).read_bytes() == (run.folder / SPLIT).read_bytes()
