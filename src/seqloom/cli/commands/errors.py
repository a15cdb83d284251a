"""seqloom errors: error analysis, the most confident errors of a run and its error rates."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...data.formats.parallel_names import name_of
from ...evaluation.error_analysis import ErrorAnalysis, ErrorRate, Mistake, analyse_errors
from ...experiments.compare import TestSet, load_test_set
from ...runs.record import to_json
from ..arguments import (
    add_data_options,
    add_file,
    add_search,
    add_unknown_labels,
    at_least_one,
    search_from,
)
from ..loading import cut_note, evaluate_run, load_ensemble, say_notes, trained_note
from ..session import shown_interval
from ..terminal import plural, show, table, visible, width
from .evaluate import only_data_settings, search_note

SHORT = 24  # columns up to which prediction and true label are shown in one row
TABLES = {
    "by_length": "input tokens",
    "by_label": "true label",
    "by_known": "in training data",
}
MOST_LABELS = 40
TRAINED = "trained on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    add_file(parser, "file to evaluate on (default: the test set of the run)")
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="number of errors to list (10)"
    )
    add_search(parser)
    add_data_options(parser)
    add_unknown_labels(parser)


def run(args: argparse.Namespace) -> int:
    """Print the errors, then the tables of error rates."""
    limit = at_least_one("--limit", args.limit)
    search = replace(search_from(args), probabilities=True)
    run = load_ensemble(args)
    file = Path(name_of(args.file)) if args.file else None
    data = load_test_set(run, file, only_data_settings(args), args.unknown_labels == "skip")
    say_notes(data.notes, args.quiet)
    score = evaluate_run(run, data, search, args.quiet)
    say_notes(trained_note(score) + cut_note(score), args.quiet)
    errors = analyse_errors(run.task, score)
    if args.json:
        about = {"run": run.name, "file": str(data.file or ""), "examples": data.title}
        show(to_json(about | errors.as_dict(limit)))
        return 0
    show("\n".join(lines(errors, limit, _where(data, search_note(run, search)))))
    return 0


def lines(errors: ErrorAnalysis, limit: int, where: str = "") -> list[str]:
    """The list of errors, then the tables of error rates."""
    whole = errors.all
    are = "is" if whole.wrong == 1 else "are"
    rate = shown_interval("sequence_error", whole.with_interval())
    head = f"{whole.wrong:,} of {plural(whole.count, errors.unit)} {are} wrong: {rate}{where}"
    printed = [head]
    if errors.mistakes:
        printed += ["", *_listed(errors.mistakes[:limit])]
        if more := len(errors.mistakes) - limit:
            printed += [f"and {more:,} more: --limit {len(errors.mistakes)}"] * (more > 0)
    for name, title in TABLES.items():
        rates: list[ErrorRate] = getattr(errors, name)
        if len(rates) > 1 or (rates and name == "by_label"):
            printed += ["", *_table(title, rates)]
    return printed


def _listed(mistakes: Sequence[Mistake]) -> list[str]:
    """A row each if predictions are short, else several lines each."""
    widest = max(len(text) for mistake in mistakes for text in (mistake.right, mistake.answer))
    seen = any(mistake.trained_on for mistake in mistakes)
    head = ["confidence", "predicted", "true", "line", *[TRAINED] * seen, "input"]
    if widest <= SHORT:
        rows = [
            [
                *(_confidence(one), visible(one.answer), visible(one.right), str(one.line)),
                *["yes" if one.trained_on else ""] * seen,
                _input(one),
            ]
            for one in mistakes
        ]
        return table([head, *rows], "rllrl" + "l" * seen)
    listed: list[str] = ["the most confident errors"]
    for one in mistakes:
        rows = [
            ["input", _input(one)],
            ["predicted", visible(one.answer)],
            ["true", visible(one.right)],
        ]
        listed += [
            f"{_confidence(one)}  line {one.line}" + f", {TRAINED}" * one.trained_on,
            *(f"  {line}" for line in table(rows, room=width() - 2)),
        ]
    return listed


def _input(mistake: Mistake) -> str:
    """The input in one line, with the position of the error in brackets."""
    text = visible(mistake.asked)
    if not mistake.place:
        return text
    words, index = text.split(" "), mistake.place - 1
    if index >= len(words) or words[index] != visible(mistake.symbol):
        return f"[{visible(mistake.symbol)}] {text}"
    before = words[max(0, index - 3) : index]  # so that it stays visible in a line that is cut
    first = ["…"] if index > 3 else []
    return " ".join([*first, *before, f"[{words[index]}]", *words[index + 1 :]])


def _confidence(mistake: Mistake) -> str:
    return f"{100 * mistake.confidence:.1f} %"


def _table(title: str, rates: Sequence[ErrorRate]) -> list[str]:
    rows = [[title, "n", "errors", "error rate"]]
    for rate in rates[:MOST_LABELS]:
        error_rate = shown_interval("sequence_error", rate.with_interval())
        rows.append([visible(rate.title), f"{rate.count:,}", f"{rate.wrong:,}", error_rate])
    more = len(rates) - MOST_LABELS
    return [*table(rows, "lr"), *[f"and {more:,} more (--json has all)"] * (more > 0)]


def _where(data: TestSet, search: str) -> str:
    return f" ({data.title}{search})"
