"""Checks of time series: frequency, lengths, missing values, constant and short series."""

from statistics import median

import numpy as np

from ..formats.base import pluralize
from ..series.schema import SeriesFile, TimeSeries
from .text import Finding

MIN_SEASONS = 2  # with fewer, a seasonal pattern cannot be seen


def facts(file: SeriesFile) -> dict[str, str]:
    """A summary of a file of time series, by title."""
    lengths = [len(one) for one in file.series]
    number = pluralize(len(lengths), "series").replace("seriess", "series")
    span = f"{lengths[0]:,} steps"
    if len(set(lengths)) > 1:
        span = f"{min(lengths):,} to {max(lengths):,} steps, median {median(lengths):,g}"
    found = {"series": f"{number} of {span}", "numbers": _names(file.names)}
    if file.known:
        found["inputs"] = _names(file.known)
    first = file.series[0]
    if file.step:
        season = f", seasonal period {file.period}" if file.period > 1 else ""
        found["step"] = f"{file.step}, from {first.times[0]} to {first.times[-1]}{season}"
    labels = sorted({one.label for one in file.series if one.label})
    if labels:
        found["labels"] = f"{len(labels)} different: {', '.join(labels[:9])}"
    return found


def series_findings(file: SeriesFile) -> list[Finding]:
    """All findings of a file of time series: what was guessed, and what is suspicious."""
    found = [Finding("note", "D230", sentence, []) for sentence in file.notes]
    found += _missing(file)
    constant = [one for one in file.series if _is_constant(one)]
    if constant:
        verb = "is" if len(constant) == 1 else "are"
        text = f"{_title(constant)} {verb} constant: there is nothing to forecast"
        found.append(Finding("warning", "D232", text, [one.line for one in constant]))
    short = [one for one in file.series if len(one) < MIN_SEASONS * file.period]
    if short and file.period > 1:
        verb = "has" if len(short) == 1 else "have"
        text = f"{_title(short)} {verb} fewer than {MIN_SEASONS} seasons of {file.period} steps"
        found.append(Finding("warning", "D233", text, [one.line for one in short]))
    return found


def _missing(file: SeriesFile) -> list[Finding]:
    missing = sum(int(np.isnan(one.values).sum()) for one in file.series)
    size = sum(one.values.size for one in file.series)
    if not missing:
        return []
    affected = [one for one in file.series if np.isnan(one.values).any()]
    longest = max(_longest_gap(one) for one in affected)
    text = (
        f"{missing:,} of {size:,} values are missing ({100 * missing / size:.2g} %), at most"
        f" {longest:,} in a row"
    )
    return [Finding("note", "D231", text, [one.line for one in affected])]


def _longest_gap(one: TimeSeries) -> int:
    """The longest run of missing values, in steps."""
    longest = 0
    for column in np.isnan(one.values).T:
        # Runs of True start and end where the padded column changes.
        edges = np.flatnonzero(np.diff(np.concatenate([[False], column, [False]])))
        longest = max(longest, int((edges[1::2] - edges[::2]).max(initial=0)))
    return longest


def _is_constant(one: TimeSeries) -> bool:
    columns = [column[~np.isnan(column)] for column in one.values.T]
    return any(len(values) > 1 and bool((values == values[0]).all()) for values in columns)


def _title(series: list[TimeSeries]) -> str:
    """The names of a few series."""
    if len(series) == 1:
        return f'the series "{series[0].name}"' if series[0].name else "a column"
    named = ", ".join(f'"{one.name}"' for one in series[:3])
    return f"{len(series):,} series ({named}{', …' if len(series) > 3 else ''})"  # noqa: PLR2004


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")  # noqa: PLR2004
