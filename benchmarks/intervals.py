"""How often 95 % intervals hold the truth, and how often equal models are told apart.

Simulations of test sets of n examples: shares, means of skewed values, ratio metrics, MASE, paired
differences, whole comparisons, and the calibration error of a perfectly calibrated model. Beside
Seqloom's intervals stands the percentile bootstrap, which is common. It needs no data.

    python benchmarks/intervals.py
    python benchmarks/intervals.py --repeats 400
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.evaluation.evaluate import Evaluation, ExamplePrediction
from seqloom.evaluation.significance import ComparedRun, paired_tests
from seqloom.evaluation.slices import compare_slices
from seqloom.metrics import METRICS, Ratio, Tally
from seqloom.metrics.calibration import debiased_calibration_error
from seqloom.metrics.entities import EntityCounts
from seqloom.metrics.labels import calibration_bins, calibration_error, label_counts
from seqloom.metrics.tallies import as_matrix
from seqloom.recipe import Recipe

Chance = np.random.Generator
Draw = Callable[[Chance, int], list[Tally]]
SIZES = (6, 10, 20, 50, 200)
MANY = 200_000  # examples that stand for all there are
RESAMPLED = 500  # by the bootstrap beside it
LABELS = 20
SURE = ("ECE as defined, %", "told, %", "upper end, %", "intervals that hold 0, %")


def shares(p: float) -> Draw:
    """Examples that are right with this probability."""
    return lambda chance, n: [Ratio(float(hit), 1.0) for hit in chance.random(n) < p]


def words(p: float, alike: float) -> Draw:
    """Wrong words in sentences of 3 to 29 words; the fewer `alike`, the more sentences differ."""

    def draw(chance: Chance, n: int) -> list[Tally]:
        lengths = chance.integers(3, 30, n)
        wrong = chance.binomial(lengths, chance.beta(p * alike, (1 - p) * alike, n))
        return [Ratio(float(a), float(b)) for a, b in zip(wrong, lengths, strict=True)]

    return draw


def entities(chance: Chance, n: int) -> list[Tally]:
    """Sentences of a few entities, of which four in five are found."""
    right = chance.poisson(2.0, n) + 1
    hits = chance.binomial(right, chance.beta(8, 2, n))
    rows = zip(hits, hits + chance.poisson(0.4, n), right, strict=True)
    return [EntityCounts(*map(float, row)) for row in rows]


def values(draw: Callable[[Chance, int], np.ndarray]) -> Draw:
    """Real numbers, one an example."""
    return lambda chance, n: [Ratio(float(value), 1.0) for value in draw(chance, n)]


def macro(chance: Chance, n: int) -> list[Tally]:
    """Guesses among four labels, of which three in four are right."""
    right = chance.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    guessed = np.where(chance.random(n) < 0.7, right, chance.integers(4, size=n))
    return [label_counts(((int(a), int(b)),), 4) for a, b in zip(right, guessed, strict=True)]


def mase(chance: Chance, n: int) -> np.ndarray:
    """Scaled errors of series: each has a level of its own, and the errors of its horizon."""
    levels = chance.lognormal(-0.1, 0.6, n)
    return np.asarray(levels * np.abs(chance.normal(size=(n, 12))).mean(1) * math.sqrt(math.pi / 2))


CASES: dict[str, tuple[str, Draw]] = {
    "accuracy, 50 %": ("accuracy", shares(0.5)),
    "accuracy, 90 %": ("accuracy", shares(0.9)),
    "mean of exponential values": ("mae", values(lambda c, n: c.exponential(1, n))),
    "mean of log-normal values, σ = 1/2": ("mae", values(lambda c, n: c.lognormal(0, 0.5, n))),
    "mean of log-normal values, σ = 1": ("mae", values(lambda c, n: c.lognormal(0, 1, n))),
    "word error rate, 10 %": ("word_error", words(0.1, 20)),
    "word error rate, 40 %": ("word_error", words(0.4, 10)),
    "entity F1": ("entity_f1", entities),
    "macro F1 of four labels": ("macro_f1", macro),
    "MASE": ("mase", values(mase)),
    "perplexity": ("perplexity", values(lambda c, n: c.gamma(9, 0.4, n))),
}


def two_accuracies(chance: Chance, n: int) -> tuple[list[Tally], list[Tally]]:
    """70 and 80 % right; what is hard for one is hard for the other."""
    hard = chance.random(n)
    pairs = [hard + chance.normal(0, 0.3, n) < easy for easy in (0.7, 0.85)]
    return _as_ratios(*(pair.astype(float) for pair in pairs))


def two_errors(chance: Chance, n: int) -> tuple[list[Tally], list[Tally]]:
    """Skewed errors, those of the second a fifth smaller."""
    errors = chance.exponential(1, n)
    return _as_ratios(errors * chance.gamma(4, 0.25, n), 0.8 * errors * chance.gamma(4, 0.25, n))


def two_word_errors(chance: Chance, n: int) -> tuple[list[Tally], list[Tally]]:
    """Wrong words of the same sentences, 12 % and 9 %."""
    lengths, hard = chance.integers(3, 30, n), chance.beta(2, 8, n)
    wrong = [chance.binomial(lengths, share * hard) for share in (0.6, 0.45)]
    return _as_ratios(*wrong, lengths)


def _as_ratios(
    one: np.ndarray, other: np.ndarray, bottoms: np.ndarray | None = None
) -> tuple[list[Tally], list[Tally]]:
    counts = np.ones(len(one)) if bottoms is None else bottoms
    first, second = (
        [Ratio(float(a), float(b)) for a, b in zip(tops, counts, strict=True)]
        for tops in (one, other)
    )
    return [*first], [*second]


PAIRS: dict[str, tuple[str, Callable[[Chance, int], tuple[list[Tally], list[Tally]]]]] = {
    "accuracy, 15 points apart": ("accuracy", two_accuracies),
    "skewed errors, a fifth apart": ("mae", two_errors),
    "word error rate, 3 points apart": ("word_error", two_word_errors),
}


def main() -> None:
    """Simulate and report."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=positive, default=2000, metavar="N", help="(2000)")
    given = parser.parse_args()
    facts = machine(1)
    found = {
        "coverage": [coverage(name, given.repeats) for name in CASES],
        "differences": [differences(name, given.repeats) for name in PAIRS],
        "paired": [paired(name, given.repeats) for name in CASES],
        "comparisons": comparisons(max(1, given.repeats // 10)),
        "calibration": [calibration(n, given.repeats // 2) for n in (30, 100, 300, 1000)],
    }
    report(shown(found, facts), found | {"machine": facts}, given.json)


def coverage(name: str, repeats: int) -> dict[str, Any]:
    """How often intervals of a metric hold the truth, by the number of examples."""
    metric, draw = CASES[name]
    truth = METRICS[metric].value(as_matrix(draw(np.random.default_rng(0), MANY)).sum(0).tolist())
    row: dict[str, Any] = {"name": name, "truth": truth, "held": {}, "bootstrap": {}}
    for size in SIZES:
        chance, before = np.random.default_rng(size), 0
        measured = [METRICS[metric].measure(draw(chance, size)) for _ in range(repeats)]
        there = [one for one in measured if one.has_interval]
        held = sum(one.low <= truth <= one.high for one in there)
        fewer = max(1, repeats // 5)
        for _ in range(fewer):
            low, high = percentiles(metric, draw(chance, size), chance)
            before += low <= truth <= high
        row["held"][size] = held / len(there) if there else None  # else there were too few
        row["bootstrap"][size] = before / fewer
    say(f"{name}: {row['held']}")
    return row


def percentiles(metric: str, tallies: list[Tally], chance: Chance) -> tuple[float, float]:
    """The percentile bootstrap: the middle 95 % over examples that are drawn again."""
    rows, size = as_matrix(tallies), len(tallies)
    sums = rows[chance.integers(size, size=(RESAMPLED, size))].sum(1)
    again = [METRICS[metric].value(row) for row in sums.tolist()]
    low, high = np.quantile(again, [0.025, 0.975])
    return float(low), float(high)


def paired(name: str, repeats: int) -> dict[str, Any]:
    """How often two equal models differ significantly; and how often the interval holds 0."""
    metric, draw = CASES[name]
    row: dict[str, Any] = {"name": name, "found": {}, "held": {}}
    for size in SIZES:
        chance, count = np.random.default_rng(1000 + size), max(1, repeats // 2)
        tests = [METRICS[metric].difference(draw(chance, size), draw(chance, size))
                 for _ in range(count)]  # fmt: skip
        row["found"][size] = sum(test.is_significant for test in tests) / count
        row["held"][size] = sum(test.low <= 0 <= test.high for test in tests) / count
    say(f"{name}, equal models: {row['found']}")
    return row


def differences(name: str, repeats: int) -> dict[str, Any]:
    """How often intervals of paired differences hold the true one; and how often it is found."""
    metric, draw = PAIRS[name]
    many = draw(np.random.default_rng(0), MANY)
    before, after = (METRICS[metric].value(as_matrix(each).sum(0).tolist()) for each in many)
    row: dict[str, Any] = {"name": name, "truth": after - before, "held": {}, "found": {}}
    for size in SIZES:
        chance, count = np.random.default_rng(2000 + size), max(1, repeats // 2)
        tests = [METRICS[metric].difference(*draw(chance, size)) for _ in range(count)]
        there = [test for test in tests if test.has_interval]
        held = sum(test.low <= after - before <= test.high for test in there)
        row["held"][size] = held / max(1, len(there))
        row["found"][size] = sum(test.is_significant for test in tests) / count
    say(f"{name}: {row['held']}")
    return row


def comparisons(repeats: int) -> list[dict[str, Any]]:
    """How often a whole comparison of equal models names a difference."""
    rows = []
    for count in (2, 5):
        row: dict[str, Any] = {"name": f"compare, {count} runs and 4 metrics", "found": {}}
        for size in SIZES:
            chance = np.random.default_rng(size)
            found = sum(_compare_errs(count, size, chance) for _ in range(repeats))
            row["found"][size] = found / repeats
        say(f"{row['name']}: {row['found']}")
        rows.append(row)
    row = {"name": f"compare --where, {LABELS} labels", "found": {}}
    for size in (100, 300):
        chance = np.random.default_rng(size)
        found = sum(_slices_err(size, chance) for _ in range(repeats))
        row["found"][size] = found / repeats
    say(f"{row['name']}: {row['found']}")
    return [*rows, row]


def _compare_errs(count: int, size: int, chance: Chance) -> bool:
    """Whether any of the differences among equal runs is called significant."""
    four = {"accuracy": shares(0.7), "macro_f1": macro, "word_error": words(0.1, 20)}
    four["loss"] = CASES["perplexity"][1]
    runs = []
    for number in range(count):
        tallies = {name: draw(chance, size) for name, draw in four.items()}
        metrics = {name: METRICS[name].measure(each) for name, each in tallies.items()}
        examples = tuple(range(size))
        runs.append(ComparedRun(f"{number}", {}, metrics, tallies, examples, 1.0, 1, 1, 1.0))
    tests = paired_tests(runs)
    every = [test for each in tests.to_first.values() for test in each.values()]
    return any(test.is_significant for test in [*every, *([tests.best] if tests.best else [])])


def _slices_err(size: int, chance: Chance) -> bool:
    """Whether any label, length or kind of text is won by one of two equal classifiers."""
    task = Recipe(task={"name": "classify"}).build_task()
    names = [f"label-{number}" for number in range(LABELS)]
    right = [names[number % LABELS] for number in range(size)]
    texts = [" ".join(["word"] * int(chance.integers(1, 30))) for _ in range(size)]
    examples = [task.with_target(task.question(a), b) for a, b in zip(texts, right, strict=True)]
    task.prepare(examples)
    scores = []
    for _ in range(2):
        wrong = chance.integers(LABELS, size=size)
        is_right = chance.random(size) < 0.7
        guessed = [a if ok else names[n] for a, ok, n in zip(right, is_right, wrong, strict=True)]
        answers = [ExamplePrediction(guess, -1.0) for guess in guessed]
        each = [task.score(a, b.value, 1.0) for a, b in zip(examples, answers, strict=True)]
        tallies = {name: [one[name] for one in each] for name in each[0]}
        scores.append(Evaluation(examples, [*answers], tallies, 1.0))
    found = compare_slices([task] * 2, scores, ["A", "B"], "accuracy")
    return any(one.is_significant for kind in found for one in kind.slices)


def calibration(size: int, repeats: int) -> dict[str, Any]:
    """The calibration error of a model whose probabilities are right."""
    chance, held, raw, told, widths = np.random.default_rng(size), 0, [], [], []
    for _ in range(repeats):
        sure = 0.5 + 0.5 * chance.beta(2, 1, size)
        right = chance.random(size) < sure
        tallies = [calibration_bins(float(a), bool(b)) for a, b in zip(sure, right, strict=True)]
        found = debiased_calibration_error(tallies)
        raw.append(calibration_error(as_matrix(tallies).sum(0).tolist()))
        told.append(found.value)
        widths.append(found.high)
        held += found.low <= 0
    means = {
        "raw": float(np.mean(raw)),
        "told": float(np.mean(told)),
        "high": float(np.mean(widths)),
    }
    say(f"calibration error, n = {size}: {held / repeats:.1%}, {means}")
    return {"size": size, "held": held / repeats, **means}


def shown(found: dict[str, Any], facts: dict[str, Any]) -> str:
    """The tables and the machine."""
    heads = [f"n = {size}" for size in SIZES]
    held = [
        [
            row["name"],
            *(f"{_held(row['held'][n])} ({100 * row['bootstrap'][n]:.0f})" for n in SIZES),
        ]
        for row in found["coverage"]
    ]
    apart = [
        [row["name"], *(f"{100 * row['found'][n]:.1f} ({100 * row['held'][n]:.0f})" for n in SIZES)]
        for row in found["paired"]
    ]
    differ = [
        [row["name"], *(f"{100 * row['held'][n]:.1f} ({100 * row['found'][n]:.0f})" for n in SIZES)]
        for row in found["differences"]
    ]
    whole = [
        [row["name"], *(f"{n}: {100 * rate:.1f} %" for n, rate in row["found"].items())]
        for row in found["comparisons"]
    ]
    most = max(map(len, whole))
    sure = [
        [f"{row['size']:,}", *(f"{100 * row[key]:.1f}" for key in ("raw", "told", "high", "held"))]
        for row in found["calibration"]
    ]
    return "\n\n".join([
        table(["95 % intervals that hold the truth, % (percentile bootstrap)", *heads], held),
        table(["intervals of differences that hold the true one, % (found)", *heads], differ),
        table(["differences found between equal models, % (intervals that hold 0)", *heads], apart),
        table(["comparisons of equals that name any difference", *[""] * (most - 1)],
              [row + [""] * (most - len(row)) for row in whole]),
        table(["calibrated predictions", *SURE], sure),
        in_words(facts),
    ])  # fmt: skip


def _held(rate: float | None) -> str:
    return "too few" if rate is None else f"{100 * rate:.1f}"


if __name__ == "__main__":
    main()
