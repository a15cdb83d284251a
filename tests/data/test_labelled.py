"""Labelled texts: fastText lines, treebanks, folders, several labels, concatenated columns."""

from pathlib import Path

import pytest

from seqloom.data.formats import FieldRules, guess_format, read_rows
from seqloom.data.formats.base import LIST_SEPARATOR
from seqloom.data.options import Data
from seqloom.errors import DataError, SeqloomError

ROLES = ("text", "label")


def written(folder: Path, content: str | bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(path, rules=None, **settings):
    found = read_rows(path, ROLES, Data(**settings), rules=rules or FieldRules())
    return [row.fields for row in found.rows]


def lines(first="{}", count=8):
    """Texts that differ, after labels that do not."""
    return "".join(first.format(n % 2) + f" text number {n}\n" for n in range(count))


@pytest.mark.parametrize("first, labels", [
    ("{}", ["0", "1"]), ("class{}\t", ["class0", "class1"]), ("two words {}\t", ["two words 0", "two words 1"]),
    ("__label__{}", ["0", "1"]),
])  # fmt: skip
def test_the_label_comes_first(tmp_path, first, labels):
    path = written(tmp_path, lines(first))
    found = read_rows(path, ROLES, Data())
    assert found.format == "label-first"
    assert [row.fields for row in found.rows][:2] == [
        ("text number 0", labels[0]),
        ("text number 1", labels[1]),
    ]


def test_a_text_before_its_label_is_not_taken_for_one(tmp_path):
    path = written(tmp_path, "".join(f"text {n}\t{n % 2}\n" for n in range(8)))
    assert read_rows(path, ROLES, Data()).format == "tsv"
    assert rows(path)[1] == ("text 1", "1")


def test_odd_bytes_neither_end_lines_nor_part_labels(tmp_path):
    """The byte 0x85 of Latin-1 is a line end to `str.splitlines` and a blank to `str.split`."""
    content = "".join(f"{n % 2} \x85 caf\xe9 \x85 {n} \r\n" for n in range(8)).encode("latin-1")
    path = written(tmp_path, content)
    found = rows(path, encoding="latin-1")
    assert len(found) == 8 and found[3] == ("caf\xe9 \x85 3", "1")
    with pytest.raises(DataError, match="D030"):
        rows(path)


def test_lines_without_a_text_or_a_label(tmp_path):
    path = written(tmp_path, lines() + "1\n")
    with pytest.raises(DataError, match=r"D145.*no text"):
        rows(path)
    assert len(rows(path, skip_bad=True)) == 8
    path = written(tmp_path, lines("__label__{}") + "no mark here\n")
    with pytest.raises(DataError, match=r"D145.*no label"):
        rows(path)


def test_several_marks_are_a_list(tmp_path):
    path = written(tmp_path, "__label__a __label__b one two\n__label__a three\nfour\n")
    found = rows(path, FieldRules(may_be_empty=frozenset({"label"})))
    assert found == [("one two", f"a{LIST_SEPARATOR}b"), ("three", "a"), ("four", "")]


def test_a_list_of_labels_in_json(tmp_path):
    path = written(
        tmp_path,
        '{"text": "x", "label": ["a", "b"]}\n{"text": "y", "label": []}\n{"text": "z"}\n',
        "f.jsonl",
    )
    rules = FieldRules(may_be_empty=frozenset({"label"}), may_be_list=frozenset({"label"}))
    assert rows(path, rules) == [("x", f"a{LIST_SEPARATOR}b"), ("y", ""), ("z", "")]
    with pytest.raises(DataError, match="D013"):
        rows(path)


def test_trees_are_texts_with_the_label_of_the_root(tmp_path):
    tree = "(3 (2 It) (4 (2 's) (3 (2 -LRB-) (1 and\\/or))))"
    path = written(tmp_path, f"{tree}\n(0 (1 Bad) (2 .))\n")
    assert read_rows(path, ROLES, Data()).format == "trees"
    assert rows(path) == [("It 's ( and/or", "3"), ("Bad .", "0")]
    with pytest.raises(DataError, match="D146"):
        rows(written(tmp_path, f"{tree}\n(0 (1 Bad) (2 .)\n"))


def test_a_folder_for_each_label(tmp_path):
    for name, text in (("pos/1.txt", "good\nvery\n"), ("pos/2.txt", "fine"), ("neg/1.txt", "bad")):
        written(tmp_path / "set", text, name)
    written(tmp_path / "set", "x", "unsup/1.txt")
    written(tmp_path / "set", "x", ".hidden/1.txt")
    assert rows(tmp_path / "set") == [("bad", "neg"), ("good\nvery", "pos"), ("fine", "pos")]
    written(tmp_path / "set", " \n", "pos/3.txt")
    with pytest.raises(DataError, match="D014") as caught:
        rows(tmp_path / "set")
    assert caught.value.place.file.endswith("pos/3.txt")


def test_a_file_for_each_label(tmp_path):
    written(tmp_path / "names", "Abl\nAdsit\n\n", "Czech.txt")
    written(tmp_path / "names", "Bai\n", "Chinese.txt")
    assert rows(tmp_path / "names") == [("Bai", "Chinese"), ("Abl", "Czech"), ("Adsit", "Czech")]


def test_folders_without_texts_and_with_parts(tmp_path):
    (tmp_path / "empty" / "pos").mkdir(parents=True)
    with pytest.raises(DataError, match="D143"):
        rows(tmp_path / "empty")
    written(tmp_path / "imdb", "x", "train/pos/1.txt")
    written(tmp_path / "imdb", "x", "test/pos/1.txt")
    with pytest.raises(DataError, match="D144"):
        rows(tmp_path / "imdb")
    with pytest.raises(DataError, match="D001"):
        read_rows(tmp_path / "imdb", ("text",), Data())


COLUMNS = {
    "f.csv": "title,body,stars\nA,long one,good\n,only body,bad\nC,,good\n",
    "f.tsv": "title\tbody\tstars\nA\tlong one\tgood\n\tonly body\tbad\nC\t\tgood\n",
    "f.jsonl": '{"title": "A", "body": "long one", "stars": "good"}\n'
    '{"title": "", "body": "only body", "stars": "bad"}\n{"title": "C", "stars": "good"}\n',
}


@pytest.mark.parametrize("name", COLUMNS)
def test_several_columns_are_one_text(tmp_path, name):
    path = written(tmp_path, COLUMNS[name], name)
    rules = FieldRules(separator=" | ")
    found = rows(path, rules, columns="text=title+body,label=stars")
    assert found == [("A | long one", "good"), (" | only body", "bad"), ("C | ", "good")]
    with pytest.raises(SeqloomError, match="D010") as caught:
        rows(path, rules, columns="text=title+boddy,label=stars")
    assert "title+boddy" in caught.value.help[0]
    nothing = written(tmp_path, COLUMNS[name].replace("only body", " "), name)
    with pytest.raises(DataError, match="D014"):
        rows(nothing, rules, columns="text=title+body,label=stars")


def test_several_columns_by_number(tmp_path):
    path = written(tmp_path, "good,A,long one\nbad,B,short\n", "f.csv")
    assert rows(path, columns="2+3,1") == [("A long one", "good"), ("B short", "bad")]


def test_formats_of_labels_are_for_texts_and_labels_alone(tmp_path):
    path = written(tmp_path, lines())
    with pytest.raises(SeqloomError, match="U010"):
        read_rows(path, ("source", "target"), Data(format="label-first"))
    with pytest.raises(DataError, match="D002"):
        guess_format(path, lines().splitlines(), ("source", "target"))
