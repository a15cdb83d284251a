"""The Kalman filter against statsmodels, filterpy and pykalman: likelihood, filter, smoother.

A time-invariant state-space model with as many observed variables as states, float64, one thread.
statsmodels runs with its own detection of the steady state. For the likelihood alone it stores
nothing, and for the filter what Seqloom stores: predicted and filtered states with their
covariances, but no forecasts and no gains. The fastest of its conventional and univariate methods,
with results objects and without, is compared. With `missing`, 10 % of the values are missing at
random, so that there is no steady state. filterpy and pykalman process fewer steps; so do filters
and smoothers of 32 dimensions, because covariances take much memory. Times are per step. Rounds are
interleaved in one process; a ratio is the median over rounds.

    python benchmarks/kalman.py --rounds 5
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import statistics
import time
from importlib.util import find_spec

import numpy as np
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.statistical.kalman import compiled
from seqloom.statistical.kalman.system import InitialDistribution, StateSpace

AIMS = {"statsmodels": 1.0, "filterpy": 20.0, "pykalman": 20.0}
SHORT = 1000  # steps for those that are slow
LARGE = 16  # dimensions from which on a tenth of the steps is filtered and smoothed


def main():
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=[2, 8, 32])
    parser.add_argument("--length", type=positive, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: %(default)s)")
    given = parser.parse_args()
    facts, rows = machine(1), []
    for name in AIMS:
        if find_spec(name) is None:
            say(f"{name} is not there, and is left out")
    for size in given.sizes:
        for missing in (False, True):
            rows += measured(size, missing, given)
    report(shown(rows, facts), {"rows": rows, "machine": facts}, given.json)


def measured(size, missing, given):
    say(f"{size} dimensions{', with missing numbers' if missing else ''}")
    chance = np.random.default_rng(size)
    move = np.linalg.qr(chance.normal(size=(size, size)))[0] * 0.9
    show = chance.normal(size=(size, size)) / np.sqrt(size)
    noise, error = (np.diag(chance.uniform(0.5, 1.5, size)) for _ in range(2))
    values = chance.normal(size=(given.length, size))
    if missing:
        values[chance.random(values.shape) < 0.1] = np.nan
    system = StateSpace(
        move, noise, show, error, InitialDistribution.known(np.zeros(size), np.eye(size))
    ).validated()
    found = []
    for what in ("likelihood", "filter", "smoother"):
        # All covariances of 100,000 steps of 32 numbers would fill the memory several times.
        is_large = size > LARGE and what != "likelihood"
        rows = values[: len(values) // 10] if is_large else values
        rivals = [*statsmodels_of(system, rows)]
        if not missing:
            rivals += [*filterpy_of(system, rows), *pykalman_of(system, rows)]
        there = [r for r in rivals if r[1] == what]
        found += compared(what, system, rows, there, {"missing": missing}, given.rounds)
    return found


def compared(what, system, values, rivals, about, rounds):
    """By turns; where a rival gives the likelihood, it must be the same."""
    work = {
        "likelihood": lambda: compiled.log_likelihoods(system, values).sum(),
        "filter": lambda: compiled.kalman_filter(system, values).log_likelihood.sum(),
        "smoother": lambda: compiled.kalman_smoother(system, values).log_likelihood.sum(),
    }[what]
    right = work()
    times = {"own": []} | {name: [] for name, *_ in rivals}
    for _ in range(rounds):
        times["own"].append(seconds(work)[0] / len(values))
        for name, _, steps, rival in rivals:
            taken, said = seconds(rival)
            times[name].append(taken / steps)
            assert said is None or abs(said - right) < 1e-6 * abs(right), (name, what, said, right)
    best = {}
    for name, *_ in rivals:  # the quicker of a rival's ways
        package = name.split(",")[0]
        if package not in best or statistics.median(times[name]) < statistics.median(best[package]):
            best[package] = times[name]
    return [
        {
            "what": what,
            "size": system.states,
            **about,
            "rival": package,
            "own": statistics.median(times["own"]) * 1e6,
            "theirs": statistics.median(theirs) * 1e6,
            "ratio": statistics.median(r / o for r, o in zip(theirs, times["own"], strict=True)),
            "aim": AIMS[package],
        }
        for package, theirs in best.items()
    ]


def statsmodels_of(system, values):
    if find_spec("statsmodels") is None:
        return
    from statsmodels.tsa.statespace import kalman_filter as ways  # noqa: PLC0415
    from statsmodels.tsa.statespace import kalman_smoother as back  # noqa: PLC0415

    size, length = system.states, len(values)
    only = back.SMOOTHER_STATE | back.SMOOTHER_STATE_COV
    # What its smoother needs and Seqloom's filter does not store, statsmodels stores by default.
    states_alone = (
        ways.MEMORY_NO_FORECAST
        | ways.MEMORY_NO_STD_FORECAST
        | ways.MEMORY_NO_GAIN
        | ways.MEMORY_NO_SMOOTHING
    )
    for way, method in (
        ("conventional", ways.FILTER_CONVENTIONAL),
        ("univariate", ways.FILTER_UNIVARIATE),
    ):
        made = back.KalmanSmoother(size, size, size)
        made.bind(np.array(values))
        made["transition"], made["state_cov"] = system.transition, system.process_noise
        made["design"], made["obs_cov"], made["selection"] = (
            system.observation,
            system.observation_noise,
            np.eye(size),
        )
        made.initialize_known(system.initial.mean, system.initial.covariance)
        made.filter_method = method

        def likelihood(made=made):
            made.memory_conserve = ways.MEMORY_CONSERVE
            return made.loglike()

        def whole(made=made):
            made.memory_conserve = states_alone
            return made.filter().llf

        def whole_alone(made=made):
            return made.loglike(conserve_memory=states_alone)

        def smooth(made=made):
            made.memory_conserve = ways.MEMORY_STORE_ALL
            return made.smooth(smoother_output=only).llf_obs.sum()

        def smooth_alone(made=made):
            made._filter(conserve_memory=ways.MEMORY_STORE_ALL)
            made._smooth(smoother_output=only)

        yield f"statsmodels, {way}", "likelihood", length, likelihood
        yield f"statsmodels, {way}", "filter", length, whole
        yield f"statsmodels, {way}", "smoother", length, smooth
        # The same without results objects, which copy every array.
        yield f"statsmodels, {way}, arrays alone", "filter", length, whole_alone
        yield f"statsmodels, {way}, arrays alone", "smoother", length, smooth_alone


def filterpy_of(system, values):
    if find_spec("filterpy") is None:
        return
    from filterpy.kalman import KalmanFilter  # noqa: PLC0415

    def made():
        found = KalmanFilter(dim_x=system.states, dim_z=system.width)
        found.F, found.H, found.Q, found.R = (
            system.transition,
            system.observation,
            system.process_noise,
            system.observation_noise,
        )
        found.x, found.P = system.initial.mean.copy(), system.initial.covariance.copy()
        return found

    def run():
        kalman = made()
        for row in values[:SHORT]:
            kalman.update(row)
            kalman.predict()

    def smooth():
        kalman = made()
        means, covariances, _, _ = kalman.batch_filter(values[:SHORT], update_first=True)
        kalman.rts_smoother(means, covariances)

    yield "filterpy", "filter", SHORT, run
    yield "filterpy", "smoother", SHORT, smooth


def pykalman_of(system, values):
    if find_spec("pykalman") is None:
        return
    from pykalman import KalmanFilter  # noqa: PLC0415

    kalman = KalmanFilter(
        transition_matrices=system.transition,
        observation_matrices=system.observation,
        transition_covariance=system.process_noise,
        observation_covariance=system.observation_noise,
        initial_state_mean=system.initial.mean,
        initial_state_covariance=system.initial.covariance,
    )
    some = values[:SHORT]
    for what, work in (
        ("likelihood", kalman.loglikelihood),
        ("filter", kalman.filter),
        ("smoother", kalman.smooth),
    ):
        yield "pykalman", what, SHORT, lambda work=work: [work(some), None][1]


def seconds(work):
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def shown(rows, facts):
    lines = [
        [r["what"], r["rival"], str(r["size"]), "yes" if r["missing"] else "no"]
        + [
            f"{r['own']:.3f}",
            f"{r['theirs']:.3f}",
            f"{r['ratio']:.{1 if r['ratio'] >= 10 else 2}f}×",
        ]
        + [f"{r['aim']:g}×", "yes" if r["ratio"] >= r["aim"] else "NO"]
        for r in rows
    ]
    head = [
        "what",
        "rival",
        "dimensions",
        "missing",
        "Seqloom, µs/step",
        "rival, µs/step",
        "ratio",
        "aim",
        "met",
    ]
    return f"{table(head, lines, 2)}\n\n{in_words(facts)}"


if __name__ == "__main__":
    main()
