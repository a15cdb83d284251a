"""What is to be said of a file of series: its step, its length, gaps and what never changes."""

from statistics import median

import numpy as np

from ..formats.base import count
from ..series.schema import Recorded, Recording
from .text import Finding

SHORT = 2  # seasons: with fewer nothing can be seen to come again


def facts(recording: Recording) -> dict[str, str]:
    """A file of series in a few lines."""
    lengths = [len(one) for one in recording.series]
    several = f"{count(len(lengths), 'series')}".replace("seriess", "series")
    span = f"{lengths[0]:,} steps"
    if len(set(lengths)) > 1:
        span = f"{min(lengths):,} to {max(lengths):,} steps, median {median(lengths):,g}"
    found = {"series": f"{several} of {span}", "numbers": _names(recording.names)}
    if recording.known:
        found["inputs"] = _names(recording.known)
    first = recording.series[0]
    if recording.step:
        season = f", a season has {recording.period}" if recording.period > 1 else ""
        found["step"] = f"{recording.step}, from {first.times[0]} to {first.times[-1]}{season}"
    labels = sorted({one.label for one in recording.series if one.label})
    if labels:
        found["labels"] = f"{len(labels)} different: {', '.join(labels[:9])}"
    return found


def series_findings(recording: Recording) -> list[Finding]:
    """All that is suspicious, or was guessed."""
    found = [Finding("note", "D230", sentence, []) for sentence in recording.said]
    found += _missing(recording)
    flat = [one for one in recording.series if _is_constant(one)]
    if flat:
        are = "never changes" if len(flat) == 1 else "never change"
        say = f"{_called(flat)} {are}: there is nothing to forecast"
        found.append(Finding("warning", "D232", say, [one.line for one in flat]))
    short = [one for one in recording.series if len(one) < SHORT * recording.period]
    if short and recording.period > 1:
        have = "has" if len(short) == 1 else "have"
        say = f"{_called(short)} {have} less than {SHORT} seasons of {recording.period} steps"
        found.append(Finding("warning", "D233", say, [one.line for one in short]))
    return found


def _missing(recording: Recording) -> list[Finding]:
    gone = sum(int(np.isnan(one.values).sum()) for one in recording.series)
    size = sum(one.values.size for one in recording.series)
    if not gone:
        return []
    where = [one for one in recording.series if np.isnan(one.values).any()]
    longest = max(_longest_gap(one) for one in where)
    say = (
        f"{gone:,} of {size:,} values are missing ({100 * gone / size:.2g} %), at most"
        f" {longest:,} in a row"
    )
    return [Finding("note", "D231", say, [one.line for one in where])]


def _longest_gap(one: Recorded) -> int:
    """The most steps in a row at which a number is missing."""
    longest = 0
    for column in np.isnan(one.values).T:
        edges = np.flatnonzero(np.diff(np.concatenate([[False], column, [False]])))
        longest = max(longest, int((edges[1::2] - edges[::2]).max(initial=0)))
    return longest


def _is_constant(one: Recorded) -> bool:
    columns = [column[~np.isnan(column)] for column in one.values.T]
    return any(len(seen) > 1 and bool((seen == seen[0]).all()) for seen in columns)


def _called(series: list[Recorded]) -> str:
    """The names of a few series."""
    if len(series) == 1:
        return f'the series "{series[0].name}"' if series[0].name else "a column"
    named = ", ".join(f'"{one.name}"' for one in series[:3])
    return f"{len(series):,} series ({named}{', …' if len(series) > 3 else ''})"  # noqa: PLR2004


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")  # noqa: PLR2004
