"""Categorical HMMs against hmmlearn: Viterbi and iterations of EM (Baum-Welch).

One sequence of 100,000 observations, float64, one thread, hmmlearn with implementation="scaling".
Both have the same initial parameters, and their results are compared first. Rounds are interleaved
in one process, so that the load of the machine affects both alike; a ratio is the median over
rounds of hmmlearn's time over Seqloom's, in CPU time.

    python benchmarks/hmm.py --rounds 7
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.batch import Batch, Sequences
from seqloom.models.hmm import HMM
from seqloom.signature import Form, Signature, Tokens

SPECIAL = 4  # special tokens, which no state emits
TARGETS = {"Viterbi": {5: 1.0, 20: 1.0, 50: 1.0}, "EM": {5: 1.5, 20: 2.5, 50: 2.5}}
TOLERANCE = 1e-6


def main() -> None:
    """Check that both find the same, let them take turns, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--states", type=positive, nargs="+", default=[5, 20, 50])
    parser.add_argument("--length", type=positive, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--kinds", type=positive, default=32, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=7, help="(default: %(default)s)")
    given = parser.parse_args()
    if find_spec("hmmlearn") is None:
        print("Skipped: hmmlearn is not there (pip install hmmlearn).")
        sys.exit(0)
    facts = machine(1)
    rows = [row for states in given.states for row in measured(states, given)]
    results = {"rows": rows, "hmmlearn": version("hmmlearn"), "numba": version("numba")}
    report(shown(results | {"machine": facts}), results | {"machine": facts}, given.json)


def measured(states: int, given: Any) -> list[dict[str, Any]]:
    """Both kinds of work at one number of states."""
    say(f"{states} states")
    chance = np.random.default_rng(states)
    first, moves = chance.dirichlet(np.ones(states)), chance.dirichlet(np.ones(states), states)
    shown = chance.dirichlet(np.ones(given.kinds), states)
    symbols = chance.integers(0, given.kinds, given.length)
    own, rival = seqloom_of(first, moves, shown), rival_of(first, moves, shown)
    text = Sequences(symbols[None] + SPECIAL, np.array([given.length]))
    column = symbols[:, None]

    def one_pass() -> float:
        own.restore(begun)
        found = own.statistics(Batch(text, text))
        own.update(found)
        return found.log_likelihood

    def pass_of_rival() -> float:
        fresh = rival_of(first, moves, shown)
        return fresh.fit(column).monitor_.history[0]

    begun = own.weights()
    works = {
        "Viterbi": (lambda: own.viterbi_states(text)[1][0], lambda: rival.decode(column)[0]),
        "EM": (one_pass, pass_of_rival),
    }
    return [row(name, states, *pair, given) for name, pair in works.items()]


def row(
    name: str, states: int, own: Callable[[], float], rival: Callable[[], float], given: Any
) -> dict[str, Any]:
    """Times by turns; what both give must be the same."""
    found, right = own(), rival()
    assert abs(found - right) < TOLERANCE * max(1, abs(right)), (name, states, found, right)
    own_times, rival_times = [], []
    for _ in range(given.rounds):
        own_times.append(seconds(own))
        rival_times.append(seconds(rival))
    ratio = statistics.median(r / o for o, r in zip(own_times, rival_times, strict=True))
    aim = TARGETS[name].get(states)
    return {
        "what": name,
        "states": states,
        "own": statistics.median(own_times),
        "rival": statistics.median(rival_times),
        "ratio": ratio,
        "aim": aim,
        "symbols": given.length,
        "met": aim is None or ratio >= aim,
        "difference": abs(found - right),
    }


def seconds(work: Callable[[], float]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def seqloom_of(first: np.ndarray, moves: np.ndarray, shown: np.ndarray) -> HMM:
    states, kinds = shown.shape
    tokens = Tokens(kinds + SPECIAL)
    model = HMM(Signature(Form.NEXT, tokens, tokens), states=states, smoothing=0.0)
    wider = np.concatenate([np.zeros((states, SPECIAL)), shown], axis=1)
    model.restore({"first": first, "moves": moves, "shown": wider})
    return model


def rival_of(first: np.ndarray, moves: np.ndarray, shown: np.ndarray) -> Any:
    from hmmlearn.hmm import CategoricalHMM  # noqa: PLC0415 - it need not be there

    made = CategoricalHMM(
        len(first),
        n_iter=1,
        tol=-np.inf,
        init_params="",
        params="ste",
        implementation="scaling",
    )
    made.startprob_, made.transmat_, made.emissionprob_ = first, moves, shown
    made.n_features = shown.shape[1]
    return made


def shown(results: dict[str, Any]) -> str:
    """The table, and the machine below it."""
    lines = [
        [r["what"], str(r["states"]), f"{r['own'] * 1e3:.1f}", f"{r['rival'] * 1e3:.1f}"]
        + [f"{r['symbols'] / r['own'] / 1e6:.2f}", f"{r['ratio']:.2f}×"]
        + [f"{r['aim']:g}×" if r["aim"] else "", "yes" if r["met"] else "NO"]
        for r in results["rows"]
    ]
    head = ["what", "states", "Seqloom, ms", "hmmlearn, ms", "M symbols/s", "ratio", "aim", "met"]
    below = f"hmmlearn {results['hmmlearn']}, numba {results['numba']}; "
    return f"{table(head, lines)}\n\n{below}{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
