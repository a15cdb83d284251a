"""Where each of several runs wins: by length or steps ahead, by label, by what training showed.

A run wins on a group of examples where it is the best by a metric, and the difference to the next
best is more than chance: the same examples are drawn again for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from ..errors import UsageError
from ..metrics import METRICS, Measured, Metric, Ratio, Tally, bootstrap, measure
from ..signature import Form, Series, Vectors
from ..task import Judged, Task
from ..views import LengthBucket
from .by_label import judged_of
from .by_length import buckets_of, lengths_of, step_for, tallies_by_steps
from .evaluate import Evaluation

Kind = Literal["length", "horizon", "label", "known"]
MOST_LABELS, MOST_NAMED = 20, 3
F1 = Metric("F1", False, percent=True)


@dataclass(frozen=True)
class Group:
    """What has something in common, how good every run is there, and which is the best."""

    title: str
    count: int
    values: list[Measured]
    best: int | None  # the place of the run; None where the best are equal
    is_certain: bool
    extent: tuple[int, int | None] = (0, None)  # of lengths or steps


@dataclass(frozen=True)
class Where:
    """One way to look at it: groups of examples, in an order that tells something."""

    kind: Kind
    title: str
    metric: Metric
    runs: Sequence[str]
    groups: Sequence[Group]
    unit: str = ""  # what lengths are counted in

    def sentence(self) -> str:
        """Which run wins where, as far as that is more than chance."""
        winners = [group.best if group.is_certain else None for group in self.groups]
        if {*winners} == {None}:
            return f"By {self.title}, no difference is more than chance."
        if len({*winners}) == 1:
            return f"{self.runs[winners[0] or 0]} wins everywhere."
        told: list[str] = []
        for place in sorted({winner for winner in winners if winner is not None}):
            won = [winner == place for winner in winners]
            named = self._spans(won) if self.unit else self._names(won)
            verb = "wins on" if not told else "on"
            told.append(f"{self.runs[place]} {verb} {named}")
        if None in winners:
            told.append("elsewhere the difference could be chance")
        return f"{'; '.join(told)}."

    def as_dict(self) -> dict[str, Any]:
        """The groups for machines, with the sentence."""
        return {
            "title": self.title,
            "metric_title": self.metric.title,
            "percent": self.metric.percent,
            "lower_is_better": self.metric.lower_is_better,
            "sentence": self.sentence(),
            "groups": [
                {
                    "title": group.title,
                    "n": group.count,
                    "values": [
                        {"run": name, **vars(value), "shown": self.metric.show(value.value)}
                        for name, value in zip(self.runs, group.values, strict=True)
                    ],
                    "best": None if group.best is None else self.runs[group.best],
                    "certain": group.is_certain,
                }
                for group in self.groups
            ],
        }

    def _spans(self, won: Sequence[bool]) -> str:
        """Neighbours as one: texts over 20 words, steps 1 to 4."""
        what = "texts" if self.kind == "length" else "forecasts"
        told, last = [], len(won) - 1
        for is_won, run in groupby(range(len(won)), key=lambda place: won[place]):
            places = list(run)
            low, high = (self.groups[places[end]].extent[end != 0] for end in (0, -1))
            if not is_won or low is None:
                continue
            if places[0] == 0:
                told.append(f"up to {high} {self.unit}")
            elif places[-1] == last:
                told.append(f"over {low - 1} {self.unit}")
            else:
                told.append(f"of {low} to {high} {self.unit}")
        return f"{what} {_listed(told)}"

    def _names(self, won: Sequence[bool]) -> str:
        """Some of the groups by name, those with the most in them first."""
        names = [group.title for group, is_won in zip(self.groups, won, strict=True) if is_won]
        more = len(names) - MOST_NAMED
        return _listed(names if more <= 1 else [*names[:MOST_NAMED], f"{more:,} more"])


def where(
    tasks: Sequence[Task], scores: Sequence[Evaluation], names: Sequence[str], metric: str
) -> list[Where]:
    """Every way there is to look at runs that were asked the same; some have only one group."""
    looks = [
        Where("length", "length", METRICS[metric], names, _lengths(tasks[0], scores, metric)),
        Where("horizon", "steps ahead", METRICS[metric], names, _steps(tasks, scores, metric)),
        Where("label", "label", F1, names, _labels(tasks, scores)),
        _known(tasks, scores, names, metric),
    ]
    units = {"length": tasks[0].read_unit, "horizon": "steps"}
    found = [one for one in looks if len(one.groups) > 1]
    return [Where(**{**vars(one), "unit": units.get(one.kind, "")}) for one in found]


def _group(
    title: str,
    tallies: Sequence[Sequence[Tally]],
    metric: Metric,
    count: int | None = None,
    extent: tuple[int, int | None] = (0, None),
) -> Group:
    """Runs measured by what each example adds; `tallies` has a list for each run."""
    values = [measure(found, metric.value) for found in tallies]
    ranks = [metric.rank(value.value) for value in values]
    first, second, *_ = sorted(range(len(ranks)), key=ranks.__getitem__)
    is_one = ranks[first] != ranks[second]
    is_certain = (
        is_one and bootstrap.difference(tallies[first], tallies[second], metric.value).is_certain
    )
    number = len(tallies[0]) if count is None else count
    return Group(title, number, values, first if is_one else None, is_certain, extent)


def _lengths(task: Task, scores: Sequence[Evaluation], metric: str) -> list[Group]:
    """By the symbols of the source, as the first run cuts it."""
    if isinstance(task.signature().source, Vectors | Series):
        return []
    lengths = lengths_of(task, scores[0].examples)
    return [
        _group(
            LengthBucket(first, last, 0, 0, 0, 0).title,
            [[score.tallies[metric][place] for place in places] for score in scores],
            METRICS[metric],
            extent=(first, last),
        )
        for first, last, places in buckets_of(lengths, step_for(lengths))
    ]


def _steps(tasks: Sequence[Task], scores: Sequence[Evaluation], metric: str) -> list[Group]:
    """By how many steps a forecast looks ahead."""
    if tasks[0].form is not Form.FORECAST:
        return []
    found = [tallies_by_steps(task, score) for task, score in zip(tasks, scores, strict=True)]
    if any(metric not in tallies or buckets != found[0][0] for buckets, tallies in found):
        return []
    return [
        _group(
            LengthBucket(first, last, 0, 0, 0, 0).title,
            [tallies[metric][place] for _, tallies in found],
            METRICS[metric],
            extent=(first, last),
        )
        for place, (first, last) in enumerate(found[0][0])
    ]


def _labels(tasks: Sequence[Task], scores: Sequence[Evaluation]) -> list[Group]:
    """By label, the most frequent first: F1, of whole entities where there are such."""
    try:
        judged = [judged_of(task, score) for task, score in zip(tasks, scores, strict=True)]
    except UsageError:  # the answers are no labels
        return []
    counted = [[_by_label(one) for one in found] for found in judged]
    right: dict[str, int] = {}
    for one in counted[0]:
        for label, (_, count, _) in one.items():
            right[label] = right.get(label, 0) + count
    chosen = sorted(right, key=lambda label: (-right[label], label))[:MOST_LABELS]
    groups = []
    for label in chosen:
        rows = list(zip(*counted, strict=True))
        rows = [row for row in rows if any(label in one for one in row)]
        tallies = [[_f1(row[place].get(label)) for row in rows] for place in range(len(counted))]
        groups.append(_group(label, tallies, F1, right[label]))
    return groups


def _by_label(judged: Judged) -> dict[str, tuple[int, int, int]]:
    """Of each label in an example: how often it was found, is right, and was guessed."""
    if judged.what == "entity":
        right, guessed = [one[0] for one in judged.right], [one[0] for one in judged.guessed]
        hits = [one[0] for one in {*judged.right} & {*judged.guessed}]
    else:
        right = [one.right for one in judged.decisions]
        guessed = [one.guessed for one in judged.decisions]
        hits = [one.right for one in judged.decisions if one.right == one.guessed]
    labels = {*right, *guessed} - {""}
    return {one: (hits.count(one), right.count(one), guessed.count(one)) for one in labels}


def _f1(counts: tuple[int, int, int] | None) -> Tally:
    hits, right, guessed = counts or (0, 0, 0)
    return Ratio(2 * hits, right + guessed)


def _known(
    tasks: Sequence[Task], scores: Sequence[Evaluation], names: Sequence[str], metric: str
) -> Where:
    """By whether training showed what was read to every run: place by place, or as a whole."""
    title = "what training showed"
    if isinstance(tasks[0].signature().source, Vectors | Series):
        return Where("known", title, METRICS[metric], names, [])
    each = list(zip(tasks, scores, strict=True))
    seen = zip(
        *([task.is_known(one) for one in score.examples] for task, score in each), strict=True
    )
    masks = [_known_to_all(one) for one in seen]
    if tasks[0].form is Form.EACH and _has_places(each, masks):
        groups = _places(each, masks, tasks[0].read_unit)
        return Where("known", title, METRICS["accuracy"], names, groups)
    groups, unit = [], tasks[0].read_unit.removesuffix("s")
    for is_known in (True, False):
        chosen = [place for place, mask in enumerate(masks) if all(mask) == is_known]
        told = f"every {unit} known" if is_known else f"some {unit} unknown"
        tallies = [[score.tallies[metric][place] for place in chosen] for score in scores]
        groups += [_group(f"texts with {told}", tallies, METRICS[metric])] if chosen else []
    return Where("known", title, METRICS[metric], names, groups)


def _known_to_all(masks: Sequence[list[bool]]) -> list[bool]:
    """Symbol by symbol where all runs cut a text alike, else as a whole."""
    if len({len(mask) for mask in masks}) > 1:
        return [all(map(all, masks))]
    return [all(seen) for seen in zip(*masks, strict=True)]


def _has_places(each: Sequence[tuple[Task, Evaluation]], masks: Sequence[Sequence[bool]]) -> bool:
    """Whether every symbol has a label."""
    return all(
        answer is not None and len(task.pairs(example, answer.value)) == len(mask)
        for task, score in each
        for example, answer, mask in zip(score.examples, score.answers, masks, strict=True)
    )


def _places(
    each: Sequence[tuple[Task, Evaluation]], masks: Sequence[Sequence[bool]], unit: str
) -> list[Group]:
    """Accuracy at the places that are known, and at those that are not."""
    groups = []
    for is_known in (True, False):
        chosen = [place for place, mask in enumerate(masks) if is_known in mask]
        tallies = [
            [_hits(task, score, place, masks[place], is_known) for place in chosen]
            for task, score in each
        ]
        count = sum([*masks[place]].count(is_known) for place in chosen)
        told = f"{'known' if is_known else 'unknown'} {unit}"
        groups += [_group(told, tallies, METRICS["accuracy"], count)] if chosen else []
    return groups


def _hits(task: Task, score: Evaluation, place: int, mask: Sequence[bool], is_known: bool) -> Tally:
    """How often an example was right where its symbols are known, or where they are not."""
    answer = score.answers[place]
    pairs = task.pairs(score.examples[place], answer.value if answer else None)
    found = [
        right == guess for (right, guess), seen in zip(pairs, mask, strict=True) if seen == is_known
    ]
    return Ratio(sum(found), len(found))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
