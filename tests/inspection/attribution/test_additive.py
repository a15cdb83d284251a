"""Where what each symbol does is known, every probe finds it."""

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.batch import Sequences
from seqloom.data.text.vocabulary import SPECIAL
from seqloom.errors import SeqloomError
from seqloom.inspection.attribution import PROBES, How, Question, why
from seqloom.inspection.attribution.question import place_of
from seqloom.model import Prediction
from seqloom.models.neural import Neural
from seqloom.signature import Form
from seqloom.tasks.classify import Classify

from ...contracts.cases import SIGNATURES, build, small
from .asking import one

WEIGHTS = {"good": 0.5, "fine": 0.25, "the": 0.0, "not": -0.75, "bad": -1.0}


class Additive(Neural):
    """log p(yes | x) = -3 + Σ_s w(x_s), so that what each symbol gives is its weight."""

    forms = frozenset({Form.WHOLE})

    def __init__(self, signature):
        super().__init__(signature)
        self.input = nn.Embedding(len(SPECIAL) + len(WEIGHTS), 2)
        weights = torch.tensor([0.0] * len(SPECIAL) + list(WEIGHTS.values()))
        # Two numbers for each symbol, of which the difference counts.
        self.input.weight.data = torch.stack([2 * weights, weights], dim=1)

    def door(self):
        return self.input

    def log_chances(self, source):
        values = torch.from_numpy(source.values)
        vectors = self.input(values) * torch.from_numpy(source.mask)[..., None]
        yes = -3 + (vectors[..., 0] - vectors[..., 1]).sum(1)
        return torch.stack([torch.log1p(-yes.exp()), yes], dim=-1)[:, None]

    def log_prob(self, batch):
        rows = torch.arange(len(batch))
        return self.log_chances(batch.source)[rows, 0, torch.from_numpy(batch.target.values[:, 0])]

    def predict(self, source, search):
        chances = self.log_chances(source).exp().numpy()
        best, ones = chances.argmax(-1), np.ones(len(source), dtype=np.int64)
        log_prob = np.log(chances.max(-1)[:, 0])
        return Prediction(Sequences(best, ones), log_prob, chances=chances)


@pytest.fixture
def sentiment():
    task = Classify()
    task.vocabulary.restore([*SPECIAL, *WEIGHTS])
    task.labels.restore({"no": 1, "yes": 1})
    return Additive(task.signature()), task


YES = Question(instead="yes")
EXACT = [How(), How(leave_out=True), How(by="gradient"), How(integrated=True)]


@pytest.mark.parametrize("how", EXACT, ids=lambda how: f"{how.by}{how.implied()}")
def test_where_symbols_add_up_every_probe_gives_their_weights(sentiment, how):
    words = ["the", "good", "not", "zebra", "good"]
    found = why(*sentiment, " ".join(words), "additive", how=how, about=YES)
    assert found.source == [*words, "</s>"]
    expected = [WEIGHTS.get(word, 0.0) for word in found.source]
    assert found.influence[0] == pytest.approx(expected, abs=1e-5)
    assert found.moved[0].chance == pytest.approx(np.exp(-3 + sum(expected)), rel=1e-5)


def test_the_answer_of_the_model_is_explained_unless_another_is_asked_for(sentiment):
    own, other = why(*sentiment, "good", "additive"), why(*sentiment, "good", "a", about=YES)
    assert (own.moved[0].answer, other.moved[0].answer) == ("no", "yes")
    both = own.moved[0].chance + other.moved[0].chance
    assert both == pytest.approx(1, abs=1e-6)
    assert own.influence[0, 0] < 0 < other.influence[0, 0]


def test_what_is_unknown_from_the_start_is_told(sentiment):
    (told,) = [n for n in why(*sentiment, "good zebra", "a").notes if "from the start" in n]
    assert told.endswith(": zebra")


@pytest.mark.parametrize("name", ["recurrent", "ngram", "encoder-decoder"])
def test_a_probe_says_whom_it_can_ask(name):
    form = "TRANSDUCE" if name == "encoder-decoder" else "NEXT"
    options = {"attention": "none"} if name == "encoder-decoder" else {}
    model = build(name, SIGNATURES[form], small(name, options))
    with model.at_rest():
        asked = one(model, SIGNATURES[form].form)
        able = [kind for kind, probe in PROBES.items() if probe.can(asked)]
    assert able == ["occlusion"] + ["gradient"] * (name != "ngram")


@pytest.mark.parametrize(
    ("at", "place"), [("1", 0), ("3", 2), ("cat", 1), ("0", None), ("4", None), ("-1", None)]
    + [("a", None), ("the", None), ("two", None)],
)  # fmt: skip
def test_places_are_named_by_number_or_symbol(at, place):
    names = ["the", "cat", "the"]
    if place is not None:
        assert place_of(at, names, "the text") == place
        return
    with pytest.raises(SeqloomError, match="U120"):
        place_of(at, names, "the text")
