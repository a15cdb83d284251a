"""The hidden Markov model: a textbook example, Baum-Welch against hmmlearn, and restarts."""

from itertools import product

import numpy as np
import pytest

from seqloom.batch import Batch, Item, Sequences
from seqloom.errors import ModelError
from seqloom.models.hmm import HMM
from seqloom.recipe import Recipe
from seqloom.runs.train import Callback, resume, train
from seqloom.signature import Form, Signature, Tokens
from seqloom.statistical.hmm import compiled, inference
from seqloom.statistical.hmm.chain import EmissionScores, LinearChain
from seqloom.statistical.hmm.compiled import expected_counts
from seqloom.training.checkpoints import load_arrays
from seqloom.training.em import EM
from seqloom.training.events import read_events
from seqloom.training.options import Training

RAINY, SUNNY = 0, 1
WALK, SHOP, CLEAN = 0, 1, 2
WEATHER = LinearChain.first_order(np.log([0.6, 0.4]), np.log([[0.7, 0.3], [0.4, 0.6]]), np.zeros(2))
SHOWN = np.log([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])


def signature(size):
    return Signature(Form.NEXT, Tokens(size), Tokens(size))


def test_the_weather_is_that_of_the_textbook():
    seen = EmissionScores(SHOWN.T, np.array([WALK, SHOP, CLEAN]), np.array([3]))
    right = [[0.231703, 0.768297], [0.624063, 0.375937], [0.863977, 0.136023]]
    (scores,) = seen.by_sequence()
    path, (score,) = compiled.viterbi(WEATHER, seen)
    for found, top in ((path, score), inference.viterbi(WEATHER, scores)):
        assert found.tolist() == [SUNNY, RAINY, RAINY]
        assert np.exp(top) == pytest.approx(0.01344, abs=1e-12)
    for chances in (compiled.posteriors(WEATHER, seen), inference.posteriors(WEATHER, scores)):
        np.testing.assert_allclose(chances.marginals, right, atol=1e-6)
    assert np.exp(compiled.log_partitions(WEATHER, seen)[0]) == pytest.approx(0.033612, abs=1e-12)


def test_a_model_with_these_numbers_says_the_same():
    model = HMM(signature(7), states=2)
    shown = np.zeros((2, 7))
    shown[:, 4:] = np.exp(SHOWN)
    model.restore(
        {"first": np.array([0.6, 0.4]), "moves": np.exp(WEATHER.transitions), "shown": shown}
    )
    seen = Sequences(np.array([[4, 5, 6]]), np.array([3]))
    states, log_prob = model.viterbi_states(seen)
    assert states.values.tolist() == [[SUNNY, RAINY, RAINY]]
    assert np.exp(log_prob) == pytest.approx([0.01344])
    assert model.state_probabilities(seen)[0, 0, RAINY] == pytest.approx(0.231703, abs=1e-6)
    assert np.exp(model.log_prob(Batch(seen, seen))) == pytest.approx([0.033612])


@pytest.mark.parametrize("states", [1, 3, 6])
def test_each_pass_is_as_likely_as_that_of_hmmlearn(states):
    """From the same start, the log-likelihood of every pass, and the numbers after the last."""
    hmm = pytest.importorskip("hmmlearn.hmm")
    chance, kinds, passes = np.random.default_rng(states), 5, 12
    lengths = [40, 1, 25, 60]
    symbols = chance.integers(0, kinds, sum(lengths))
    model = HMM(signature(kinds + 4), states=states, smoothing=0.0)
    shown = np.zeros((states, kinds + 4))
    shown[:, 4:] = chance.dirichlet(np.ones(kinds), states)
    first, moves = chance.dirichlet(np.ones(states)), chance.dirichlet(np.ones(states), states)
    model.restore({"first": first, "moves": moves, "shown": shown})
    rival = hmm.CategoricalHMM(
        states, n_iter=passes, tol=-np.inf, init_params="", params="ste", implementation="scaling"
    )
    rival.startprob_, rival.transmat_, rival.emissionprob_ = first, moves, shown[:, 4:]
    rival.n_features = kinds
    rival.fit(symbols[:, None], lengths)
    rows = Sequences.pad(np.split(symbols + 4, np.cumsum(lengths)[:-1]))
    likelihoods = []
    for _ in range(passes):
        found = model.statistics(Batch(rows, rows))
        likelihoods.append(found.log_likelihood)
        model.update(found)
    assert likelihoods == pytest.approx(list(rival.monitor_.history), abs=1e-6)
    weights = model.weights()
    np.testing.assert_allclose(weights["moves"], rival.transmat_, atol=1e-8)
    np.testing.assert_allclose(weights["shown"][:, 4:], rival.emissionprob_, atol=1e-8)


def items(seed, count=30):
    chance = np.random.default_rng(seed)
    rows = [chance.integers(2, 8, chance.integers(1, 12)) for _ in range(count)]
    return [Item(row, row) for row in rows]


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_what_it_learns_never_becomes_less_likely(seed, smoothing):
    """Of the text alone, or with what is added to counts as a prior: that is what passes raise."""
    HMM.seed(seed)
    model = HMM(signature(8), states=4, smoothing=smoothing)
    rows = Sequences.pad([item.target for item in items(seed)])
    last = -np.inf
    for _ in range(40):
        found = model.statistics(Batch(rows, rows))
        weights = model.weights()
        real = (weights["first"], weights["moves"], weights["shown"][:, 2:])
        with np.errstate(divide="ignore"):
            prior = sum(np.log(part).sum() for part in real) if smoothing else 0.0
        now = found.log_likelihood + smoothing * prior
        assert now >= last - 1e-9
        last = now
        model.update(found)


def test_passes_end_when_little_is_gained_and_starts_differ():
    HMM.seed(1)
    model = HMM(signature(8), states=3, restarts=3, tolerance=1e-3)
    way = EM(model, items(0), Training(epochs=50), continuous=False)
    steps = list(way.steps())
    starts = [step for step in steps if step.ends_epoch]
    losses = np.array([step.values["loss"] for step in starts])
    again = np.flatnonzero(losses[1:] - losses[:-1] > 1e-6) + 1  # a new start knows less
    assert len(again) == 2 and len(starts) < 150
    for part in np.split(losses, again):
        assert part[-2] - part[-1] < 1e-3 < part[0] - part[1]
    assert len({part[0] for part in np.split(losses, again)}) == 3
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))


def test_one_symbol_at_a_time_is_the_forward_sum():
    HMM.seed(3)
    model = HMM(signature(7), states=3)
    every = np.array(list(product(range(2, 7), repeat=2)))
    log_probs = model.log_prob(Batch(*[Sequences(every, np.full(len(every), 2))] * 2))
    assert np.exp(log_probs).sum() == pytest.approx(1)
    state = model.begin(Sequences(every, np.full(len(every), 2)))
    first, state = model.step(np.ones(len(every), dtype=np.int64), state)
    second, _ = model.step(every[:, 0], state)
    rows = np.arange(len(every))
    np.testing.assert_allclose(first[rows, every[:, 0]] + second[rows, every[:, 1]], log_probs)


def test_a_sequence_that_cannot_be_counts_for_nothing():
    stays = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    lattice = LinearChain.first_order(np.array([0.0, -np.inf]), stays, np.zeros(2))
    table = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    found = expected_counts(
        lattice, EmissionScores(table, np.array([0, 0, 1, 0]), np.array([2, 2]))
    )
    assert found.log_likelihood == -np.inf
    assert found.emissions.tolist() == [[2, 0], [0, 0]]


def recipe(data, **training):
    return Recipe(
        {"train": str(data / "text.txt"), "valid_fraction": 0.2, "test_fraction": 0.0},
        {"name": "language", "tokens": "words"},
        {"name": "hmm", "states": 4, "restarts": 2, "tolerance": 0.0},
        {"epochs": 8, **training},
    )


def test_a_stopped_run_goes_on_to_the_same_end(data, tmp_path):
    whole = train(recipe(data), name="whole", runs=tmp_path)
    stops = [0]

    def after_five():
        stops[0] += 1
        return stops[0] == 5

    train(recipe(data), name="parts", runs=tmp_path, callback=Callback(should_stop=after_five))
    assert read_events(tmp_path / "parts" / "events.jsonl")[-1]["reason"] == "stopped"
    resume(tmp_path / "parts")
    places = [tmp_path / name / "weights.safetensors" for name in ("whole", "parts")]
    one, other = (load_arrays(place).arrays for place in places)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    told = [e for e in read_events(tmp_path / "parts" / "events.jsonl") if e["kind"] == "eval"]
    assert len(told) == 16 and whole


def test_options_that_cannot_be_are_refused():
    for options in ({"states": 0}, {"restarts": 0}, {"smoothing": -1.0}, {"tolerance": -1.0}):
        with pytest.raises(ModelError) as told:
            HMM(signature(8), **options)
        assert told.value.code == "M301"


def test_a_continuous_text_is_one_sequence():
    """Learned as the whole is, and as likely read in windows as at once."""
    whole = np.concatenate([item.target for item in items(0)])
    ways = []
    for some, continuous in ((items(0), True), ([Item(whole, whole)], False)):
        HMM.seed(2)
        model = HMM(signature(8), states=3)
        ways.append(EM(model, some, Training(epochs=4), continuous=continuous))
    losses = [[step.values["loss"] for step in way.steps()] for way in ways]
    assert losses[0] == pytest.approx(losses[1]) and len(losses[0]) == 4
