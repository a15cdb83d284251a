"""How long the segments of a continuous text are that a model is trained on."""

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.models import MODELS
from seqloom.recipe import Recipe
from seqloom.runs.train import train
from seqloom.signature import Form, Signature, Tokens
from seqloom.tasks.language import Language
from seqloom.training.curriculum import CurriculumExamples
from seqloom.training.loop import make_learner
from seqloom.training.options import Training

SIGNATURE = Signature(Form.NEXT, Tokens(12), Tokens(12))
TRANSFORMER = {"hidden_size": 8, "num_layers": 1, "context": 128}
RECURRENT = {"hidden_size": 8, "embedding_size": 4}


def shape_of(name, options, tokens, **training):
    """Rows and length of the batches of a text with so many tokens."""
    text = np.random.default_rng(0).integers(4, 12, tokens)

    class Text(Language):
        def encode(self, example):
            return Item(example, example)

    made = MODELS[name](SIGNATURE, **options)
    examples = CurriculumExamples([text], [])
    learner = make_learner(made, Text(layout="stream"), examples, Training(**training))
    return learner.batches.batch_size, learner.batches.length


@pytest.mark.parametrize(
    ("name", "options", "tokens", "training", "expected"),
    [
        ("recurrent", RECURRENT, 9000, {}, (64, 64)),
        ("recurrent", RECURRENT, 9000, {"bptt": 10}, (64, 10)),
        ("transformer", TRANSFORMER, 9000, {}, (32, 128)),
        ("transformer", TRANSFORMER, 9000, {"batch_size": 5}, (2, 128)),
        ("transformer", TRANSFORMER, 9000, {"bptt": 10}, (64, 10)),
        ("transformer", TRANSFORMER, 300, {}, (2, 128)),  # a short text has fewer rows
        ("transformer", TRANSFORMER, 100, {}, (1, 100)),
    ],
)
def test_the_segments_of_a_transformer_are_as_long_as_its_context(
    name, options, tokens, training, expected
):
    assert shape_of(name, options, tokens, **training) == expected


@pytest.mark.parametrize(("bptt", "says"), [(0, False), (8, True), (16, False)])
def test_a_run_says_that_it_does_not_train_all_positions(tmp_path, bptt, says):
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 20)
    run = train(
        Recipe(
            {"train": str(tmp_path / "text.txt"), "valid_fraction": 0.2},
            {"name": "language", "layout": "stream"},
            {"name": "transformer", "hidden_size": 8, "num_layers": 1, "context": 16},
            {"max_steps": 1, "batch_size": 2, "bptt": bptt, "probes": 0},
        ),
        name="run",
        runs=tmp_path,
    )
    note = "the model attends to 16 tokens and is trained on 8 at a time"
    assert any(said.startswith(note) for said in run.events()[0]["notes"]) is says
