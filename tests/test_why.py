"""What moved an answer: every probe against what is known to be true."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.batch import Batch, Sequences
from seqloom.data.vocabulary import SPECIAL
from seqloom.errors import SeqloomError
from seqloom.forms import BEGIN, UNKNOWN, Columns, Form, Labels, Letters, Signature, Tokens
from seqloom.model import Model, Prediction, Search, WeighsEvidence
from seqloom.models.neural import Neural
from seqloom.tasks.classify import Classify
from seqloom.tasks.tag import Tag
from seqloom.why import PROBES, How, Question, attention, gradient, occlusion, posterior, why
from seqloom.why.asking import Asked, Row, place_of
from seqloom.why.measuring import Altered, measured

from .contracts.cases import SIGNATURES, batch_for, build, small

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
        return Prediction(best, np.log(chances.max(-1)).sum(1), chances=chances)

    def log_prob(self, batch):
        raise NotImplementedError

    def weights(self):
        return {}

    def restore(self, weights):
        return


def pairs(path):
    return list(itertools.pairwise(path))


def of_labels(model, read, labels):
    """All places of a labelled sequence, to be explained."""
    rows = tuple(Row(place, label, str(label), "x") for place, label in enumerate(labels))
    names = tuple(map(str, range(len(read))))
    return Asked(model, np.array(read), names, np.zeros(0, np.int64), rows)


@pytest.mark.parametrize("seed", range(5))
def test_evidence_that_is_taken_away_is_a_sum_over_all_symbols(seed):
    model, read = Chain(seed), [4, 6, 5]
    assert isinstance(model, WeighsEvidence)
    asked = of_labels(model, read, [0, 2, 1])
    found = posterior.find(asked, How()).values

    def chance(t, z, sources):
        paths = list(itertools.product(range(3), repeat=3))
        whole = sum(model.path(p, x) for p in paths for x in sources)
        return sum(model.path(p, x) for p in paths for x in sources if p[t] == z) / whole

    for t, s in np.ndindex(3, 3):
        z = asked.rows[t].value
        without = [[*read[:s], v, *read[s + 1 :]] for v in (UNKNOWN, 4, 5, 6)]
        truth = np.log(chance(t, z, [read])) - np.log(chance(t, z, without))
        assert found[t, s] == pytest.approx(truth, abs=1e-9)


def test_labels_that_do_not_depend_on_each_other_go_by_their_own_symbol():
    found = posterior.find(of_labels(Chain(0, alike=True), [4, 5, 6], [0, 1, 2]), How()).values
    assert found[~np.eye(3, dtype=bool)] == pytest.approx(0, abs=1e-12)
    assert abs(found[np.eye(3, dtype=bool)]).min() > 1e-3


def test_a_chain_is_explained_by_its_posterior_unless_asked_otherwise():
    task = Tag()
    task.words.restore([*SPECIAL, "a", "b", "c"])
    task.tags.restore({"X": 1, "Y": 1, "Z": 1})
    task.ask = lambda example: task.words.encode(example.words)  # words alone, without letters
    model = Chain(1)
    found = why(model, task, "b a c", "chain")
    assert found.by == "posterior" and found.influence.shape == (3, 3)
    assert why(model, task, "b a c", "chain", how=How(by="occlusion")).by == "occlusion"
    with pytest.raises(SeqloomError, match="M341") as error:
        why(model, task, "b a c", "chain", how=How(by="gradient"))
    assert error.value.help == ("--by posterior", "--by occlusion")


def one(model, form, length=6):
    """A random sequence and its answer, all of it to be explained."""
    signature = model.signature
    batch = batch_for(signature, (length, length - 1), seed=3)
    read, answer = np.array(batch.source.rows()[0]), np.array(batch.target.rows()[0])
    if form is Form.NEXT:
        read, answer = np.concatenate([[BEGIN], read[:-1]]), read
    labels = answer if answer.ndim == 1 else answer.argmax(-1)
    rows = tuple(Row(t, int(y), str(y)) for t, y in enumerate(labels))
    symbols = tuple(map(str, range(len(read))))
    return Asked(model, read, symbols, labels, rows)


NEXT = [("recurrent", False), ("transformer", True), ("ngram", False), ("ngram", True)]


@pytest.mark.parametrize(("name", "leave_out"), NEXT)
def test_occlusion_of_the_next_symbol_is_exact(name, leave_out):
    model = build(name, SIGNATURES["NEXT"], small(name, {}))

    def log_prob(read, symbol):
        """By itself, from the beginning."""
        state = model.begin(Sequences.pad([np.array(read)]))
        for number in read:
            log_probs, state = model.step(np.array([number]), state)
        return float(log_probs[0, symbol])

    with model.at_rest():
        asked = one(model, Form.NEXT, 4)
        found = occlusion.find(asked, How(leave_out=leave_out)).values
        for t, s in np.ndindex(found.shape):
            read = asked.read[: t + 1].tolist()
            whole = log_prob(read, asked.answer[t])
            if s <= t:
                read[s : s + 1] = [] if leave_out else [UNKNOWN]
            if not read:
                assert np.isnan(found[t, s])
                continue
            truth = whole - log_prob(read, asked.answer[t])
            assert found[t, s] == pytest.approx(truth, abs=1e-5)
            assert s <= t or found[t, s] == 0


WRITING = [
    ("encoder-decoder", False),
    ("transformer-encoder-decoder", True),
    ("convolutional-encoder-decoder", False),
]


@pytest.mark.parametrize(("name", "leave_out"), WRITING)
def test_occlusion_of_what_is_written_is_exact(name, leave_out):
    model = build(name, SIGNATURES["TRANSDUCE"], small(name, {}))

    def log_probs(read, target):
        """Of each symbol: what it adds to those before it."""
        sums = [
            float(model.log_prob(Batch(Sequences.pad([read]), Sequences.pad([target[:end]])))[0])
            for end in range(1, len(target) + 1)
        ]
        return np.diff(sums, prepend=0.0)

    with model.at_rest():
        asked = one(model, Form.TRANSDUCE, 4)
        found = occlusion.find(asked, How(leave_out=leave_out)).values
        whole = log_probs(asked.read, asked.answer)
        for s in range(len(asked.read)):
            less = np.delete(asked.read, s)
            read = less if leave_out else np.insert(less, s, UNKNOWN)
            truth = whole - log_probs(read, asked.answer)
            assert found[:, s] == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("form", ["EACH", "WHOLE", "WHOLE-bits", "EACH-columns", "WHOLE-vectors"])
@pytest.mark.parametrize("leave_out", [False, True])
def test_occlusion_of_labels_is_exact(form, leave_out):
    signature = SIGNATURES[form]
    more = {"letters": "recurrent", "letters_width": 2, "feature_width": 1}
    options = {"directions": "both"} | (more if form == "EACH-columns" else {})
    model = build("recurrent", signature, small("recurrent", options))
    with model.at_rest():
        asked = one(model, signature.form, 4)
        found = occlusion.find(asked, How(leave_out=leave_out)).values
        whole = chances(model, asked.read)
        for t, s in np.ndindex(found.shape):
            label = asked.rows[t].value
            read = occlusion.hidden(asked.read, s, signature.source)
            place = t
            if leave_out:
                read, place = np.delete(asked.read, s, axis=0), t - (t > s)
                if signature.form is Form.EACH and t == s:
                    assert np.isnan(found[t, s])
                    continue
            there = chances(model, read)[0 if signature.form is Form.WHOLE else place, label]
            truth = np.log(whole[t, label]) - np.log(there)
            assert found[t, s] == pytest.approx(truth, abs=1e-5)
        assert np.nanmax(abs(found)) > 1e-4


def chances(model, read):
    found = model.predict(Sequences.pad([read]), Search(chances=True))
    return found.chances[0].astype(np.float64)


def test_all_columns_of_a_word_are_hidden_together():
    space = Columns((Tokens(9), Letters(7, 3), Tokens(5)))
    read = np.array([[8, 5, 6, 4, 4], [7, 4, 4, 0, 4]])
    found = occlusion.hidden(read, 0, space)
    assert found.tolist() == [[UNKNOWN, UNKNOWN, 0, 0, UNKNOWN], [7, 4, 4, 0, 4]]
    assert read[0, 0] == 8, "what was read stays as it was"


NEURAL = [
    ("recurrent", "NEXT", {"cell": "gru"}),
    (
        "recurrent",
        "EACH-columns",
        {"letters": "convolution", "letters_width": 2, "feature_width": 1},
    ),
    ("transformer", "WHOLE-bits", {}),
    ("transformer", "NEXT", {"context": 4}),
    ("convolutional", "EACH-vectors", {}),
    ("encoder-decoder", "TRANSDUCE", {}),
    ("transformer-encoder-decoder", "TRANSDUCE", {}),
]


@pytest.mark.parametrize(("name", "form", "options"), NEURAL)
def test_integrated_gradients_are_complete(name, form, options):
    """They sum to the difference between these vectors and none."""
    model = build(name, SIGNATURES[form], small(name, options))
    with torch.no_grad():  # at first models hardly look at what they read
        for weight in model.parameters():
            weight.mul_(2)
    asked = one(model, SIGNATURES[form].form)
    asked = replace(asked, rows=asked.rows[:3])
    with model.at_rest():
        found = gradient.find(asked, How(integrated=True))
        whole, nothing = gradient.slopes(asked, [1.0, 0.0])[0]
        assert whole == pytest.approx(measured(asked, [Altered(asked.read)])[0], abs=1e-5)
    strongest = abs(found.values).max()
    assert found.values.sum(1) == pytest.approx(whole - nothing, abs=gradient.EXACT * strongest)
    assert strongest > 1e-4
    plain = gradient.find(asked, How(by="gradient")).values
    assert plain.shape == found.values.shape and abs(plain).max() > 0
    if form == "NEXT":
        assert not np.triu(found.values, 1).any(), "nothing goes by what comes after it"


LOOKING = [
    ("transformer", "EACH", {}),
    ("transformer", "WHOLE", {}),
    ("transformer", "NEXT", {}),
    ("transformer", "NEXT", {"context": 4}),
    ("recurrent", "WHOLE", {"pooling": "attentive"}),
    ("encoder-decoder", "TRANSDUCE", {}),
    ("encoder-decoder", "TRANSDUCE", {"attention": "multi-head", "heads": 2}),
    ("transformer-encoder-decoder", "TRANSDUCE", {}),
    ("convolutional-encoder-decoder", "TRANSDUCE", {}),
]


@pytest.mark.parametrize(("name", "form", "options"), LOOKING)
def test_attention_is_shares_of_one(name, form, options):
    model = build(name, SIGNATURES[form], small(name, options))
    asked = one(model, SIGNATURES[form].form)
    with model.at_rest():
        assert attention.can(asked)
        hows = [How(by="attention")] + [How(rollout=True)] * ("transformer" in name)
        for how in hows:
            found = attention.find(asked, how)
            assert found.values.shape == (len(asked.rows), len(asked.read))
            assert found.values.sum(1) == pytest.approx(1, abs=1e-5)
            assert found.values.min() >= 0 and found.unit == "share"
            assert any("not what caused" in note for note in found.notes)
            if form == "NEXT":
                assert not np.triu(found.values, 1).any()


def test_a_text_in_blocks_looks_as_far_as_each_place_sees():
    """A context of 4: place p sees from max(0, ⌊p/2⌋ - 1) · 2 on."""
    model = build("transformer", SIGNATURES["NEXT"], small("transformer", {"context": 4}))
    with model.at_rest():
        found = attention.find(one(model, Form.NEXT), How(by="attention")).values
    for place, row in enumerate(found):
        first = max(0, place // 2 - 1) * 2
        assert np.flatnonzero(row).tolist() == list(range(first, place + 1))


def test_rollout_goes_through_every_layer():
    """By hand: each layer's mean of heads, half of it the place itself."""
    from seqloom.trace import watching

    model = build("transformer", SIGNATURES["EACH"], small("transformer", {}))
    asked = one(model, Form.EACH)
    with model.at_rest():
        found = attention.find(asked, How(rollout=True)).values
        with watching(model) as trace:
            model.predict(Sequences.pad([asked.read]), Search())
    first, second = (record.value[0].mean(0) for record in trace.of_kind("attention"))
    same = np.eye(len(first))
    assert found == pytest.approx((second + same) / 2 @ (first + same) / 2, abs=1e-6)


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
