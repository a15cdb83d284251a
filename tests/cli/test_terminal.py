"""Terminal output: numbers, tables, marks, colours."""

import io
import math

import pytest

from seqloom.cli.terminal import (
    clock,
    count,
    display_width,
    duration,
    is_interactive,
    mark,
    plural,
    say,
    sparkline,
    table,
    visible,
    wants_colour,
)
from seqloom.views.draw.sparkline import downsample
from seqloom.views.draw.sparkline import sparkline as one_scale


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return not super().isatty()


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (3.14, "3.1 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (124, "2 min 4 s"),
        (3900, "1 h 5 min"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_clock():
    assert [clock(s) for s in (13, 724, 3729, -1)] == ["0:13", "12:04", "1:02:09", "0:00"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (950, "950"),
        (19_130, "19.1 k"),
        (999_700, "1 M"),
        (1_204_000, "1.2 M"),
        (135_000, "135 k"),
        (2e9, "2 G"),
    ],
)
def test_count(number, text):
    assert count(number) == text


def test_several():
    assert [plural(1, "step"), plural(2000, "step")] == ["1 step", "2,000 steps"]


def test_table_is_aligned():
    assert table([["run", "n"], ["漢字", "10"], ["e\u0301", "7"]], "lr") == [
        "run    n",
        "漢字  10",
        "e\u0301      7",
    ]


def test_table_gives_way_to_a_narrow_terminal():
    lines = table([["a long name that takes much room", "12.5 %"]], "lr", room=24)
    assert lines == ["a long name tha…  12.5 %"]
    assert table([], "l") == []


def test_table_with_a_missing_cell_and_colour():
    assert table([["\033[31mx\033[0m", "b"], ["yy"]]) == ["\033[31mx\033[0m   b", "yy"]


def test_columns():
    assert [display_width(text) for text in ("abc", "漢", "e\u0301", "\033[31mx\033[0m")] == [
        3,
        2,
        1,
        1,
    ]


def test_sparkline():
    stream = Terminal()
    assert sparkline([1, 2, 3], stream) == "▁▅█"
    assert sparkline([2, 2], stream) == "▁▁"
    assert sparkline([], stream) == ""
    assert sparkline([1, math.nan, 3, math.inf], stream) == "▁ █ "
    assert sparkline([math.nan] * 2, stream) == "  "
    stream.encoding = "ascii"
    assert sparkline([0, 1], stream) == "_#"


def test_sparklines_on_one_scale():
    assert one_scale([0, 7, 99], low=0, high=7) == "▁██"
    assert one_scale([3, -1], low=0, high=7, ascii=True) == "=_"
    assert downsample([1, 3, math.nan, math.nan, 5, 6], 3)[0] == 2
    assert math.isnan(downsample([1, 3, math.nan, math.nan, 5, 6], 3)[1])
    assert downsample([1, 2], 3) == [1, 2]


def test_marks_in_colour(terminal):
    assert mark("good", terminal) == "\033[32m✔\033[0m"
    terminal.encoding = "latin-1"
    assert mark("bad", terminal) == "\033[31mx\033[0m"
    assert mark("good", io.StringIO()) == "+"


@pytest.mark.parametrize(
    ("name", "value", "live"),
    [("NO_COLOR", "1", True), ("CI", "1", False), ("TERM", "dumb", False)],
)
def test_colour_is_only_for_those_who_want_it(name, value, live, terminal, monkeypatch):
    assert wants_colour(terminal)
    monkeypatch.setenv(name, value)
    assert not wants_colour(terminal)
    assert is_interactive(terminal) is live
    assert not is_interactive(io.StringIO())


def test_visible():
    assert visible("a\033[2Jb\n") == "a·[2Jb·"


def test_a_closed_stderr_is_forgiven(monkeypatch):
    stream = Terminal()
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    say("nobody hears this")
    assert not is_interactive(stream)
