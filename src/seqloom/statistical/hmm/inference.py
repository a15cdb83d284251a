"""Forward-backward, Viterbi, k-best paths and sampling in a linear chain: reference implementation.

One sequence at a time, for HMMs and linear-chain CRFs. A path y has T positions and the score, in
nats,

    S(y) = initial(y₁) + Σ_t e_t(y_t) + Σ_{t>1} transitions(y_{t-1}, y_t) + final(y_T)

where e_t are the emission scores of position t. Everything follows from two sums over paths, with
⊕ for log Σ exp:

    forward    a₁(j) = initial(j) + e₁(j)    a_t(j) = e_t(j) + ⊕_i [a_{t-1}(i) + transitions(i, j)]
    backward   b_T(i) = final(i)     b_t(i) = ⊕_j [transitions(i, j) + e_{t+1}(j) + b_{t+1}(j)]
    log-partition          Z = ⊕_y S(y) = ⊕_i [a_T(i) + final(i)]
    marginals              p(y_t = i) = exp(a_t(i) + b_t(i) - Z)
    filtered marginals     p(y_t = i | emissions up to t) = exp(a_t(i) - ⊕_j a_t(j))
    pairwise marginals     p(y_{t-1} = i, y_t = j)
                           = exp(a_{t-1}(i) + transitions(i, j) + e_t(j) + b_t(j) - Z)
    Viterbi    the forward sums with max for ⊕, and for each state the i that was the largest
    k best     the same with the k largest for ⊕
    sampling   y_T from exp(a_T(i) + final(i) - Z), then y_{t-1} from
               exp(a_{t-1}(i) + transitions(i, y_t) - …)

With log-probabilities as scores, Z is the log-likelihood of a hidden Markov model (Rabiner, 1989).
With any scores, S(y) - Z is the log-probability of a path in a conditional random field (Lafferty
et al., 2001). What is impossible has the score -inf. Where no path is possible, Z is -inf and all
marginals are 0.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .chain import LinearChain

Scores = Float[np.ndarray, "time columns"]


@dataclass(frozen=True)
class SequencePosterior:
    """Posterior of the paths of one sequence: log-partition, marginals and expected counts."""

    log_partition: float
    marginals: Float[np.ndarray, "time columns"]
    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states states"]
    final: Float[np.ndarray, " states"]


def logsumexp(scores: Float[np.ndarray, "*any"], axis: int = -1) -> Float[np.ndarray, "*rest"]:
    """log Σ exp; -inf where all scores are -inf."""
    top = scores.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)  # -inf - (-inf) would be NaN
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(scores - top).sum(axis=axis))
    return np.asarray(total + top.squeeze(axis))


def forward(chain: LinearChain, scores: Scores) -> Float[np.ndarray, "time states"]:
    """Forward algorithm: a_t(j), the log-sum of all paths that end in state j at position t."""
    emissions, transitions = scores[:, chain.column], chain.transition_matrix()
    sums = np.empty_like(emissions)
    sums[0] = chain.initial + emissions[0]
    for t in range(1, len(emissions)):
        sums[t] = emissions[t] + logsumexp(sums[t - 1][:, None] + transitions, axis=0)
    return sums


def backward(chain: LinearChain, scores: Scores) -> Float[np.ndarray, "time states"]:
    """Backward algorithm: b_t(i), the log-sum of all ways on from state i at position t."""
    emissions, transitions = scores[:, chain.column], chain.transition_matrix()
    sums = np.empty_like(emissions)
    sums[-1] = chain.final
    for t in range(len(emissions) - 1, 0, -1):
        sums[t - 1] = logsumexp(transitions + emissions[t] + sums[t], axis=1)
    return sums


def posteriors(chain: LinearChain, scores: Scores) -> SequencePosterior:
    """Forward-backward algorithm: the log-partition, marginals and expected transition counts."""
    before, after = forward(chain, scores), backward(chain, scores)
    total = float(logsumexp(before[-1] + chain.final))
    if total == -np.inf:
        none = np.zeros(len(chain.initial))
        return SequencePosterior(
            total, np.zeros(scores.shape), none, np.zeros((len(none),) * 2), none
        )
    states = np.exp(before + after - total)
    marginals = np.zeros(scores.shape)
    np.add.at(marginals.T, chain.column, states.T)
    emissions, transitions = scores[:, chain.column], chain.transition_matrix()
    taken = before[:-1, :, None] + transitions + (emissions + after)[1:, None]
    return SequencePosterior(total, marginals, states[0], np.exp(taken - total).sum(0), states[-1])


def filtered_marginals(chain: LinearChain, scores: Scores) -> Float[np.ndarray, "time columns"]:
    """p(y_t = i | emissions up to t): the normalised forward sums."""
    before = forward(chain, scores)
    total = logsumexp(before)[:, None]
    states = np.where(np.isfinite(total), np.exp(before - np.where(total > -np.inf, total, 0)), 0)
    marginals = np.zeros(scores.shape)
    np.add.at(marginals.T, chain.column, states.T)
    return marginals


def viterbi(chain: LinearChain, scores: Scores) -> tuple[Int[np.ndarray, " time"], float]:
    """Viterbi algorithm: the states of the best path and its score; the first of equal paths."""
    emissions, transitions = scores[:, chain.column], chain.transition_matrix()
    best, back_pointers = chain.initial + emissions[0], []
    for row in emissions[1:]:
        candidates = best[:, None] + transitions
        back_pointers.append(candidates.argmax(0))
        best = candidates.max(0) + row
    path = [int((best + chain.final).argmax())]
    for pointers in reversed(back_pointers):
        path.append(int(pointers[path[-1]]))
    return np.array(path[::-1]), float((best + chain.final).max())


def best_paths(
    chain: LinearChain, scores: Scores, count: int
) -> list[tuple[Int[np.ndarray, " time"], float]]:
    """k-best Viterbi: the best paths with their scores, best first; fewer where fewer exist."""
    emissions, transitions = scores[:, chain.column], chain.transition_matrix()
    kept: list[list[tuple[float, tuple[int, ...]]]]
    kept = [[(score, (state,))] for state, score in enumerate(chain.initial + emissions[0])]
    for row in emissions[1:]:
        kept = [
            sorted(
                (
                    (score + transitions[path[-1], state] + row[state], (*path, state))
                    for paths in kept
                    for score, path in paths
                ),
                key=lambda scored: -scored[0],
            )[:count]
            for state in range(len(transitions))
        ]
    ended = [(score + chain.final[path[-1]], path) for paths in kept for score, path in paths]
    ended = sorted((pair for pair in ended if pair[0] > -np.inf), key=lambda scored: -scored[0])
    return [(np.array(path), float(score)) for score, path in ended[:count]]


def sample(
    chain: LinearChain, scores: Scores, uniform: Float[np.ndarray, " time"]
) -> Int[np.ndarray, " time"]:
    """Sample a path from the posterior (forward filtering, backward sampling).

    `uniform` has a random number from 0 to 1 for each position.
    """
    sums, transitions = forward(chain, scores), chain.transition_matrix()
    if not np.isfinite(sums[-1] + chain.final).any():
        raise ValueError("no path is possible: every path has the score -inf")
    path = [_sample_state(sums[-1] + chain.final, uniform[-1])]
    for t in range(len(sums) - 2, -1, -1):
        path.append(_sample_state(sums[t] + transitions[:, path[-1]], uniform[t]))
    return np.array(path[::-1])


def _sample_state(scores: Float[np.ndarray, " states"], uniform: float) -> int:
    """Inverse transform sampling: where the cumulative probability passes a uniform number."""
    cumulative = np.cumsum(np.exp(scores - scores.max()))
    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
