"""How well each label was found, and which were taken for which."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import UsageError
from .metrics.spans import Row, f1, precision, recall, rows, rows_of_pairs
from .task import Judged, Task
from .training.evaluation import Evaluation


@dataclass(frozen=True)
class LabelTable:
    """A row for each label, what they come to together, and how often which was taken for which.

    `what` is what was counted: whole entities, or labels place by place; `pairs` has places always,
    the right label and then the guessed one.
    """

    what: str
    rows: list[Row]
    together: list[Row]
    pairs: Mapping[tuple[str, str], int]

    def confused(self) -> list[tuple[str, str, int]]:
        """What is right, what was guessed instead, and how often; the most frequent first."""
        wrong = [(*pair, count) for pair, count in self.pairs.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda one: (-one[2], one[:2]))

    def as_dict(self) -> dict[str, Any]:
        """Everything for machines; of the confusion, a row is what is right."""
        labels = sorted({label for pair in self.pairs for label in pair})
        counts = [[self.pairs.get((one, other), 0) for other in labels] for one in labels]
        return {
            "what": self.what,
            "labels": [row._asdict() for row in self.rows],
            "together": [row._asdict() for row in self.together],
            "confusion": {"labels": labels, "counts": counts},
        }


def by_label(task: Task, score: Evaluation) -> LabelTable:
    """The table of a task whose answers are labels."""
    answered = zip(score.examples, score.answers, strict=True)
    judged = [task.judged(example, answer.value) for example, answer in answered if answer]
    known = [one for one in judged if one is not None]
    if not known:
        raise UsageError("U092", "--by-label: the answers of this task are not labels")
    pairs = Counter(pair for one in known for pair in one.pairs)
    found = _of_entities(known) if known[0].what == "entity" else rows_of_pairs(pairs)
    return LabelTable(known[0].what, found, _together(found), pairs)


def _of_entities(judged: Iterable[Judged]) -> list[Row]:
    hits, guessed, right = Counter[str](), Counter[str](), Counter[str]()
    for one in judged:
        guessed.update(kind for kind, *_ in one.guessed)
        right.update(kind for kind, *_ in one.right)
        hits.update(kind for kind, *_ in {*one.right} & {*one.guessed})
    return rows(hits, guessed, right)


def _together(found: list[Row]) -> list[Row]:
    """All labels as one, and the mean over labels."""
    hits = round(sum(row.recall * row.support for row in found))
    guessed, right = sum(row.guessed for row in found), sum(row.support for row in found)
    sums = (hits, guessed, right)
    number = max(1, len(found))
    mean = Row(
        "mean (macro)",
        sum(row.precision for row in found) / number,
        sum(row.recall for row in found) / number,
        sum(row.f1 for row in found) / number,
        right,
        guessed,
    )
    return [Row("all (micro)", precision(sums), recall(sums), f1(sums), right, guessed), mean]
