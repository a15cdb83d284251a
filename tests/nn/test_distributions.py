"""Predictive distributions against torch.distributions, scipy and their own integrals."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import Normal, StudentT

from seqloom.nn.forecast.distributions import (
    DISTRIBUTIONS,
    MEDIAN,
    positive_scale,
    student_quantiles,
)
from seqloom.prediction import LEVELS

LEVEL_ARRAY = np.array(LEVELS)


def some(name, seed=0, rows=5):
    """The parameters of a few different distributions."""
    torch.manual_seed(seed)
    return torch.randn(rows, DISTRIBUTIONS[name].num_parameters, dtype=torch.float64) * 1.5


@pytest.fixture(params=DISTRIBUTIONS)
def name(request):
    return request.param


def grid_of(density, p):
    """A fine grid that holds nearly all of a distribution; no cell is on both sides of a level."""
    q = density.quantiles(p)
    far = 400 if density.num_parameters == 3 else 15
    scale = (q[:, -1] - q[:, 0])[:, None]
    steps = torch.sinh(torch.linspace(-1, 1, 20001, dtype=torch.float64) * np.arcsinh(far)) * scale
    return torch.cat([q[:, MEDIAN, None] + steps, q], dim=1).sort(dim=1).values


def test_densities_integrate_to_one_and_have_their_mean_and_quantiles(name):
    density, p = DISTRIBUTIONS[name](), some(name)
    grid = grid_of(density, p)
    middles = (grid[:, 1:] + grid[:, :-1]) / 2
    heights = density.log_density(p[:, None].expand(-1, middles.shape[1], -1), middles).exp()
    masses = heights * grid.diff(dim=1)
    np.testing.assert_allclose(masses.sum(1), 1, atol=2e-4)
    mean, spread = (masses * middles).sum(1), density.quantiles(p).diff(dim=1).sum(1)
    np.testing.assert_allclose(mean / spread, density.mean(p) / spread, atol=5e-3)
    levels = density.quantiles(p)
    for row in range(len(p)):
        below = np.interp(levels[row], grid[row, 1:], masses[row].cumsum(0))
        np.testing.assert_allclose(below, LEVEL_ARRAY, atol=1e-3)


def test_samples_have_the_distribution(name):
    """The two uniform numbers on a grid of the unit square: each quantile has its level below it."""
    density, p = DISTRIBUTIONS[name](), some(name, seed=1)
    even = (torch.arange(200, dtype=torch.float64) + 0.5) / 200
    u = torch.stack(torch.meshgrid(even, even, indexing="ij"), dim=-1).flatten(0, 1)
    samples = density.sample(p[:, None].expand(-1, len(u), -1), u.expand(len(p), -1, -1))
    below = (samples[..., None] < density.quantiles(p)[:, None]).double().mean(1)
    np.testing.assert_allclose(below, np.tile(LEVEL_ARRAY, (len(p), 1)), atol=6e-3)


def test_gaussian_is_that_of_torch():
    p, y = some("gaussian"), torch.randn(5, dtype=torch.float64)
    right = Normal(p[:, 0], positive_scale(p[:, 1]))
    torch.testing.assert_close(DISTRIBUTIONS["gaussian"]().log_density(p, y), right.log_prob(y))
    levels = right.icdf(torch.tensor(LEVELS, dtype=torch.float64)[:, None]).T
    torch.testing.assert_close(DISTRIBUTIONS["gaussian"]().quantiles(p), levels)


def test_student_is_that_of_torch_and_scipy():
    p, y = some("student"), torch.randn(5, dtype=torch.float64)
    m, s, n = p[:, 0], positive_scale(p[:, 1]), 2 + positive_scale(p[:, 2])
    right = StudentT(n, m, s).log_prob(y)
    torch.testing.assert_close(DISTRIBUTIONS["student"]().log_density(p, y), right)
    levels = stats.t.ppf(LEVEL_ARRAY, n[:, None], m[:, None], s[:, None])
    np.testing.assert_allclose(DISTRIBUTIONS["student"]().quantiles(p), levels, rtol=1e-9)


@pytest.mark.parametrize("freedom", [2.001, 3.0, 7.5, 40.0, 1000.0])
def test_student_quantiles_of_any_freedom(freedom):
    levels = torch.tensor([0.55, 0.75, 0.975, 0.995], dtype=torch.float64)
    found = student_quantiles(torch.tensor([freedom], dtype=torch.float64), levels)
    np.testing.assert_allclose(found, stats.t.ppf(levels, freedom), rtol=1e-8)


def test_quantiles_increase_and_the_pinball_loss_is_least_at_the_true_ones():
    density, p = DISTRIBUTIONS["quantile"](), some("quantile", rows=50) * 4
    assert (density.quantiles(p).diff(dim=1) > 0).all()
    y = torch.from_numpy(np.random.default_rng(0).exponential(size=20001))
    true = torch.from_numpy(stats.expon.ppf(LEVEL_ARRAY))
    steps = torch.cat([true[: MEDIAN + 1].diff().flip(0), true[MEDIAN:].diff()])
    raw = torch.cat([true[MEDIAN : MEDIAN + 1], (steps - 1e-4).expm1().log()]).requires_grad_()
    torch.testing.assert_close(density.quantiles(raw), true)
    loss = density.loss(raw.expand(len(y), -1), y).mean()
    (slope,) = torch.autograd.grad(loss, raw)
    assert slope.abs().max() < 0.01
    worse = density.loss((raw + 0.3).expand(len(y), -1), y).mean()
    assert worse > loss + 0.01


def test_squared_error_fits_the_mean_alone():
    density = DISTRIBUTIONS["squared"]()
    p, y = some("squared").requires_grad_(), torch.randn(5, dtype=torch.float64)
    (slope,) = torch.autograd.grad(density.loss(p, y).sum(), p)
    torch.testing.assert_close(slope[:, 0], 2 * (p[:, 0] - y))
    (other,) = torch.autograd.grad(-density.log_density(p, y).sum(), p)
    torch.testing.assert_close(slope[:, 1], other[:, 1])
