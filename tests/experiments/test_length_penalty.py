"""A length penalty is chosen where the test part does not look: on validation examples."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.errors import DataError, UsageError
from seqloom.experiments.length_penalty import choose_length_penalty
from seqloom.model import Model
from seqloom.prediction import Hypothesis, Prediction, Search
from seqloom.recipe import Recipe
from seqloom.runs.run import Run
from seqloom.runs.splits import Parts
from seqloom.signature import END, Form


class Penalised(Model):
    """Its answers are right as often as the length penalty is near to 1.5."""

    forms = frozenset({Form.TRANSDUCE})
    right = 1.5

    def __init__(self, task):
        super().__init__(task.signature())
        self.task, self.asked = task, []

    def log_prob(self, batch):
        return np.zeros(len(batch.source))

    def predict(self, source, search):
        self.asked.append((len(source), search))
        good = len(source) - round(10 * abs(search.length_penalty - self.right))
        answers = [[4 if row < good else 5, END] for row in range(len(source))]
        return Prediction.of([(Hypothesis(np.array(one), 0.0, 0.0),) for one in answers])

    def weights(self):
        return {}

    def restore(self, weights):
        return


def made(valid=20):
    task = Recipe(task={"name": "translate", "metrics": "errors"}).build_task()
    pairs = [task.with_target(task.question(f"w{n}"), "yes") for n in range(30)]
    task.prepare([*pairs, task.with_target(task.question("a"), "no")])
    assert task.target.tokens[4:] == ["yes", "no"]
    model = Penalised(task)
    recipe = Recipe(data={}, task={"name": "translate"}, model={"name": "encoder-decoder"})
    return Run(Path("run"), recipe, task, model, Parts(pairs[:5], pairs[:valid], pairs[25:], []))


def test_the_best_penalty_on_validation_is_taken(monkeypatch):
    run = made()
    monkeypatch.setattr(Run, "_trained_on", lambda self, examples: ())
    choice = choose_length_penalty(run, Search(beam=3, limit=7), [0.0, 1.0, 1.5, 2.0])
    assert choice.best == 1.5 and choice.metric == "sequence_error" and choice.count == 20
    assert choice.values == {0.0: 0.75, 1.0: 0.25, 1.5: 0.0, 2.0: 0.25}
    assert {(count, how.beam, how.limit) for count, how in run.model.asked} == {(20, 3, 7)}
    assert "length penalty 1.5, chosen by" in choice.sentence()
    assert "1 25.00 %" in choice.sentence() and "20 validation examples" in choice.sentence()


def test_of_equal_penalties_it_is_the_one_nearest_to_the_usual(monkeypatch):
    monkeypatch.setattr(Run, "_trained_on", lambda self, examples: ())
    monkeypatch.setattr(Penalised, "right", 1.0)
    run = made()
    assert choose_length_penalty(run, Search(beam=2), [2.0, 0.75, 0.0, 1.25, 2.0]).best == 0.75


def test_what_has_no_penalty_to_choose():
    with pytest.raises(UsageError) as told:
        choose_length_penalty(made(), Search())
    assert told.value.code == "U072"
    with pytest.raises(DataError, match="no examples to choose"):
        choose_length_penalty(made(valid=0), Search(beam=2))
