"""Training throughput of the recipe `pronounce`, in target tokens per second, against PyTorch.

Seqloom's whole training step (`GradientDescent`) and the baselines of `pronounce_rivals.py` train
the same model with the same batch size in one process. Rounds are interleaved, so that the load of
the machine affects all alike. The ratio is the median over rounds of Seqloom's throughput over that
of the baseline in the same round.

    python benchmarks/pronounce_throughput.py --rounds 6 --seconds 5
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pronounce_rivals import Careful, Example, Plain, Rival, Shape
from surroundings import arguments, in_words, machine, positive, pronunciations, report, say, table
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from seqloom.batch import Item
from seqloom.data.loading.batching import BucketLoader
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.runs.train import recipe_by_name
from seqloom.training.gradient_descent import GradientDescent

OWN = "Seqloom"
TARGETS = {"plain": 2.0, "careful": 1.2}
TOLERANCE = 1e-4
WARM_UP_STEPS = 3


@dataclass(frozen=True)
class Contestant:
    """Who takes part: `step` learns from one batch and says how many target symbols it had."""

    name: str
    group: str
    how: str
    step: Callable[[], int]


class Field:
    """The recipe's data, model and settings, from which all contestants are made."""

    def __init__(self, recipe: Recipe, examples: int) -> None:
        task = recipe.build_task()
        pairs = read_parts(task, recipe.build_data()).train
        task.prepare(pairs)
        chosen = np.random.default_rng(1).permutation(len(pairs))[: examples or len(pairs)]
        self.items: list[Item] = [task.encode(pairs[place]) for place in np.sort(chosen)]
        self.tensors = [
            (torch.from_numpy(item.source), torch.from_numpy(item.target)) for item in self.items
        ]
        self.settings = recipe.build_training()
        model = recipe.build_model(task.signature())
        if not isinstance(model, EncoderDecoder):
            raise TypeError("the rivals are written for encoder-decoder recipes alone")
        self.model = model
        table = {name: recipe.model[name] for name in Shape.__annotations__ if name in recipe.model}
        sizes = task.signature()
        self.shape = Shape(letters=sizes.source.size, sounds=sizes.target.size, **table)

    def buckets(self) -> BucketLoader:
        """Seqloom's batches."""
        return BucketLoader(self.items, self.settings.batch_size, 0, self.settings.seed)

    def padded(self, which: Sequence[int]) -> Example:
        """A padded batch, as in ordinary PyTorch code."""
        sources, targets = zip(*(self.tensors[place] for place in which), strict=True)
        lengths = torch.tensor([len(source) for source in sources])
        return Example(pad_sequence(sources, True), lengths, pad_sequence(targets, True))

    def own(self) -> Contestant:
        """Seqloom as the recipe trains it."""
        steps = GradientDescent(self.model, self.buckets(), self.settings).steps()
        return Contestant(OWN, OWN, "buckets, fused Adam", lambda: next(steps).tokens)

    def rival(self, name: str, rival: Rival, in_buckets: bool) -> Contestant:
        """A rival with random batches and default Adam, or with buckets and fused Adam."""
        batches = self._in_buckets() if in_buckets else self._at_random()
        rate = self.settings.learning_rate
        optimizer = torch.optim.Adam(rival.parameters(), rate, fused=in_buckets or None)
        parameters = list(rival.parameters())
        rival.train()

        def step() -> int:
            batch = next(batches)
            optimizer.zero_grad()
            loss = rival.loss(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, self.settings.max_grad_norm)
            optimizer.step()
            if not np.isfinite(loss.item()):
                raise ArithmeticError(f"{name}: the loss is {loss.item()}")
            return int((batch.target != 0).sum())

        how = "buckets, fused Adam" if in_buckets else "random batches, default Adam"
        group = name.partition(",")[0] + (", with buckets" if in_buckets else "")
        return Contestant(name, group, how, step)

    def _at_random(self) -> Iterator[Example]:
        chance, size = np.random.default_rng(self.settings.seed), self.settings.batch_size
        while True:
            order = chance.permutation(len(self.items))
            for start in range(0, len(order), size):
                yield self.padded(order[start : start + size])

    def _in_buckets(self) -> Iterator[Example]:
        batches, number = self.buckets(), 0
        while True:
            for which in batches.epoch(number):
                yield self.padded(which)
            number += 1


def main() -> None:
    """Check that all compute the same, let them take turns, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--recipe", default="pronounce", help="(default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=6, help="(default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for each in a round (default: %(default)s)"
    )
    parser.add_argument("--examples", type=int, default=0, help="use so many only; 0 is all")
    given = parser.parse_args()
    files = pronunciations()
    facts = machine(given.threads)
    torch.set_num_threads(given.threads)
    places = {"data.train": str(files.train), "data.test": str(files.test)}
    field = Field(recipe_by_name(given.recipe).with_settings(places).checked(), given.examples)
    differences = check(field)
    speeds = compete(contestants(field), given.rounds, given.seconds)
    results = summary(speeds) | {
        "recipe": given.recipe,
        "batch_size": field.settings.batch_size,
        "parameters": field.model.num_parameters(),
        "rounds": given.rounds,
        "seconds": given.seconds,
        "differences": differences,
        "machine": facts,
    }
    report(shown(results), results, given.json)


def rivals(shape: Shape) -> dict[str, Rival]:
    """The rivals by name, with weights of their own."""
    return {
        "plain": Plain(shape),
        "careful, packed": Careful(shape, packed=True),
        "careful, padded": Careful(shape, packed=False),
    }


def check(field: Field) -> dict[str, float]:
    """With copied weights, loss and gradients are the same on a mixed and on a bucketed batch.

    The gradient compared is that of the letters' vectors: it comes through every other layer.
    """
    buckets = field.buckets()
    size = min(field.settings.batch_size, len(field.items))
    batches = [np.random.default_rng(2).permutation(len(field.items))[:size], buckets.epoch(0)[0]]
    found: dict[str, float] = {}
    field.model.eval()
    for name, rival in rivals(field.shape).items():
        rival.take(field.model)
        rival.eval()
        for which in batches:
            ours, theirs = field.model.loss(buckets.batch(which)), rival.loss(field.padded(which))
            weights = field.model.source_input.table.weight, rival.letters.weight
            (own,), (other,) = (
                torch.autograd.grad(loss, weight)
                for loss, weight in zip((ours, theirs), weights, strict=True)
            )
            apart = max(abs(ours.item() - theirs.item()), (own - other).abs().max().item())
            found[name] = max(found.get(name, 0.0), apart)
        if found[name] > TOLERANCE:
            raise SystemExit(f"{name} is not the same model: {found[name]:.2g} apart")
        say(f"{name}: the same loss and gradients, to {found[name]:.1g}")
    return found


def contestants(field: Field) -> list[Contestant]:
    """Seqloom, every rival as it is, and the careful ones with Seqloom's batches and optimiser."""
    found = [field.own()]
    found += [field.rival(name, rival, False) for name, rival in rivals(field.shape).items()]
    for name, rival in rivals(field.shape).items():
        if name != "plain":
            found.append(field.rival(name, rival, True))
    return found


def compete(field: list[Contestant], rounds: int, seconds: float) -> dict[Contestant, list[float]]:
    """Target symbols per second of each contestant in each round."""
    for contestant in field:
        for _ in range(WARM_UP_STEPS):
            contestant.step()
    speeds: dict[Contestant, list[float]] = {contestant: [] for contestant in field}
    for number in range(1, rounds + 1):
        for contestant in field:
            speeds[contestant].append(_speed(contestant, seconds))
        told = ", ".join(f"{found[-1]:,.0f}" for found in speeds.values())
        say(f"round {number} of {rounds}: {told} symbols/s")
    return speeds


def summary(speeds: dict[Contestant, list[float]]) -> dict[str, Any]:
    """Medians and ratios; the rival with the lowest ratio stands for its group."""
    own = next(found for contestant, found in speeds.items() if contestant.name == OWN)
    rows = []
    for contestant, found in speeds.items():
        ratios = [ours / theirs for ours, theirs in zip(own, found, strict=True)]
        rows.append(
            {
                "name": contestant.name,
                "group": contestant.group,
                "how": contestant.how,
                "symbols_per_second": statistics.median(found),
                "ratio": statistics.median(ratios),
                "lowest_ratio": min(ratios),
                "highest_ratio": max(ratios),
                "speeds": found,
            }
        )
    best: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["ratio"]):
        best.setdefault(row["group"], row)
    ratios = {group: row["ratio"] for group, row in best.items() if group != OWN}
    return {
        "rows": rows,
        "best_of_group": {g: r["name"] for g, r in best.items()},
        "ratios": ratios,
    }


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        [
            row["name"],
            row["how"],
            f"{row['symbols_per_second']:,.0f}",
            "" if row["name"] == OWN else f"{row['ratio']:.2f}",
            "" if row["name"] == OWN else f"{row['lowest_ratio']:.2f}-{row['highest_ratio']:.2f}",
        ]
        for row in results["rows"]
    ]
    head = ["implementation", "batches, optimiser", "symbols/s", "Seqloom is", "in the rounds"]
    lines = [
        f"# Training throughput, recipe {results['recipe']}\n",
        table(head, rows, words=2) + "\n",
        f"{results['parameters']:,} weights, batches of {results['batch_size']}, target symbols"
        f" per second (median of {results['rounds']} rounds of {results['seconds']:g} s).",
        in_words(results["machine"]),
    ]
    for group, target in TARGETS.items():
        ratio = results["ratios"][group]
        verdict = "reached" if ratio >= target else "missed"
        best = results["best_of_group"][group]
        lines.append(f"Against {best}: {ratio:.2f} times, aim {target:g}: {verdict}.")
    return "\n".join(lines)


def _speed(contestant: Contestant, seconds: float) -> float:
    symbols, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not symbols:
        symbols += contestant.step()
    return symbols / passed


if __name__ == "__main__":
    main()
