"""The Gaussian HMM: forecasts, classification by Bayes, streaming, Baum-Welch, and errors."""

from itertools import product

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.model import EMTrained, Filtering, Search
from seqloom.models.gaussian_hmm import GaussianHMM
from seqloom.prediction import LEVELS
from seqloom.signature import Form, Labels, Series, Signature

AHEAD = Signature(Form.FORECAST, Series(1, horizon=3), Series(1, horizon=3))
WHOLE = Signature(Form.WHOLE, Series(2), Labels(2))
EACH = Signature(Form.EACH, Series(1), Labels(2))


def two_levels(steps=400, seed=0):
    """A series that stays near 0 or near 5 for twenty steps or so, and its states."""
    chance, state, states = np.random.default_rng(seed), 0, []
    for _ in range(steps):
        state = 1 - state if chance.random() < 0.05 else state
        states.append(state)
    return 5.0 * np.array(states)[:, None] + chance.normal(size=(steps, 1)), np.array(states)


def whole(*series):
    """Series to learn from: nothing is known before them."""
    target = Sequences.pad(list(series))
    return Batch(Sequences(np.full_like(target.values, np.nan), target.lengths), target)


def asked(past, ahead, known=0):
    rows = np.concatenate([past, np.full((ahead, past.shape[1]), np.nan)])
    return Sequences.pad([np.concatenate([rows, np.zeros((len(rows), known))], axis=1)])


def taught(signature, batch, passes=12, **options):
    GaussianHMM.seed(1)
    model = GaussianHMM(signature, **options)
    model.restart(0)
    for _ in range(passes):
        model.update(model.statistics(batch))
    return model


def test_the_levels_are_found_and_the_likelihood_never_falls():
    rows, states = two_levels()
    model = taught(AHEAD, whole(rows), passes=1, states=2)
    assert isinstance(model, EMTrained)
    before = model.log_prob(whole(rows))[0]
    for _ in range(10):
        found = model.statistics(whole(rows))
        assert found.log_likelihood == pytest.approx(before, rel=1e-12)
        model.update(found)
        after = model.log_prob(whole(rows))[0]
        assert after >= before - 1e-9
        before = after
    regimes = model.hmms[0]
    np.testing.assert_allclose(regimes.emission.means()[:, 0], [0, 5], atol=0.3)
    np.testing.assert_allclose(regimes.emission.deviations()[:, 0], 1, atol=0.2)
    np.testing.assert_allclose(np.diag(regimes.transitions), 0.95, atol=0.04)
    assert (regimes.viterbi(rows, np.array([400])) == states).mean() > 0.97


def test_the_density_of_the_future_sums_to_one_and_is_the_rest_of_the_whole():
    rows, _ = two_levels()
    model = taught(AHEAD, whole(rows), states=2)
    past, grid = rows[:9], np.arange(-8, 14, 0.25)
    points = np.array(list(product(grid, repeat=2)))[:, :, None]
    source = Sequences(np.repeat(asked(past, 2).values, len(points), 0), np.full(len(points), 11))
    target = Sequences(points, np.full(len(points), 2))
    assert np.exp(model.log_prob(Batch(source, target))).sum() * 0.25**2 == pytest.approx(1)
    both = model.log_prob(whole(rows[:12]))[0] - model.log_prob(whole(rows[:9]))[0]
    ahead = model.log_prob(Batch(asked(past, 3), Sequences.pad([rows[9:12]])))[0]
    assert ahead == pytest.approx(both, rel=1e-10)


def test_a_missing_number_of_the_future_is_not_judged():
    rows, _ = two_levels()
    model = taught(AHEAD, whole(rows), states=2)
    source, future = asked(rows[:9], 2), rows[9:11].copy()
    future[1] = np.nan
    one = model.log_prob(Batch(asked(rows[:9], 1), Sequences.pad([rows[9:10]])))
    assert model.log_prob(Batch(source, Sequences.pad([future]))) == pytest.approx(one)


def test_a_forecast_is_a_mixture_of_what_the_states_show():
    rows, _ = two_levels()
    model = taught(AHEAD, whole(rows), states=2)
    regimes, past = model.hmms[0], rows[:30]
    here = regimes.state_probabilities(past, np.array([30]))[-1]
    found = model.predict(asked(past, 5), Search(horizon=5)).forecasts[0]
    for step in range(5):
        here = here @ regimes.transitions
        np.testing.assert_allclose(found.mean[step], here @ regimes.emission.means())
    assert found.mean.shape == (5, 1) and found.quantiles.shape == (5, 1, len(LEVELS))
    drawn = model.predict(asked(past, 5), Search(horizon=5, samples=20_000, seed=3)).forecasts[0]
    np.testing.assert_allclose(drawn.paths.mean(0), found.mean, atol=0.1)
    shares = (drawn.paths[..., None] < found.quantiles).mean(0)
    np.testing.assert_allclose(shares, np.broadcast_to(LEVELS, shares.shape), atol=0.015)
    again = model.predict(asked(past, 5), Search(horizon=5, samples=2, seed=3)).forecasts[0]
    np.testing.assert_array_equal(again.mean, found.mean)


@pytest.mark.parametrize("emissions", ["diagonal", "full", "poisson", "mixture"])
def test_steps_are_the_filter_and_the_forecast_of_the_batch(emissions):
    rows = np.round(np.abs(np.concatenate([two_levels()[0], two_levels(seed=1)[0]], axis=1)))
    rows[5] = np.nan
    rows[7, 0] = np.nan
    signature = Signature(Form.FORECAST, Series(2, 1, horizon=1), Series(2, horizon=1))
    series = np.concatenate([rows, np.ones((400, 1))], axis=1)
    batch = Batch(Sequences.pad([series]), Sequences.pad([rows]))
    model = taught(signature, batch, passes=4, states=2, emissions=emissions)
    stepper = model.stepper()
    assert isinstance(stepper, Filtering)
    state = stepper.begin()
    np.testing.assert_allclose(stepper.posterior(state)["states"], model.hmms[0].initial)
    for length in range(1, 12):
        answer, state = stepper.step(series[length - 1], state)
        here = model.hmms[0].state_probabilities(rows[:length], np.array([length]))[-1]
        np.testing.assert_allclose(stepper.posterior(state)["states"], here, atol=1e-12)
        found = model.predict(asked(rows[:length], 1, 1), Search(horizon=1)).forecasts[0]
        np.testing.assert_allclose(answer[0], found.mean[0], rtol=1e-9)
        np.testing.assert_allclose(answer[1:].T, found.quantiles[0], rtol=1e-9)


def labelled(seed=0, count=40):
    """Two classes that differ in the order of what they show, not in what they show."""
    chance, items, labels = np.random.default_rng(seed), [], []
    for number in range(count):
        length, label = int(chance.integers(8, 15)), number % 2
        low, high = np.array([0.0, 1.0]), np.array([4.0, -2.0])
        halves = (low, high) if label else (high, low)
        steps = np.arange(length)[:, None] < length // 2
        items.append(np.where(steps, *halves) + chance.normal(size=(length, 2)))
        labels.append(np.array([label]))
    return Batch(Sequences.pad(items), Sequences.pad(labels))


@pytest.mark.parametrize("left_to_right", [False, True])
def test_one_model_for_each_class_and_bayes(left_to_right):
    batch = labelled()
    model = taught(WHOLE, batch, states=2, left_to_right=left_to_right)
    found = model.predict(labelled(1).source, Search(probabilities=True))
    right = labelled(1).target.values[:, 0]
    assert (found.target.values[:, 0] == right).mean() > 0.95
    np.testing.assert_allclose(found.probabilities.sum(-1), 1)
    rows, lengths = model._rows(batch.source)
    joint = np.stack([one.log_likelihoods(rows, lengths) for one in model.hmms]) + np.log(0.5)
    bayes = np.exp(joint[1]) / np.exp(joint).sum(0)
    chances = model.predict(batch.source, Search(probabilities=True)).probabilities
    np.testing.assert_allclose(chances[:, 0, 1], bayes, rtol=1e-9)
    if left_to_right:
        assert not np.tril(model.hmms[0].transitions, -1).any()


def test_where_labels_are_told_they_are_the_states():
    rows, states = two_levels()
    batch = Batch(Sequences.pad([rows]), Sequences.pad([states]))
    model = taught(EACH, batch, passes=2)
    means = [rows[states == s].mean() for s in (0, 1)]
    np.testing.assert_allclose(model.hmms[0].emission.means()[:, 0], means)
    moved = sum(a != b for a, b in zip(states, states[1:], strict=False)) / 399
    np.testing.assert_allclose(model.hmms[0].transitions[0, 1], moved, atol=0.03)
    fresh, right = two_levels(seed=8)
    found = model.predict(Sequences.pad([fresh]), Search(probabilities=True))
    assert (found.target.values[0] == right).mean() > 0.97
    np.testing.assert_allclose(found.probabilities[0].sum(-1), 1)
    paths = np.array(list(product(range(2), repeat=4)))
    few = Sequences(np.repeat(fresh[None, :4], 16, 0), np.full(16, 4))
    every = model.log_prob(Batch(few, Sequences(paths, np.full(16, 4))))
    assert np.exp(every).sum() == pytest.approx(1)


def test_a_class_without_series_is_never_the_answer():
    batch = labelled()
    ones = Batch(batch.source, Sequences(np.ones_like(batch.target.values), batch.target.lengths))
    found = taught(WHOLE, ones, states=2).predict(batch.source, Search(probabilities=True))
    assert (found.target.values == 1).all() and not found.probabilities[..., 0].any()


REFUSED = {
    "M421": (np.array([[1.0], [2.0]]), {"states": 3}),
    "M422": (np.full((50, 1), 7.3), {}),
    "M423": (np.full((50, 1), np.nan), {}),
    "M424": (np.array([[1.0], [np.inf], [2.0], [3.0]]), {}),
    "M425": (np.array([[1.0], [-1.0], [2.0], [3.0]]), {"emissions": "poisson"}),
}


@pytest.mark.parametrize("code", REFUSED)
def test_series_that_nothing_can_be_learned_from(code):
    rows, options = REFUSED[code]
    with pytest.raises(ModelError) as told:
        taught(AHEAD, whole(rows), passes=1, **options)
    assert told.value.code == code


def test_a_fraction_is_no_count():
    with pytest.raises(ModelError, match=r"2\.5 is not a count"):
        taught(AHEAD, whole(np.array([[1.0], [2.5], [2.0]])), passes=1, emissions="poisson")


WRONG = [{"states": 0}, {"components": 0}, {"restarts": 0}, {"floor": 0.0}, {"tolerance": -1.0}]


@pytest.mark.parametrize("options", WRONG)
def test_options_that_cannot_be(options):
    with pytest.raises(ModelError) as told:
        GaussianHMM(AHEAD, **options)
    assert told.value.code == "M420" and next(iter(options)) in told.value.text()
