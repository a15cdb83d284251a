"""Rows as a model will see them: symbols, what is unknown, labels, and how long rows are."""

import json

import pytest

from seqloom.cli.main import main
from seqloom.data.options import Data
from seqloom.runs.check import check
from seqloom.runs.preview import MOST_SYMBOLS, preview_rows

from ..conftest import write_data


def texts(found, role):
    return [[one["text"] for one in row["symbols"][role]] for row in found.rows]


def unknown(found, role):
    return [[one["text"] for one in row["symbols"][role] if not one["known"]] for row in found.rows]


def test_words_that_are_rare_will_be_unknown(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text("text,label\nGood good film,yes\nbad film,no\ngood axolotl,yes\n")
    found = preview_rows(file, "classify", Data(), {})
    assert texts(found, "text") == [["good", "good", "film"], ["bad", "film"], ["good", "axolotl"]]
    assert unknown(found, "text") == [[], ["bad"], ["axolotl"]]
    assert [(row["line"], row["label"]) for row in found.rows] == [
        (2, "yes"),
        (3, "no"),
        (4, "yes"),
    ]
    assert [(one["title"], one["n"]) for one in found.lengths["text"]] == [("2", 2), ("3", 1)]
    assert unknown(preview_rows(file, "classify", Data(), {"min_frequency": 1}), "text") == [
        [],
        [],
        [],
    ]


def test_both_sides_of_pairs_in_the_symbols_of_the_report(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("cat\tK AE T\ndog\tD AO G\n")
    found = preview_rows(file, "translate", Data(), {})
    assert texts(found, "source") == [["c", "a", "t"], ["d", "o", "g"]]
    assert texts(found, "target") == [["K", "AE", "T"], ["D", "AO", "G"]]
    report = check(file, "translate", Data(), {})
    assert [part.unit for part in report.parts] == ["characters", "words"]
    assert [part.longest for part in report.parts] == [3, 3]


def test_tags_stand_beside_their_words(tmp_path):
    file = tmp_path / "tags.conll"
    file.write_text("the D\ncat N\n\nthe D\ndog N\n\n")
    found = preview_rows(file, "tag", Data(), {}, most=1)
    assert texts(found, "word") == [["the", "cat"]] and unknown(found, "word") == [["cat"]]
    assert found.rows[0]["label"] == ["D", "N"]
    assert sum(one["n"] for one in found.lengths["word"]) == 2, "all rows, not only those shown"


def test_long_rows_are_cut(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("x" * 1000 + "\nshort\n")
    found = preview_rows(file, "language", Data(), {})
    assert len(found.rows[0]["symbols"]["text"]) == MOST_SYMBOLS
    assert found.rows[0]["more"] == {"text": 1000 - MOST_SYMBOLS} and found.rows[1]["more"] == {}


def test_numbers_that_are_missing_are_not_known(tmp_path):
    file = tmp_path / "flow.csv"
    file.write_text(
        "date,flow\n" + "".join(f"2020-01-{d:02},{'' if d == 3 else d}\n" for d in range(1, 29))
    )
    (row,) = preview_rows(file, "forecast", Data(), {}).rows
    assert [one["known"] for one in row["symbols"]["value"]].count(False) == 1
    assert row["symbols"]["value"][0] == {"text": "1", "known": True}


def test_series_with_labels_are_checked(tmp_path):
    file = tmp_path / "series.jsonl"
    lines = [{"values": [1, 2, n], "label": "ab"[n % 2]} for n in range(6)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = check(file, "series-classify", Data(), {})
    assert not report.has_problems and report.labels == {"a": 3, "b": 3}
    found = preview_rows(file, "series-classify", Data(), {})
    assert found.rows[5]["label"] == "b" and texts(found, "value")[5] == ["1", "2", "5"]
    file.write_text('{"values": [1, 2, 3]}\n')
    assert check(file, "series-classify", Data(), {}).has_problems


@pytest.mark.parametrize(
    "task, name",
    [
        ("language", "text.txt"),
        ("tag", "tags.conll"),
        ("classify", "labels.csv"),
        ("translate", "pairs.tsv"),
        ("music", "pieces.json"),
    ],
)
def test_lengths_agree_with_the_report(tmp_path, capsys, task, name):
    file = write_data(tmp_path) / name
    assert main(["check", str(file), "--task", task, "--json", "--rows", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 3
    number = next(iter(found["counts"].values()))
    for part in found["parts"]:
        assert sum(one["n"] for one in found["lengths"][part["role"]]) == number
    assert main(["check", str(file), "--task", task, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert "rows" not in plain and plain == {k: v for k, v in found.items() if k in plain}


def test_of_a_file_that_cannot_be_read_there_are_none(tmp_path, capsys):
    file = tmp_path / "empty.txt"
    file.write_text("")
    assert main(["check", str(file), "--json", "--rows", "3"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == [] and found["findings"]
