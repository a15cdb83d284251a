"""Posteriors without the evidence of one token, against sums over all tokens."""

import itertools

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.data.text.vocabulary import SPECIAL_TOKENS
from seqloom.errors import SeqloomError
from seqloom.inspection.attribution import AttributionOptions, attribute_question, posterior
from seqloom.inspection.attribution.target import AttributionProblem, OutputPart
from seqloom.model import MaskedPosteriors, Model, Prediction
from seqloom.signature import UNKNOWN, Form, Labels, Signature, Tokens
from seqloom.tasks.tag import Tag


class Chain(Model):
    """A hidden Markov model by the sum over all paths, with UNKNOWN and the symbols 4, 5, 6."""

    forms = frozenset({Form.EACH})

    def __init__(self, seed, labels=3, alike=False):
        super().__init__(Signature(Form.EACH, Tokens(7), Labels(labels)))
        chance = np.random.default_rng(seed)
        self.first = chance.dirichlet(np.ones(labels))
        self.moves = chance.dirichlet(np.ones(labels), labels)
        if alike:
            self.moves[:] = self.moves[0]
        self.says = np.zeros((labels, 7))
        self.says[:, UNKNOWN:] = chance.dirichlet(np.ones(4), labels)

    def path(self, path, symbols):
        """p(path, symbols); None stands for any symbol."""
        steps = zip(path, symbols, strict=True)
        said = np.prod([1.0 if x is None else self.says[z, x] for z, x in steps])
        return self.first[path[0]] * said * np.prod([self.moves[pair] for pair in pairs(path)])

    def posteriors(self, source, heard):
        size, found = self.signature.target.size, []
        for row, ears in zip(source.rows(), heard, strict=True):
            symbols = [x if hears else None for x, hears in zip(row, ears, strict=False)]
            chances = np.zeros((len(row), size))
            for path in itertools.product(range(size), repeat=len(row)):
                chances[range(len(row)), list(path)] += self.path(path, symbols)
            found.append(chances / chances.sum(1, keepdims=True))
        return np.stack(found)

    def predict(self, source, search):
        chances = self.posteriors(source, source.mask)
        best = Sequences(chances.argmax(-1), source.lengths)
        return Prediction(best, np.log(chances.max(-1)).sum(1), probabilities=chances)

    def log_prob(self, batch):
        raise NotImplementedError

    def weights(self):
        return {}

    def restore(self, weights):
        return


def pairs(path):
    return list(itertools.pairwise(path))


def of_labels(model, read, labels):
    """All places of a labelled sequence, to be attributed."""
    rows = tuple(OutputPart(place, label, str(label), "x") for place, label in enumerate(labels))
    names = tuple(map(str, range(len(read))))
    return AttributionProblem(model, np.array(read), names, np.zeros(0, np.int64), rows)


@pytest.mark.parametrize("seed", range(5))
def test_evidence_that_is_taken_away_is_a_sum_over_all_symbols(seed):
    model, read = Chain(seed), [4, 6, 5]
    assert isinstance(model, MaskedPosteriors)
    given = of_labels(model, read, [0, 2, 1])
    found = posterior.attribute(given, AttributionOptions()).values

    def chance(t, z, sources):
        paths = list(itertools.product(range(3), repeat=3))
        whole = sum(model.path(p, x) for p in paths for x in sources)
        return sum(model.path(p, x) for p in paths for x in sources if p[t] == z) / whole

    for t, s in np.ndindex(3, 3):
        z = given.parts[t].value
        without = [[*read[:s], v, *read[s + 1 :]] for v in (UNKNOWN, 4, 5, 6)]
        truth = np.log(chance(t, z, [read])) - np.log(chance(t, z, without))
        assert found[t, s] == pytest.approx(truth, abs=1e-9)


def test_labels_that_do_not_depend_on_each_other_go_by_their_own_symbol():
    found = posterior.attribute(
        of_labels(Chain(0, alike=True), [4, 5, 6], [0, 1, 2]), AttributionOptions()
    ).values
    assert found[~np.eye(3, dtype=bool)] == pytest.approx(0, abs=1e-12)
    assert abs(found[np.eye(3, dtype=bool)]).min() > 1e-3


def test_a_chain_is_explained_by_its_posterior_unless_asked_otherwise():
    task = Tag()
    task.words.restore([*SPECIAL_TOKENS, "a", "b", "c"])
    task.tags.restore({"X": 1, "Y": 1, "Z": 1})
    task.encode_source = lambda example: task.words.encode(
        example.words
    )  # words alone, without letters
    model = Chain(1)
    asked = model, task, task.question("b a c"), "chain"
    found = attribute_question(*asked)
    assert found.by == "posterior" and found.attributions.shape == (3, 3)
    assert attribute_question(*asked, how=AttributionOptions(by="occlusion")).by == "occlusion"
    with pytest.raises(SeqloomError, match="M341") as error:
        attribute_question(*asked, how=AttributionOptions(by="gradient"))
    assert error.value.help == ("--by posterior", "--by occlusion")
