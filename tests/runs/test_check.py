"""What `seqloom check` finds and prints."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.cli.commands.check import add_arguments, run
from seqloom.data.checks.text import Finding
from seqloom.data.options import Data
from seqloom.errors import UsageError
from seqloom.runs.check import CheckReport, check


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def looked(folder: Path, text: str, name: str, task: str | None = None, **settings) -> CheckReport:
    return check(written(folder, text, name), task, Data(**settings), {})


def found(report: CheckReport, code: str) -> Finding:
    return next(finding for finding in report.findings if finding.code == code)


def command(*words: object) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([str(word) for word in words]))


REVIEWS = "text,label\n" + "".join(
    f"film number {n} was {'fine' if n % 2 else 'poor'},{'good' if n % 2 else 'bad'}\n"
    for n in range(12)
)


@pytest.mark.parametrize(
    ("name", "text", "task", "why"),
    [
        ("a.csv", REVIEWS, "classify", '2 columns; "label" has 2 values'),
        ("a.txt", REVIEWS, "classify", '2 columns; "label" has 2 values'),
        ("a.csv", "source,target\na,1\nb,1\n", "translate", '2 columns; "target" has 1 value'),
        ("a.tsv", "a\t1\nb\t2\nc\t1\nd\t2\n", "classify", "2 columns; the second has 2 values"),
        (
            "a.txt",
            "go\tva\nrun\tcours\nstop\thalte\n",
            "translate",
            '2 columns; "target" has 3 values',
        ),
        ("a.conll", "a X\n", "tag", "one word a line, a blank line between sentences"),
        (
            "a.txt",
            "a X\nb Y\n\nc X\nd Y\n",
            "tag",
            "one word a line, a blank line between sentences",
        ),
        ("a.txt", "Some words.\n\nMore of them,\nwith a\ttab.\n", "language", "plain text"),
        ("a.jsonl", '{"text": "a"}\n', "language", "one column of text"),
        ("a.jsonl", '{"text": "a", "label": 1}\n', "classify", '2 columns; "label" has 1 value'),
    ],
)
def test_the_task_is_guessed_with_its_reason(tmp_path, name, text, task, why):
    report = looked(tmp_path, text, name)
    assert (report.task, report.why) == (task, why)
    assert report.next.partition(" --set")[0] == f"seqloom train {task} {report.path}"


def test_counts_of_a_table(tmp_path):
    report = looked(tmp_path, REVIEWS, "reviews.csv")
    assert report.counts == {"rows": 12, "blank": 0, "bad": 0}
    assert report.labels == {"bad": 6, "good": 6}
    part = report.parts[0]
    assert (part.role, part.unit, part.median, part.longest) == ("text", "words", 5, 5)
    assert (part.longest_line, part.kinds, part.total) == (2, 17, 60)
    assert report.findings == [] and not report.has_problems
    assert report.passed == ["no empty rows", "one label per row", "no row twice"]


def test_spellings_are_counted_by_characters_and_sounds_by_words(tmp_path):
    report = looked(tmp_path, "CAT\tK AE T\nDOGS\tD AO G Z\n", "words.tsv", "translate")
    assert [(part.unit, part.longest) for part in report.parts] == [("characters", 4), ("words", 4)]
    assert report.next.endswith("words.tsv --set task.source_tokens=characters")


def test_the_unit_can_be_given(tmp_path):
    path = written(tmp_path, "some words\n", "a.txt")
    assert check(path, None, Data(), {"tokens": "words"}).parts[0].longest == 2


def test_bad_rows_are_a_problem_and_the_others_are_counted(tmp_path):
    report = looked(tmp_path, "a\tb\nc\td\te\nf\tg\nh\ti\tj\n", "pairs.tsv", "translate")
    problem = found(report, "D011")
    assert (problem.level, problem.lines) == ("problem", [2, 4])
    assert problem.text.startswith("row has 3 fields, expected 2\n  --> ")
    assert report.counts == {"rows": 2, "blank": 0, "bad": 2}
    assert report.has_problems
    assert report.next == f"seqloom check {report.path} --skip-bad"


def test_bad_rows_that_may_be_skipped_are_a_warning(tmp_path):
    report = looked(tmp_path, "a\tb\nc\nf\tg\n", "pairs.tsv", "translate", skip_bad=True)
    assert found(report, "D024").text == "1 line left out that cannot be read (2)"
    assert not report.has_problems and "--skip-bad" in report.next


@pytest.mark.parametrize(("text", "code"), [("", "D021"), ("\n\n", "D022"), ("a\0b", "D031")])
def test_a_file_that_cannot_be_read_is_a_problem(tmp_path, text, code):
    report = looked(tmp_path, text, "a.txt")
    assert [(finding.level, finding.code) for finding in report.findings] == [("problem", code)]
    assert (report.counts, report.next) == ({}, "")


def test_a_missing_file_and_a_missing_column_are_problems(tmp_path):
    assert found(check(tmp_path / "none.csv", None, Data(), {}), "D001").level == "problem"
    report = looked(tmp_path, "a,b,c\n1,2,3\n", "a.csv")
    assert found(report, "D010").text.startswith('"a.csv" has no column "text"')


def test_a_wrong_encoding_gives_the_command_that_reads_it(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes("le café est fermé\n".encode("latin-1"))
    report = check(path, None, Data(), {})
    assert 'It reads well as Windows-1252: "le café est fermé"' in found(report, "D030").text
    assert report.next == f"seqloom check {path} --encoding cp1252"
    again = check(path, None, Data(encoding="cp1252"), {})
    assert (again.encoding, again.next) == (
        "Windows-1252",
        f"seqloom train language {path} --encoding cp1252",
    )


@pytest.mark.parametrize(
    ("text", "code", "lines", "sentence"),
    [
        ("a,x\n\nb,y\n", "D020", [3], "1 blank line skipped (first: 3)"),
        ("a,x\nb,y\na,x\n", "D070", [4], "1 row repeats an earlier one (line 4)"),
        ("a,x\nb,y\na,y\n", "D071", [2, 4], "1 text with different labels (lines 2, 4)"),
        ("a,x\nb,X\nc,y\n", "D072", [2, 3], "labels that differ only by case or space: 'X', 'x'"),
        ("a,x\nb,y\n", "D073", [2], '"x" has only 1 row: expect poor recall (line 2)'),
        ("a,x \nb,y\n", "D076", [2], "1 line ends with a space or a tab (line 2)"),
        ("a\x07,x\nb\x85,y\n", "D077", [2, 3], "2 lines hold control characters: U+0007, U+0085"),
        ("a " * 5 + ",x\nb,y\n", "D041", [2], "1 row is longer than 4 words (data.max_length)"),
    ],
)
def test_what_is_suspicious_in_a_table(tmp_path, text, code, lines, sentence):
    report = looked(tmp_path, "text,label\n" + text, "a.csv", "classify", max_length=4)
    finding = found(report, code)
    assert (finding.level, finding.lines) == ("warning", lines)
    assert finding.text.startswith(sentence)
    assert not report.has_problems


def test_what_is_suspicious_in_plain_text(tmp_path):
    text = "\ufeffsome words\nx\n" + "y" * 500 + "\nsome words\nother words\n"
    report = looked(tmp_path, text, "a.txt")
    assert [(finding.level, finding.code, finding.lines) for finding in report.findings] == [
        ("note", "D032", [1]),
        ("warning", "D040", [2]),
        ("warning", "D075", [3]),
    ]


def test_very_many_symbols_that_occur_once(tmp_path):
    words = " ".join(f"word{number}" for number in range(200))
    report = looked(tmp_path, words, "a.conll", "classify", format="tsv", columns="1,1")
    assert found(report, "D078").text.startswith("100 % of the 200 different words in text occur")


def test_several_targets_are_right_answers_in_translation(tmp_path):
    finding = found(looked(tmp_path, "a b\tx\na b\ty\n", "a.tsv", "translate"), "D071")
    assert (finding.level, finding.lines) == ("note", [1, 2])


def test_an_unknown_task_gets_the_nearest(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'classify'"):
        check(tmp_path / "a", "clasify", Data(), {})


def test_the_printed_report(tmp_path, capsys):
    path = written(tmp_path, REVIEWS + "\nnice,mixed\n", "reviews.csv")
    assert command(path) == 0
    assert capsys.readouterr().out.split("\n") == [
        "reviews.csv   13 rows · 1 blank · UTF-8 · comma · header: text,label",
        'task          classify  (2 columns; "label" has 3 values)   change with --task',
        "text          median 5 words, longest 5 (line 2), 18 different words",
        "test part     1 of 13 rows: too few to tell two models apart"
        " (--set data.test_fraction=-1 takes 3)",
        "label         bad 6 · good 6 · mixed 1",
        "✔ one label per row          ✔ no row twice",
        "⚠ 1 blank line skipped (first: 14)   [D020]",
        '⚠ "mixed" has only 1 row: expect poor recall (line 15)   [D073]',
        f"Next: seqloom train classify {path}",
        "",
    ]


def test_the_exit_code_is_three_while_a_problem_stands(tmp_path, capsys):
    path = written(tmp_path, "a\tb\nc\n", "pairs.tsv")
    assert command(path, "--task", "translate") == 3
    assert "✘ row has 1 field, expected 2   [D011]" in capsys.readouterr().out
    assert command(path, "--task", "translate", "--skip-bad") == 0


def test_the_report_as_json(tmp_path, capsys):
    assert command(written(tmp_path, REVIEWS, "reviews.csv"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["task"], told["counts"]["rows"], told["findings"]) == ("classify", 12, [])


def test_characters_that_steer_a_terminal_are_not_printed(tmp_path, capsys):
    command(written(tmp_path, "text,label\na,\x1b[31mred\n", "a.csv"))
    assert "\x1b" not in capsys.readouterr().out


def test_checking_does_not_import_torch():
    program = "import sys, seqloom.cli.commands.check; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_checking_loads_no_runs(tmp_path):
    """`check` is quick: what loads and runs models is not imported."""
    program = "import sys; from seqloom.cli.main import main; code = main(['check', sys.argv[1]]); "
    program += "sys.exit(code or 99 * bool({'torch', 'seqloom.runs.run'} & set(sys.modules)))"
    path = written(tmp_path, REVIEWS, "reviews.csv")
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True)
    assert done.returncode == 0, done.stderr


DAYS = "day,x,y\n" + "".join(f"2020-01-{i:02},{i},7\n" for i in range(1, 29) if i != 5)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.csv", DAYS, 'dates in "day", and numbers'),
        ("a.csv", "Month,Sales\n1-01,5\n1-02,6\n", '"Month", and numbers'),
        ("a.txt", "".join(f"{i}\n" for i in range(9)), "columns of numbers"),
        ("a.csv", "V1,V2\n" + "H1" + ",1" * 9 + "\nH2" + ",2" * 9 + "\n", "one series a row"),
        ("a.jsonl", '{"name": "a", "values": [1, null, 3]}\n', "lists of numbers"),
        ("a.ts", "@data\n1,2,3\n", "a .ts file"),
    ],
)
def test_series_are_told_from_texts(tmp_path, name, text, why):
    report = looked(tmp_path, text, name)
    assert (report.task, report.why) == ("forecast", why) and not report.has_problems
    assert report.next.startswith("seqloom train forecast")


@pytest.mark.parametrize("text", ["text,label\n3,1\n4,0\n" * 9, "day,label\nmonday,1\nfriday,0\n"])
def test_numbers_with_labels_are_no_series(tmp_path, text):
    assert looked(tmp_path, text, "a.csv").task != "forecast"


def test_what_is_said_of_series(tmp_path, capsys):
    report = looked(tmp_path, DAYS, "a.csv")
    assert report.facts["step"] == "day, from 2020-01-01 to 2020-01-28, seasonal period 7"
    assert report.facts["series"] == "1 series of 28 steps"
    assert "2 of 56 values are missing" in found(report, "D231").text
    assert "is constant" in found(report, "D232").text
    assert command(tmp_path / "a.csv") == 0
    assert "1 series of 28 steps" in capsys.readouterr().out
    few = looked(tmp_path, "month,x\n2020-01,1\n2020-02,2\n", "b.csv")
    assert "fewer than 2 seasons of 12 steps" in found(few, "D233").text
    bad = looked(tmp_path, DAYS + "2020-01-03,1,2\n", "c.csv", columns="value=x")
    assert bad.has_problems and found(bad, "D204").lines == [29]
