"""Random state-space models, and the posterior of their states by brute force: one joint Gaussian."""

from dataclasses import dataclass

import numpy as np

from seqloom.statistical.kalman.system import InitialDistribution, StateSpace


def random_model(seed, *, states=3, width=2, time=8, diffuse=0, varies=False, full=True, known=2):
    """A model with everything in it, a series with a fifth of its values missing, and inputs."""
    rng = np.random.default_rng(seed)
    front = (time,) if varies else ()

    def covariance(size):
        root = rng.normal(size=(*front, size, size))
        return root @ np.swapaxes(root, -1, -2) + 0.3 * np.eye(size)

    values, inputs = rng.normal(size=(time, width)), rng.normal(size=(time, known))
    values[rng.random(values.shape) < 0.2] = np.nan
    is_diffuse = np.arange(states) < diffuse
    first = rng.normal(size=(states, states)) * ~is_diffuse[:, None]
    initial = InitialDistribution(
        rng.normal(size=states) * ~is_diffuse, first @ first.T, is_diffuse * 1.0
    )
    error = covariance(width)
    return (
        StateSpace(
            transition=rng.normal(size=(*front, states, states)) * 0.5,
            process_noise=covariance(states),
            observation=rng.normal(size=(*front, width, states)),
            observation_noise=error if full else error * np.eye(width),
            initial=initial,
            input_matrix=rng.normal(size=(*front, states, known)),
            state_offset=rng.normal(size=states),
            feedthrough=rng.normal(size=(*front, width, known)),
            observation_offset=rng.normal(size=width),
        ).validated(),
        values,
        inputs,
    )


@dataclass
class Brute:
    """The joint posterior of all states given all observations."""

    log_likelihood: float
    mean: np.ndarray  # (time, states)
    covariance: np.ndarray  # (time, states, time, states)


def brute(model, values, inputs):
    """Condition one large Gaussian; diffuse states are a regression with a flat prior."""
    time, width, states = *values.shape, model.states

    def at(matrix, t):
        return matrix[t] if matrix.ndim == 3 else matrix

    mean, spread = np.zeros((time, states)), np.zeros((time, states, states))
    joint = np.zeros((time, states, time, states))
    mean[0], spread[0] = model.initial.mean, np.diag(model.initial.diffuse)
    joint[0, :, 0] = model.initial.covariance
    design, error = np.zeros((time, width, time, states)), np.zeros((time, width, time, width))
    for t in range(time):
        design[t, :, t], error[t, :, t] = at(model.observation, t), at(model.observation_noise, t)
        if t == 0:
            continue
        transition = at(model.transition, t)
        mean[t] = (
            transition @ mean[t - 1] + model.state_offset + at(model.input_matrix, t) @ inputs[t]
        )
        spread[t] = transition @ spread[t - 1]
        joint[t, :, :t] = np.einsum("ij,jtk->itk", transition, joint[t - 1, :, :t])
        joint[:t, :, t] = np.moveaxis(joint[t, :, :t], 0, -1)
        joint[t, :, t] = transition @ joint[t - 1, :, t - 1] @ transition.T + at(
            model.process_noise, t
        )
    offset = [model.observation_offset + at(model.feedthrough, t) @ inputs[t] for t in range(time)]
    size = time * states
    seen = ~np.isnan(values.ravel())
    design = design.reshape(time * width, size)[seen]
    error = error.reshape(time * width, time * width)[np.ix_(seen, seen)]
    prior, spread = joint.reshape(size, size), spread.reshape(size, states)
    spread = spread[:, model.initial.diffuse > 0]
    off = (values - offset).ravel()[seen] - design @ mean.ravel()
    whole = design @ prior @ design.T + error
    gain = np.linalg.solve(whole, design @ prior).T
    said = np.linalg.slogdet(2 * np.pi * whole)[1]
    found, covariance = gain @ off, prior - gain @ design @ prior
    if spread.shape[1]:
        shown = design @ spread
        weighed = np.linalg.solve(whole, shown)
        known = shown.T @ weighed
        best = np.linalg.solve(known, weighed.T @ off)
        left = spread - gain @ shown
        found, covariance = found + left @ best, covariance + left @ np.linalg.solve(known, left.T)
        off = off - shown @ best
        said += np.linalg.slogdet(known)[1]
    said += off @ np.linalg.solve(whole, off)
    return Brute(-0.5 * said, mean + found.reshape(mean.shape), covariance.reshape(joint.shape))
