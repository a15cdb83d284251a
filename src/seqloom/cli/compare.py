"""seqloom compare: runs side by side on the same examples, and which of them is better."""

import argparse
import sys
from pathlib import Path

from ..comparing import Compared, compare, too_few
from ..comparing.contenders import beside_first, differences, sentence, verdict
from ..model import Search
from ..record import to_json
from .arguments import at_least_one
from .comparison import comparison, wins
from .evaluate import searched
from .judging import Progress, load_run, say_notes
from .terminal import can_show, say, several, show, width


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="two runs or more, of one task")
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="left out: the test part of the first run"
    )
    parser.add_argument("--all", action="store_true", help="settings that are equal, too")
    parser.add_argument("--limit", type=int, metavar="N", help="judge on the first N examples only")
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "--by-length", action="store_true", help="the first metric by the length of the source, too"
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="where each run wins: by length, by label, by what training showed",
    )


def run(given: argparse.Namespace) -> int:
    """Judge every run and print the table and the verdict."""
    search = Search(beam=at_least_one("--beam", given.beam))
    limit = None if given.limit is None else at_least_one("--limit", given.limit)
    if len(given.runs) < 2:
        raise too_few()
    runs = [load_run(name, given.runs_dir) for name in given.runs]
    with Progress("comparing", quiet=given.quiet) as progress:
        compared = compare(
            runs,
            given.file,
            limit,
            search,
            lambda run, done, total: progress.of(f"evaluating {run.name}", total, done),
        )
    say_notes(compared.notes, given.quiet)
    view = compared.by_length() if given.by_length else None
    if given.json:
        drawn = {"by_length": view.to_json()} if view else {}
        show(to_json(compared.as_dict() | drawn))
        return 0
    _print(compared, given.all, searched(runs[0], search))
    if view is not None:
        show(f"\n{view.to_text(width(), ascii=not can_show('█', sys.stdout))}")
    if given.where:
        for line in wins(compared):
            show(line)
    equal = several(len(differences(compared.contenders)[1]), "equal setting")
    if not (given.all or given.quiet):
        say(f"differences only; --all shows {equal}")
    return 0


def _print(compared: Compared, show_all: bool, sought: str) -> None:
    """The table, the verdict, and every metric example by example."""
    found = compared.contenders
    for line in comparison(found, show_all):
        show(line)
    number = several(len(found[0].places), "example")
    show(f"n = {number} ({compared.exams[0].title}), 95 % intervals{sought}")
    show(verdict(found))
    for name, pairs in beside_first(found).items():
        show(f"\n{name} beside {found[0].name}, example by example:")
        for metric, apart in pairs.items():
            show(f"  {sentence(metric, found[0].name, name, apart)}")
