"""From easy to hard: for tasks that make their levels and for files, told, resumed, refused."""

import json

import numpy as np
import pytest

from seqloom.cli.main import main
from seqloom.errors import TrainingError, UsageError
from seqloom.recipe import Recipe
from seqloom.runs.splits import curriculum_levels, read_parts
from seqloom.runs.train import Callback, resume, train
from seqloom.training.checkpoints import load_arrays
from seqloom.training.curriculum import LEVELS, assign_levels
from seqloom.training.options import Training

from .test_resume import fingerprint
from .test_resume import recipe as pairs

pytestmark = pytest.mark.usefixtures("short_answers")

CURRICULA = ["naive", "mixed", "combined"]
SMALL = {"name": "encoder-decoder", "embedding_size": 4, "hidden_size": 6}
SIZES = {"examples": 60, "valid_examples": 6, "test_examples": 6}


def made(problem="addition", **training):
    task = {"name": "algorithms", "problem": problem, **SIZES}
    settings = {"epochs": 6, "batch_size": 16, "evaluate_steps": 9, "schedule": "constant"}
    return Recipe({}, task, SMALL, {**settings, **training})


def levels_of(recipe):
    recipe = recipe.checked()
    task, data = recipe.build_task(), recipe.build_data()
    parts = read_parts(task, data)
    task.prepare(parts.train)
    model = recipe.build_model(task.signature())
    easier = curriculum_levels(task, data, parts)
    return task, parts, assign_levels(model, task, parts.train, easier, recipe.build_training())


def test_levels_that_a_task_makes():
    """A level for each number of digits; none of it is in validation or test."""
    task, parts, found = levels_of(made(curriculum="naive"))
    assert len(found.levels) == 3
    assert [found.examples[i] for i in found.levels[-1]] == parts.train
    for digits, level in enumerate(found.levels, start=1):
        asked = [task.show_question(found.examples[i]) for i in level]
        assert max(len(n) for text in asked for n in text.split("+")) == digits
    judged = {task.key(example) for example in parts.valid + parts.test}
    assert not judged & {task.key(example) for example in found.examples}
    _, same, _ = levels_of(made())
    for part in ("train", "valid", "test"):
        ours, theirs = getattr(parts, part), getattr(same, part)
        assert [task.key(e) for e in ours] == [task.key(e) for e in theirs], "the same for all"


def test_levels_of_a_file_are_its_shorter_examples(data):
    """The k-th has what is no longer than the k-th eighth; the last has all."""
    task, parts, found = levels_of(pairs(data, curriculum="naive"))
    assert found.examples == parts.train and 2 <= len(found.levels) <= LEVELS, assign_levels
    assert found.levels[-1].tolist() == list(range(len(parts.train)))
    hard = np.array([task.difficulty(example) for example in parts.train])
    for easy, more in zip(found.levels, found.levels[1:], strict=False):
        assert set(easy) < set(more)
        assert hard[easy].max() < hard[np.setdiff1d(more, easy)].min()


def after(count):
    """Stops after so many steps."""
    steps = iter(range(1, 1 << 30))
    return lambda: next(steps) == count


def told(run):
    return [e["level"] for e in run.events() if e["kind"] == "train" and "level" in e]


@pytest.mark.parametrize("curriculum", CURRICULA)
@pytest.mark.parametrize("make", ["made", "pairs"])
def test_a_stop_in_the_middle_is_exact(data, curriculum, make):
    def recipe():
        if make == "made":
            return made(curriculum=curriculum)
        short = {"epochs": 6, "evaluate_steps": 20, "batch_tokens": 60}
        return pairs(data, curriculum=curriculum, **short)

    whole = train(recipe(), name="whole", runs=data / "runs")
    count = whole.events()[-1]["step"] // 3  # between the first and the last level
    part = train(
        recipe(), name="part", runs=data / "runs", callback=Callback(should_stop=after(count))
    )
    assert part.events()[-1]["reason"] == "stopped" and part.events()[-1]["step"] == count
    assert fingerprint(resume(part.folder).folder) == fingerprint(whole.folder)
    levels = told(whole)
    assert levels == sorted(levels) and bool(levels) == (curriculum != "mixed")


def test_curricula_learn_otherwise_than_without(data):
    found = {
        name: fingerprint(train(made(curriculum=name), name=name, runs=data / "runs").folder)[0]
        for name in ("none", *CURRICULA)
    }
    assert len(set(found.values())) == 4


def test_events_tell_the_level(data):
    """Each level for its share: half of 24 steps for three levels are four steps for each."""
    seen = []

    def tell(event):
        seen.append((event.step, event.values.get("level"), event.values.get("levels")))

    callback = Callback(on_event=lambda event: event.kind == "train" and tell(event))
    train(made(curriculum="naive", evaluate_steps=1), runs=data / "runs", callback=callback)
    assert {of for _, _, of in seen} == {3}
    level = {step: level for step, level, _ in seen}
    assert [level[step] for step in range(1, 13)] == [1] * 4 + [2] * 4 + [3] * 4
    assert all(level[step] == 3 for step in range(13, 25))


def test_patience_waits_for_the_last_level(data):
    """An easier level may improve nothing that is judged; that is no reason to give up."""
    still = {"learning_rate": 1e-9, "evaluate_steps": 1, "patience": 2}
    without = train(made(**still), name="a", runs=data / "runs")
    assert without.events()[-1]["step"] < 8
    slow = train(made(curriculum="naive", **still), name="b", runs=data / "runs")
    assert slow.events()[-1]["step"] >= 9, "two thirds of one half of 24 steps are 8"
    assert slow.events()[-1]["reason"] == "no improvement"


def test_a_run_goes_on_with_another_curriculum(data):
    """Not exactly, but to the end: also where an epoch then has fewer batches."""
    run = train(made(max_steps=3), name="changed", runs=data / "runs")
    settings = {
        "training.max_steps": 9,
        "training.curriculum": "combined",
        "training.batch_size": 60,
    }
    again = resume(run.folder, settings=settings)
    end = again.events()[-1]
    assert end["reason"] == "finished" and end["step"] > 3
    facts = load_arrays(run.folder / "checkpoint" / "last.safetensors").facts
    assert facts["level"] == 2


def test_refusals(data):
    runs = data / "runs"
    alike = Recipe({}, {"name": "algorithms", **SIZES}, {"name": "recurrent"})
    cases = {
        "all are equally hard": alike,
        "a continuous text": Recipe(
            {"train": str(data / "text.txt")},
            {"name": "language", "layout": "stream"},
            {"name": "recurrent"},
        ),
    }
    (data / "long.csv").write_text(
        "id,day,value\n"
        + "".join(f"a,{n},{n % 7}\n" + f"b,{n},{n % 5}\n" * (n < 60) for n in range(90))
    )
    cases["time series are trained on windows"] = Recipe(
        {"train": str(data / "long.csv"), "columns": "id=id,time=day,value=value"},
        {"name": "forecast", "horizon": 3},
        {"name": "recurrent"},
    )
    for words, recipe in cases.items():
        with pytest.raises(TrainingError) as error:
            train(recipe.with_settings({"training.curriculum": "naive"}), name="no", runs=runs)
        assert error.value.code == "T150" and words in str(error.value)
        assert not (runs / "no").exists(), "nothing is left of what was refused"
    counted = Recipe({"train": str(data / "text.txt")}, {"name": "language"}, {"name": "ngram"})
    with pytest.raises(TrainingError) as error:
        train(counted.with_settings({"training.curriculum": "mixed"}), name="no", runs=runs)
    assert error.value.code == "T151" and "trained by closed form" in str(error.value)
    with pytest.raises(UsageError) as usage:
        made(curriculum="naiv").checked()
    assert usage.value.code == "U010" and "did you mean 'naive'?" in str(usage.value)
    for share in (0.0, -1.0, 1.5):
        with pytest.raises(UsageError, match="above 0 and at most 1"):
            Training(curriculum_share=share)


def test_from_the_command_line(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    tiny = [
        "--set",
        "model.hidden_size=6",
        "--set",
        "model.embedding_size=6",
        "--set",
        "training.max_steps=3",
    ]
    tiny += ["--set", "training.curriculum=combined", "--name", "short-first"]
    assert main(["train", "translate", "pairs.tsv", *tiny]) == 0
    lines = (data / "runs" / "short-first" / "events.jsonl").read_text().splitlines()
    assert any("level" in json.loads(line) for line in lines)
    capsys.readouterr()
    few = ["--set", "task.examples=9", "--set", "training.curriculum=naive"]
    assert main(["train", "algorithms", *few]) == 5
    assert "error[T150]" in capsys.readouterr().err
