"""Where the effect of each token is known, every attribution method finds it."""

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.batch import Sequences
from seqloom.data.text.vocabulary import SPECIAL_TOKENS
from seqloom.errors import SeqloomError
from seqloom.inspection.attribution import (
    METHODS,
    AttributionOptions,
    TargetOptions,
    attribute_question,
)
from seqloom.inspection.attribution.target import position_of
from seqloom.model import Prediction
from seqloom.models.neural import Neural
from seqloom.signature import Form
from seqloom.tasks.classify import Classify

from ...contracts.cases import SIGNATURES, build, small
from .problems import problem

WEIGHTS = {"good": 0.5, "fine": 0.25, "the": 0.0, "not": -0.75, "bad": -1.0}


class Additive(Neural):
    """log p(yes | x) = -3 + Σ_s w(x_s), so that what each symbol gives is its weight."""

    forms = frozenset({Form.WHOLE})

    def __init__(self, signature):
        super().__init__(signature)
        self.input = nn.Embedding(len(SPECIAL_TOKENS) + len(WEIGHTS), 2)
        weights = torch.tensor([0.0] * len(SPECIAL_TOKENS) + list(WEIGHTS.values()))
        # Two numbers for each symbol, of which the difference counts.
        self.input.weight.data = torch.stack([2 * weights, weights], dim=1)

    def embedding_layer(self):
        return self.input

    def class_log_probs(self, source):
        values = torch.from_numpy(source.values)
        vectors = self.input(values) * torch.from_numpy(source.mask)[..., None]
        yes = -3 + (vectors[..., 0] - vectors[..., 1]).sum(1)
        return torch.stack([torch.log1p(-yes.exp()), yes], dim=-1)[:, None]

    def log_prob(self, batch):
        rows = torch.arange(len(batch))
        return self.class_log_probs(batch.source)[
            rows, 0, torch.from_numpy(batch.target.values[:, 0])
        ]

    def predict(self, source, search):
        chances = self.class_log_probs(source).exp().numpy()
        best, ones = chances.argmax(-1), np.ones(len(source), dtype=np.int64)
        log_prob = np.log(chances.max(-1)[:, 0])
        return Prediction(Sequences(best, ones), log_prob, probabilities=chances)


@pytest.fixture
def sentiment():
    task = Classify()
    task.vocabulary.restore([*SPECIAL_TOKENS, *WEIGHTS])
    task.labels.restore({"no": 1, "yes": 1})
    return Additive(task.signature()), task


def attribute(model, task, text, name, **more):
    return attribute_question(model, task, task.question(text), name, **more)


YES = TargetOptions(instead="yes")
EXACT = [
    AttributionOptions(),
    AttributionOptions(leave_out=True),
    AttributionOptions(by="gradient"),
    AttributionOptions(integrated=True),
]


@pytest.mark.parametrize("how", EXACT, ids=lambda how: f"{how.by}{how.implied()}")
def test_where_symbols_add_up_every_probe_gives_their_weights(sentiment, how):
    words = ["the", "good", "not", "zebra", "good"]
    found = attribute(*sentiment, " ".join(words), "additive", how=how, about=YES)
    assert found.source == [*words, "</s>"]
    expected = [WEIGHTS.get(word, 0.0) for word in found.source]
    assert found.attributions[0] == pytest.approx(expected, abs=1e-5)
    assert found.targets[0].probability == pytest.approx(np.exp(-3 + sum(expected)), rel=1e-5)


def test_the_answer_of_the_model_is_explained_unless_another_is_asked_for(sentiment):
    own, other = (
        attribute(*sentiment, "good", "additive"),
        attribute(*sentiment, "good", "a", about=YES),
    )
    assert (own.targets[0].output, other.targets[0].output) == ("no", "yes")
    both = own.targets[0].probability + other.targets[0].probability
    assert both == pytest.approx(1, abs=1e-6)
    assert own.attributions[0, 0] < 0 < other.attributions[0, 0]


def test_what_is_unknown_from_the_start_is_told(sentiment):
    (told,) = [n for n in attribute(*sentiment, "good zebra", "a").notes if "from the start" in n]
    assert told.endswith(": zebra")


@pytest.mark.parametrize("name", ["recurrent", "ngram", "encoder-decoder"])
def test_a_probe_says_whom_it_can_ask(name):
    form = "TRANSDUCE" if name == "encoder-decoder" else "NEXT"
    options = {"attention": "none"} if name == "encoder-decoder" else {}
    model = build(name, SIGNATURES[form], small(name, options))
    with model.inference_mode():
        given = problem(model, SIGNATURES[form].form)
        able = [kind for kind, method in METHODS.items() if method.applies(given)]
    assert able == ["occlusion"] + ["gradient"] * (name != "ngram")


@pytest.mark.parametrize(
    ("at", "place"), [("1", 0), ("3", 2), ("cat", 1), ("0", None), ("4", None), ("-1", None)]
    + [("a", None), ("the", None), ("two", None)],
)  # fmt: skip
def test_places_are_named_by_number_or_symbol(at, place):
    names = ["the", "cat", "the"]
    if place is not None:
        assert position_of(at, names, "the text") == place
        return
    with pytest.raises(SeqloomError, match="U120"):
        position_of(at, names, "the text")
