"""Terminal output: numbers, tables, marks, colours."""

import io
import math
import sys

import pytest

from seqloom.cli.main import main
from seqloom.cli.terminal import (
    clock,
    count,
    display_width,
    duration,
    is_interactive,
    mark,
    plural,
    printable,
    say,
    show,
    sparkline,
    styled,
    table,
    visible,
    wants_colour,
)
from seqloom.recipe import Recipe
from seqloom.runs.train import train
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


def test_what_is_to_be_copied_is_not_cut():
    rows = [["a-name-of-thirty-letters-or-more", "another-long-text-beside-it"]]
    assert table(rows, "Ll", room=42)[0].startswith("a-name-of-thirty-letters-or-more  ")
    assert len(table(rows, "Ll", room=44)[0]) <= 44


def test_table_with_a_missing_cell_and_colour():
    assert table([[styled("x", "31"), "b"], ["yy"]]) == [f"{styled('x', '31')}   b", "yy"]
    assert table([["\033[31mx\rz", "b"]]) == ["␛[31mx␍z  b"], "escapes of the input are shown"


def test_columns():
    assert [display_width(text) for text in ("abc", "漢", "e\u0301", styled("x", "31"))] == [
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
    assert printable(mark("good", terminal), terminal) == "\033[32m✔\033[0m"
    terminal.encoding = "latin-1"
    assert printable(mark("bad", terminal), terminal) == "\033[31mx\033[0m"
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


STEERING = "".join(map(chr, {*range(32), *range(127, 160)} - {9, 10}))


def test_only_own_escapes_reach_a_terminal(terminal, monkeypatch):
    shown = printable(f"{STEERING}\t\n{styled('red', '31')}", terminal)
    assert [c for c in shown if c < " "] == ["\t", "\n", "\033", "\033"]
    assert shown.endswith("\t\n\033[31mred\033[0m") and not {"\x7f", "\x9b"} & {*shown}
    file = io.StringIO()
    assert printable(STEERING, file) == STEERING, "a file gets results as they are"
    monkeypatch.setattr("sys.stdout", file)
    show(STEERING)
    assert file.getvalue() == f"{STEERING}\n"
    monkeypatch.setattr("sys.stderr", log := io.StringIO())
    say(STEERING)
    assert not {*STEERING} & {*log.getvalue()}, "messages are for people"


ESCAPE = "\033[2J\x9b31m"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", ESCAPE],
        ["check", ESCAPE],
        ["check", "a.csv"],
        ["check", "a.csv", "--json"],
        ["check", "a.txt", "--columns", ESCAPE],
        ["import", ESCAPE],
        ["train", ESCAPE],
        ["train", "language", ESCAPE],
        ["train", "language", "a.txt", "--set", ESCAPE],
        ["train", "classify", "a.csv", "--columns", f"text={ESCAPE},label=label"],
        ["ladder", ESCAPE],
        ["runs", "--runs-dir", ESCAPE],
        ["tasks", ESCAPE],
        [ESCAPE],
        ["studio", "--host", ESCAPE],
        ["generate", "counts", "--prompt", f"the {ESCAPE}", "--length", "3"],
        ["score", "counts", f"the {ESCAPE} cat"],
        ["predict", "counts", f"the {ESCAPE} cat"],
        ["evaluate", "counts", "a.txt"],
        ["inspect", "counts", "--text", f"the {ESCAPE}"],
        ["attribute", "counts", "--text", f"the {ESCAPE}"],
    ],
)
def test_no_command_lets_its_input_steer_the_terminal(arguments, escaping, monkeypatch, capsys):
    monkeypatch.chdir(escaping)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("CI", "1")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    main(arguments)
    told = "".join(capsys.readouterr())
    assert told.strip() and "bug" not in told
    assert not {*STEERING} & {*told}, repr(told)


@pytest.fixture(scope="module")
def escaping(tmp_path_factory):
    """Files and a run whose texts have escapes."""
    folder = tmp_path_factory.mktemp("escaping")
    lines = [f"the {ESCAPE} cat {n}" for n in range(40)]
    (folder / "a.txt").write_text("\n".join(lines))
    rows = [f"{line},{ESCAPE if n % 2 else 'b'}" for n, line in enumerate(lines)]
    (folder / "a.csv").write_text("\n".join(["text,label", *rows]))
    recipe = Recipe(data={"train": str(folder / "a.txt")}, task={"name": "language"})
    train(recipe.with_model("ngram"), name="counts", runs=folder / "runs")
    return folder


def test_a_closed_stderr_is_forgiven(monkeypatch):
    stream = Terminal()
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    say("nobody hears this")
    assert not is_interactive(stream)
