"""Error analysis, counted by hand, for tasks of every form."""

import json
import math
import re

import numpy as np
import pytest

import seqloom
from seqloom.cli.commands.errors import lines
from seqloom.cli.main import main
from seqloom.errors import UsageError
from seqloom.evaluation.error_analysis import analyse_errors
from seqloom.evaluation.evaluate import Evaluation, ExamplePrediction, evaluate
from seqloom.metrics import Ratio
from seqloom.model import Search
from seqloom.recipe import Recipe


def judged(task, examples, answers):
    """As `evaluate` would judge these answers."""
    tallies = [task.score(e, a.value, 1.0) for e, a in zip(examples, answers, strict=True)]
    by_name = {name: [one[name] for one in tallies] for name in tallies[0]}
    return Evaluation(list(examples), list(answers), by_name, 1.0)


def learned(name, examples, **options):
    task = Recipe(task={"name": name, "min_frequency": 1, **options}).build_task()
    asked = [task.with_target(task.question(text), answer) for text, answer in examples]
    asked = [example._replace(line=line) for line, example in enumerate(asked, start=1)]
    task.prepare(asked)
    return task, asked


def test_of_whole_texts():
    task, texts = learned("classify", [("a b c", "x"), ("a c", "y"), ("b a", "x")])
    new = task.with_target(task.question("a new"), "y")._replace(line=9)
    chances = np.array([[[0.9, 0.1]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.6, 0.4]]])
    names = [task.decode([int(np.argmax(one[0]))]) for one in chances]
    assert names == ["x", "x", "y", "x"]
    answers = [ExamplePrediction(name, math.log(one.max()), probabilities=one)
               for name, one in zip(names, chances, strict=True)]  # fmt: skip
    found = analyse_errors(task, judged(task, [*texts, new], answers))
    assert found.unit == "example" and (found.all.wrong, found.all.count) == (3, 4)
    told = [(one.line, one.answer, one.right, one.confidence) for one in found.mistakes]
    assert told == [(3, "y", "x", 0.8), (2, "x", "y", 0.7), (9, "x", "y", 0.6)]
    assert [(rate.title, rate.count, rate.wrong) for rate in found.by_label] == [
        ("x", 2, 1),
        ("y", 2, 2),
    ]
    assert [(rate.title, rate.count, rate.wrong) for rate in found.by_known] == [
        ("all tokens known", 3, 2),
        ("some token unknown", 1, 1),
    ]
    assert [(rate.title, rate.count, rate.wrong) for rate in found.by_length] == [
        ("2", 3, 3),
        ("3", 1, 0),
    ]
    printed = "\n".join(lines(found, 2))
    assert "3 of 4 examples are wrong: 75.00 %" in printed and "and 1 more: --limit 3" in printed
    assert "80.0 %  y" in printed and re.search(r"(?m)^y +2 +2 +100\.00 %", printed)


def test_of_every_word():
    """Confidence is that of the wrong tag at its place, not of the best there or of the whole."""
    task, texts = learned("tag", [("the cat sees", ["D", "N", "V"]), ("cat", ["N"])])
    asked = task.with_target(task.question("the dog sees"), ["D", "N", "V"])._replace(line=5)
    numbers = {tag: task.tags.encode([tag])[0] for tag in "DNV"}
    chances = np.full((3, 3), 0.2)
    chances[np.arange(3), [numbers["D"], numbers["V"], numbers["N"]]] = 0.6, 0.3, 0.5
    answers = [
        ExamplePrediction(["D", "V", "N"], -1.0, probabilities=chances),
        ExamplePrediction(["N"], -0.1, probabilities=np.full((1, 3), 1 / 3)),
    ]
    found = analyse_errors(task, judged(task, [asked, texts[1]], answers))
    told = [
        (one.symbol, one.place, one.right, one.answer, one.confidence) for one in found.mistakes
    ]
    assert told == [("sees", 3, "V", "N", 0.5), ("dog", 2, "N", "V", 0.3)]
    assert found.unit == "place" and (found.all.wrong, found.all.count) == (2, 4)
    assert [(rate.title, rate.count, rate.wrong) for rate in found.by_known] == [
        ("known", 3, 1),
        ("unknown", 1, 1),
    ]
    assert {rate.title: (rate.count, rate.wrong) for rate in found.by_label} == {
        "N": (2, 1),
        "D": (1, 0),
        "V": (1, 1),
    }
    assert {rate.title: (rate.count, rate.wrong) for rate in found.by_length} == {
        "1": (1, 0),
        "3": (3, 2),
    }
    assert "the [dog] sees" in "\n".join(lines(found, 5))


def test_of_translations():
    """Any of several right answers is right; a long answer is printed on a line of its own."""
    task = Recipe(task={"name": "translate"}).build_task()
    asked = [task.with_target(task.question(text), right)._replace(line=n)
             for n, (text, right) in enumerate([("a b", "x y"), ("c", "z" + " z" * 19)], 1)]  # fmt: skip
    task.prepare(asked)
    asked[0] = asked[0]._replace(references=("x y", "y x"))
    found = analyse_errors(
        task, judged(task, asked, [ExamplePrediction("y x", -1.0), ExamplePrediction("zz", -2.0)])
    )
    (only,) = found.mistakes
    assert (only.line, only.answer, only.right) == (2, "zz", "z" + " z" * 19)
    assert only.confidence == pytest.approx(math.exp(-2)) and not found.by_label
    assert "  true       z z z" in "\n".join(lines(found, 3))


@pytest.mark.parametrize("problem", ["parity", "order", "copy", "addition"])
def test_of_puzzles_with_a_real_model(problem):
    """What `evaluate` counts is what is found here."""
    settings = {"task.problem": problem, "task.test_examples": 30, "task.valid_examples": 0,
                "task.examples": 30, "model.embedding_size": 4, "model.hidden_size": 4}  # fmt: skip
    task = Recipe(task={"name": "algorithms"}).with_settings(
        {key: value for key, value in settings.items() if key.startswith("task.")}
    ).build_task()  # fmt: skip
    name = "encoder-decoder" if task.form.name == "TRANSDUCE" else "recurrent"
    model = Recipe(model={"name": name, "embedding_size": 4, "hidden_size": 4}).build_model(
        task.signature()
    )
    score = evaluate(
        model, task, task.generator().draw("test"), Search(probabilities=True, limit=12)
    )
    found = analyse_errors(task, score)
    values = score.values()
    expected = values["sequence_error"] if "sequence_error" in values else 1 - values["accuracy"]
    if problem == "copy":  # every place has a label
        guesses = [(one.answer, task.encode(task.with_target(one, answer.value)).target)
                   for one, answer in zip(score.examples, score.predictions, strict=True)]  # fmt: skip
        expected = np.mean([right != guess for right, guess in guesses])
    assert found.all.with_interval().value == pytest.approx(expected)
    assert sum(rate.wrong for rate in found.by_length) == len(found.mistakes) == found.all.wrong
    sure = [one.confidence for one in found.mistakes]
    assert sure == sorted(sure, reverse=True) and all(0 <= one <= 1 for one in sure)
    if found.by_label:
        assert found.unit == ("place" if problem == "copy" else "example")
        assert sum(rate.count for rate in found.by_label) == found.all.count
    if found.unit == "example":
        chance = {one.line: math.exp(answer.log_prob)
                  for one, answer in zip(score.examples, score.predictions, strict=True)}  # fmt: skip
        for mistake in found.mistakes:
            assert mistake.confidence == pytest.approx(chance[mistake.line], rel=1e-5)


def test_what_is_neither_right_nor_wrong():
    task, texts = learned("classify", [("a b c", "x"), ("d", "y")])
    texts = texts[:1]
    with pytest.raises(UsageError, match="U110.*language model"):
        analyse_errors(task, Evaluation(texts, [None], {"loss": [Ratio(1, 1)]}, 1.0))
    with pytest.raises(UsageError, match="U110.*neither right nor wrong"):
        analyse_errors(
            task,
            Evaluation(texts, [ExamplePrediction("x", 0.0)], {"squared_error": [Ratio(1, 1)]}, 1.0),
        )


def test_on_the_command_line(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    for task, file, model in (
        ("tag", "tags.conll", "recurrent"),
        ("language", "text.txt", "ngram"),
    ):
        small = {"model.embedding_size": 4, "model.hidden_size": 4, "training.epochs": 1}
        settings = small if model == "recurrent" else {}
        seqloom.train(task, file, model=model, name=task, settings=settings)
    assert main(["errors", "tag", "tags.conll", "--json", "--limit", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == "place" and len(found["mistakes"]) == min(3, found["all"]["wrong"])
    right = seqloom.load("tag").evaluate("tags.conll").values()["accuracy"]
    assert found["all"]["value"] == pytest.approx(1 - right)
    alike = seqloom.load("tag").mistakes("tags.conll")
    assert alike.as_dict(3) == {key: found[key] for key in alike.as_dict()}
    assert {rate["title"] for rate in found["by_label"]} == {"D", "N", "V"}
    assert main(["errors", "tag"]) == 0
    assert "the test part of tag" in capsys.readouterr().out
    assert main(["errors", "language"]) == 2
    assert "error[U110]" in capsys.readouterr().err
    assert main(["errors", "tag", "--limit", "0"]) == 2
    assert main(["errors", "tag", "--set", "model.embedding_size=3"]) == 2
    assert main(["errors", "tag", "nothing.conll"]) == 3
