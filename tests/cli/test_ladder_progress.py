"""Progress of a ladder: progress bar on a terminal, log lines elsewhere."""

import io
import sys
from contextlib import closing
from pathlib import Path

import pytest

from seqloom.cli import progress_ladder
from seqloom.cli.progress_ladder import (
    LiveLadderProgress,
    LogLadderProgress,
    QuietLadderProgress,
    progress_for,
)
from seqloom.experiments.queue import QueueProgress
from seqloom.experiments.results import RunResult
from seqloom.metrics import MetricValue


def moment(rung="lstm", **facts):
    return QueueProgress(rung, 2, 3, 0.42, **facts)


def done(name, value):
    measured = {"bits_per_character": MetricValue(value, value - 0.1, value + 0.1)}
    return moment(name, result=RunResult(name, Path(name), measured, {}, 9, 1.5, 2, 1, 1, 1, 1, []))


def test_a_log_has_a_line_for_each_rung_and_one_a_minute(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_ladder.time, "monotonic", lambda: now[0])
    report = LogLadderProgress("ladder-1")
    report.update(moment(value=2.5))
    assert capsys.readouterr().err == ""
    now[0] = 61.0
    report.update(moment(value=2.5))
    report.update(moment(value=2.4))
    report.update(done("lstm", 2.25))
    beat, end = capsys.readouterr().err.splitlines()
    assert beat.endswith("ladder-1 rung=lstm 2/3 progress=0.42 valid=2.5")
    assert end.endswith("ladder-1 rung=lstm 2/3 bits_per_character=2.25 seconds=1.5")


def test_the_best_so_far_is_remembered(capsys):
    report = QuietLadderProgress("ladder-1")
    assert report.so_far() == ""
    for name, value in (("unigram", 4.0), ("5-gram", 2.0), ("lstm", 2.5)):
        report.update(done(name, value))
    assert report.so_far() == "best 5-gram 2"
    assert capsys.readouterr().err == ""
    report.update(moment(problem="error[T130]: the loss became nan"))
    assert "lstm: error[T130]" in capsys.readouterr().err


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_of_the_whole(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with closing(progress_for("ladder-1")) as report:
        assert isinstance(report, LiveLadderProgress)
        report.update(done("5-gram", 2.0))
        report.update(moment(value=2.5))
        report.announce("Stopping")
    shown = screen.getvalue()
    assert "✔ 5-gram" in shown and "2/3 lstm" in shown and "42 %" in shown
    assert "valid 2.5" in shown and "best 5-gram 2" in shown and "Stopping" in shown


@pytest.mark.parametrize("quiet, kind", [(True, QuietLadderProgress), (False, LogLadderProgress)])
def test_elsewhere_it_is_quiet_or_a_log(quiet, kind):
    assert isinstance(progress_for("x", quiet=quiet), kind)
