"""Random systems, and what is known of their states by brute force: one joint Gaussian."""

from dataclasses import dataclass

import numpy as np

from seqloom.statistical.kalman.system import Start, System


def random_system(seed, *, states=3, width=2, time=8, diffuse=0, varies=False, full=True, known=2):
    """A system with everything in it, a series with a fifth of its numbers missing, and inputs."""
    chance = np.random.default_rng(seed)
    front = (time,) if varies else ()

    def covariance(size):
        root = chance.normal(size=(*front, size, size))
        return root @ np.swapaxes(root, -1, -2) + 0.3 * np.eye(size)

    values, inputs = chance.normal(size=(time, width)), chance.normal(size=(time, known))
    values[chance.random(values.shape) < 0.2] = np.nan
    is_diffuse = np.arange(states) < diffuse
    first = chance.normal(size=(states, states)) * ~is_diffuse[:, None]
    start = Start(chance.normal(size=states) * ~is_diffuse, first @ first.T, is_diffuse * 1.0)
    error = covariance(width)
    return (
        System(
            transition=chance.normal(size=(*front, states, states)) * 0.5,
            process=covariance(states),
            observation=chance.normal(size=(*front, width, states)),
            error=error if full else error * np.eye(width),
            start=start,
            drive=chance.normal(size=(*front, states, known)),
            drift=chance.normal(size=states),
            direct=chance.normal(size=(*front, width, known)),
            offset=chance.normal(size=width),
        ).checked(),
        values,
        inputs,
    )


@dataclass
class Brute:
    """All states together, given all that was observed."""

    log_likelihood: float
    mean: np.ndarray  # (time, states)
    covariance: np.ndarray  # (time, states, time, states)


def brute(system, values, inputs):
    """Condition one large Gaussian; what is diffuse is a regression with a flat prior."""
    time, width, states = *values.shape, system.states

    def at(matrix, t):
        return matrix[t] if matrix.ndim == 3 else matrix

    mean, spread = np.zeros((time, states)), np.zeros((time, states, states))
    joint = np.zeros((time, states, time, states))
    mean[0], spread[0] = system.start.mean, np.diag(system.start.diffuse)
    joint[0, :, 0] = system.start.covariance
    show, error = np.zeros((time, width, time, states)), np.zeros((time, width, time, width))
    for t in range(time):
        show[t, :, t], error[t, :, t] = at(system.observation, t), at(system.error, t)
        if t == 0:
            continue
        move = at(system.transition, t)
        mean[t] = move @ mean[t - 1] + system.drift + at(system.drive, t) @ inputs[t]
        spread[t] = move @ spread[t - 1]
        joint[t, :, :t] = np.einsum("ij,jtk->itk", move, joint[t - 1, :, :t])
        joint[:t, :, t] = np.moveaxis(joint[t, :, :t], 0, -1)
        joint[t, :, t] = move @ joint[t - 1, :, t - 1] @ move.T + at(system.process, t)
    offset = [system.offset + at(system.direct, t) @ inputs[t] for t in range(time)]
    size = time * states
    seen = ~np.isnan(values.ravel())
    show = show.reshape(time * width, size)[seen]
    error = error.reshape(time * width, time * width)[np.ix_(seen, seen)]
    prior, spread = joint.reshape(size, size), spread.reshape(size, states)
    spread = spread[:, system.start.diffuse > 0]
    off = (values - offset).ravel()[seen] - show @ mean.ravel()
    whole = show @ prior @ show.T + error
    gain = np.linalg.solve(whole, show @ prior).T
    said = np.linalg.slogdet(2 * np.pi * whole)[1]
    found, covariance = gain @ off, prior - gain @ show @ prior
    if spread.shape[1]:
        shown = show @ spread
        weighed = np.linalg.solve(whole, shown)
        known = shown.T @ weighed
        best = np.linalg.solve(known, weighed.T @ off)
        left = spread - gain @ shown
        found, covariance = found + left @ best, covariance + left @ np.linalg.solve(known, left.T)
        off = off - shown @ best
        said += np.linalg.slogdet(known)[1]
    said += off @ np.linalg.solve(whole, off)
    return Brute(-0.5 * said, mean + found.reshape(mean.shape), covariance.reshape(joint.shape))
