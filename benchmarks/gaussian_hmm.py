"""Gaussian HMMs against hmmlearn: iterations of EM (Baum-Welch).

One series of 100,000 steps, float64, one thread. hmmlearn is run with implementation="scaling" and
"log", and the faster counts. Both have the same initial parameters, and their results are compared
first. Rounds are interleaved in one process, so that the load of the machine affects both alike; a
ratio is the median over rounds of hmmlearn's time over Seqloom's, in CPU time.

    python benchmarks/gaussian_hmm.py --rounds 5
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import logging
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.statistical.hmm.emissions import Emission
from seqloom.statistical.hmm.gaussian_hmm import EMISSIONS, SeriesHMM
from seqloom.statistical.hmm.initialise import ColumnMoments

AIM = 1.5
LOG_TAKES = 20  # states from which on "log" is tried once only: it takes many times as long
FORMS = {"diagonal": "diag", "full": "full"}
TOLERANCE = 1e-6


def main() -> None:
    """Check that both find the same, let them take turns, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--states", type=positive, nargs="+", default=[5, 20, 50])
    parser.add_argument("--widths", type=positive, nargs="+", default=[1, 4, 12])
    parser.add_argument("--emissions", choices=FORMS, nargs="+", default=list(FORMS))
    parser.add_argument("--length", type=positive, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: %(default)s)")
    given = parser.parse_args()
    if find_spec("hmmlearn") is None:
        print("Skipped: hmmlearn is not there (pip install hmmlearn).")
        sys.exit(0)
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it says that one pass is few
    facts = machine(1)
    rows = [
        measured(kind, states, width, given)
        for kind in given.emissions
        for states in given.states
        for width in given.widths
    ]
    results = {"rows": rows, "hmmlearn": version("hmmlearn"), "numba": version("numba")}
    report(shown(results | {"machine": facts}), results | {"machine": facts}, given.json)


def measured(kind: str, states: int, width: int, given: Any) -> dict[str, Any]:
    """One pass of both, at one size."""
    say(f"{kind}, {states} states, {width} numbers")
    chance = np.random.default_rng([states, width])
    shown, truth = emissions_of(kind, states, width, chance)
    regimes = SeriesHMM(np.full(states, 1 / states), np.full((states, states), 1 / states), shown)
    moves = 0.5 * np.eye(states) + 0.5 * chance.dirichlet(np.ones(states), states)
    walk = SeriesHMM(regimes.initial, moves, truth)
    rows = walk.sample_paths(walk.initial, given.length, 1, chance)[0]
    ground, lengths = ColumnMoments.of(rows).scale(), np.array([given.length])

    def own() -> tuple[float, np.ndarray]:
        found = regimes.e_step(rows, lengths, ground)
        return found.log_likelihood, regimes.m_step(found, ground, 1e-9).emission.means()

    def rival(implementation: str) -> tuple[float, np.ndarray]:
        model = rival_of(kind, regimes, implementation).fit(rows)
        return model.monitor_.history[0], model.means_

    found, right = own(), rival("scaling")
    assert abs(found[0] - right[0]) < TOLERANCE * abs(right[0]), (found[0], right[0])
    np.testing.assert_allclose(found[1], right[1], atol=TOLERANCE)
    times: dict[str, list[float]] = {"own": [], "scaling": [], "log": []}
    for number in range(given.rounds):
        times["own"].append(seconds(own))
        times["scaling"].append(seconds(lambda: rival("scaling")))
        if states < LOG_TAKES or number == 0:
            times["log"].append(seconds(lambda: rival("log")))
    best = min(("scaling", "log"), key=lambda name: statistics.median(times[name]))
    ratios = [r / o for o, r in zip(times["own"], times[best], strict=False)]
    middle = {name: statistics.median(values) for name, values in times.items()}
    what = {"emissions": kind, "states": states, "width": width, "steps": given.length}
    return {**what, **middle, "best": best, "ratio": statistics.median(ratios), "aim": AIM}


def emissions_of(
    kind: str, states: int, width: int, chance: np.random.Generator
) -> tuple[Emission, Emission]:
    """The initial parameters of both, and those that the series is sampled from."""
    mean = 2 * chance.normal(size=(states, width))
    near = mean + 0.3 * chance.normal(size=(states, width))
    if kind == "diagonal":
        variance = chance.uniform(0.5, 1.5, (states, width))
        return EMISSIONS[kind](near, variance), EMISSIONS[kind](mean, variance)
    root = 0.3 * chance.normal(size=(states, width, width))
    covariance = root @ root.transpose(0, 2, 1) + 0.5 * np.eye(width)
    return EMISSIONS[kind](near, covariance), EMISSIONS[kind](mean, covariance)


def seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def rival_of(kind: str, regimes: SeriesHMM, implementation: str) -> Any:
    from hmmlearn.hmm import GaussianHMM  # noqa: PLC0415 - it need not be there

    made = GaussianHMM(
        len(regimes.initial),
        FORMS[kind],
        n_iter=1,
        tol=-np.inf,
        init_params="",
        implementation=implementation,
        min_covar=0,
        covars_prior=0,
    )
    made.startprob_, made.transmat_ = regimes.initial, regimes.transitions
    made.means_ = regimes.emission.means()
    made.covars_ = regimes.emission.variance if kind == "diagonal" else regimes.emission.covariance
    return made


def shown(results: dict[str, Any]) -> str:
    """The table, and the machine below it."""
    lines = [
        [r["emissions"], str(r["states"]), str(r["width"])]
        + [f"{r[name] * 1e3:.1f}" for name in ("own", "scaling", "log")]
        + [f"{r['ratio']:.2f}×", f"{r['aim']:g}×", "yes" if r["ratio"] >= r["aim"] else "NO"]
        for r in results["rows"]
    ]
    head = ["emissions", "states", "numbers", "Seqloom, ms", "hmmlearn scaling, ms"]
    head += ["hmmlearn log, ms", "ratio to the best", "aim", "met"]
    below = f"hmmlearn {results['hmmlearn']}, numba {results['numba']}; "
    return f"{table(head, lines)}\n\n{below}{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
