"""seqloom errors: the most confident mistakes of a run, and how often it is wrong by what."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...data.formats.parallel_names import name_of
from ...evaluation.error_analysis import Mistake, Mistakes, Rate, mistakes_of
from ...experiments.compare import Exam, exam
from ...runs.record import to_json
from ..arguments import (
    add_file,
    add_reading,
    add_search,
    add_unknown_labels,
    at_least_one,
    search_of,
)
from ..loading import judged, load_together, say_notes
from ..session import shown_interval
from ..terminal import several, show, table, visible, width
from .evaluate import reading_settings, searched

SHORT = 24  # columns that a right answer and a wrong one may take beside each other
TABLES = {
    "by_length": "symbols of the source",
    "by_label": "right label",
    "by_known": "known to training",
}
MOST_LABELS = 40


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    add_file(parser, "left out: the run's own test part")
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="list so many mistakes (10 if left out)"
    )
    add_search(parser)
    add_reading(parser)
    add_unknown_labels(parser)


def run(given: argparse.Namespace) -> int:
    """Print the mistakes, then the tables."""
    limit = at_least_one("--limit", given.limit)
    search = replace(search_of(given), chances=True)
    run = load_together(given)
    file = Path(name_of(given.file)) if given.file else None
    found = exam(run, file, reading_settings(given), given.unknown_labels == "skip")
    say_notes(found.notes, given.quiet)
    score = judged(run, found, search, given.quiet)
    errors = mistakes_of(run.task, score)
    if given.json:
        about = {"run": run.name, "file": str(found.file or ""), "examples": found.title}
        show(to_json(about | errors.as_dict(limit)))
        return 0
    show("\n".join(lines(errors, limit, _where(found, searched(run, search)))))
    return 0


def lines(errors: Mistakes, limit: int, where: str = "") -> list[str]:
    """All that is printed."""
    whole = errors.all
    are = "is" if whole.wrong == 1 else "are"
    share = shown_interval("sequence_error", whole.measured())
    head = f"{whole.wrong:,} of {several(whole.count, errors.unit)} {are} wrong: {share}{where}"
    told = [head]
    if errors.mistakes:
        told += ["", *_listed(errors.mistakes[:limit])]
        if more := len(errors.mistakes) - limit:
            told += [f"and {more:,} more: --limit {len(errors.mistakes)}"] * (more > 0)
    for name, title in TABLES.items():
        rates: list[Rate] = getattr(errors, name)
        if len(rates) > 1 or (rates and name == "by_label"):
            told += ["", *_table(title, rates)]
    return told


def _listed(mistakes: Sequence[Mistake]) -> list[str]:
    """Side by side where the answers are short, else below one another."""
    widest = max(len(text) for mistake in mistakes for text in (mistake.right, mistake.answer))
    head = ["confidence", "answer", "right", "line", "of"]
    if widest <= SHORT:
        rows = [
            [_sure(one), visible(one.answer), visible(one.right), str(one.line), _asked(one)]
            for one in mistakes
        ]
        return table([head, *rows], "rllrl")
    told: list[str] = ["the most confident mistakes"]
    for one in mistakes:
        place = f"line {one.line}"
        rows = [["of", _asked(one)], ["answer", visible(one.answer)], ["right", visible(one.right)]]
        told += [f"{_sure(one)}  {place}", *(f"  {line}" for line in table(rows, room=width() - 2))]
    return told


def _asked(mistake: Mistake) -> str:
    """What was asked in one line; the place in question stands in brackets."""
    asked = visible(mistake.asked)
    if not mistake.place:
        return asked
    words, place = asked.split(" "), mistake.place - 1
    if place >= len(words) or words[place] != visible(mistake.symbol):
        return f"[{visible(mistake.symbol)}] {asked}"
    before = words[max(0, place - 3) : place]  # so that it is seen where the line is cut
    first = ["…"] if place > 3 else []
    return " ".join([*first, *before, f"[{words[place]}]", *words[place + 1 :]])


def _sure(mistake: Mistake) -> str:
    return f"{100 * mistake.confidence:.1f} %"


def _table(title: str, rates: Sequence[Rate]) -> list[str]:
    rows = [[title, "n", "wrong", "share"]]
    for rate in rates[:MOST_LABELS]:
        share = shown_interval("sequence_error", rate.measured())
        rows.append([visible(rate.title), f"{rate.count:,}", f"{rate.wrong:,}", share])
    more = len(rates) - MOST_LABELS
    return [*table(rows, "lr"), *[f"and {more:,} more (--json has all)"] * (more > 0)]


def _where(found: Exam, search: str) -> str:
    return f" ({found.title}{search})"
