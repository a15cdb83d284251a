"""File formats of text data: TSV, CSV, JSON lines; an error for each bad row."""

import csv
import json
from pathlib import Path

import pytest

from seqloom.config import options
from seqloom.data.formats import Row, read_rows, read_sentences
from seqloom.data.options import Data
from seqloom.errors import SeqloomError

PAIR = ("source", "target")
LABELLED = ("text", "label")
TAGGED = ("word", "tag")


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def fields(path: Path, roles: tuple[str, ...], **settings) -> list[tuple[str, ...]]:
    return [row.fields for row in read_rows(path, roles, Data(**settings)).rows]


def refused(path: Path, roles: tuple[str, ...], **settings) -> SeqloomError:
    read = read_sentences if roles == TAGGED else read_rows
    with pytest.raises(SeqloomError) as caught:
        read(path, roles, Data(**settings))
    return caught.value


def test_every_option_is_explained():
    assert all(option.help.endswith(".") for option in options(Data))
    assert {option.name: option.default for option in options(Data)} == vars(Data())


def test_text_keeps_each_line_whole_and_counts_blank_ones(tmp_path):
    source = read_rows(written(tmp_path, "a, b\t\n\n c \n", "a.txt"), ("text",), Data())
    assert source.rows == [Row(1, ("a, b\t",)), Row(3, (" c ",))]
    assert (source.format, source.encoding, source.blank) == ("text", "UTF-8", [2])


# --- tab-separated


def test_pairs_by_position(tmp_path):
    source = read_rows(written(tmp_path, "a b\tx\r\n\r\nc\ty\r\n", "a.tsv"), PAIR, Data())
    assert source.rows == [Row(1, ("a b", "x")), Row(3, ("c", "y"))]
    assert (source.format, source.header, source.blank) == ("tsv", None, [2])


def test_a_header_of_pairs_has_the_names_of_the_roles(tmp_path):
    assert fields(written(tmp_path, "source\ttarget\na\tx\n", "a.tsv"), PAIR) == [("a", "x")]
    assert fields(written(tmp_path, "target\tsource\na\tx\n", "a.tsv"), PAIR) == [("x", "a")]
    assert len(fields(written(tmp_path, "english\tfrench\na\tx\n", "a.tsv"), PAIR)) == 2


def test_other_breaks_of_unicode_are_part_of_a_field(tmp_path):
    path = written(tmp_path, "a\u2028b\tx\x85y\n", "a.tsv")
    assert fields(path, PAIR) == [("a\u2028b", "x\x85y")]


def test_tabs_are_found_without_an_extension(tmp_path):
    assert fields(written(tmp_path, "\na\tx\n", "pairs"), PAIR) == [("a", "x")]


def test_further_fields_are_kept_when_asked_for(tmp_path):
    path = written(tmp_path, "a\tx\ty\tz\nb\tx\t\n", "a.tsv")
    rows = read_rows(path, PAIR, Data(), extra_fields=True).rows
    assert [row.fields for row in rows] == [("a", "x", "y", "z"), ("b", "x")]


def test_too_many_fields_are_marked_and_counted(tmp_path):
    lines = ["the cat\tle chat\tder Kater" if n in (3, 5, 6, 9) else "a\tb" for n in range(1, 10)]
    path = written(tmp_path, "\n".join(lines), "pairs.tsv")
    assert refused(path, PAIR).text() == "\n".join(
        [
            "error[D011]: row has 3 fields, expected 2",
            f"  --> {path}:3",
            "  3 | the cat⇥le chat⇥der Kater",
            "    |                 ^^^^^^^^^ third field",
            "  4 rows are like this (3, 5, 6, …).",
            "  help: --skip-bad   drop them",
            "  help: --columns 1,2   use only the first two",
        ]
    )
    assert len(fields(path, PAIR, columns="1,2")) == 9
    source = read_rows(path, PAIR, Data(skip_bad=True))
    assert len(source.rows) == 5
    assert source.bad[0] == (3, "D011: row has 3 fields, expected 2")
    assert [line for line, _ in source.bad] == [3, 5, 6, 9]


def test_too_few_fields_are_marked_at_the_end(tmp_path):
    error = refused(written(tmp_path, "a\tb\nalone\n", "a.tsv"), PAIR)
    assert (error.code, error.problem) == ("D011", "row has 1 field, expected 2")
    assert "    |      ^ expected a tab and the second field" in error.text()
    assert str(error.place).endswith("a.tsv:2")


def test_an_empty_side(tmp_path):
    error = refused(written(tmp_path, "a\tb\nc\t \n\tb\n", "a.tsv"), PAIR)
    assert (error.code, error.problem) == ("D014", 'the field "target" is empty')
    assert error.place.line == 2
    assert error.notes == ("2 rows are like this (2, 3).",)


def test_different_faults_are_counted_apart(tmp_path):
    error = refused(written(tmp_path, "a\tb\nc\t\nd\n", "a.tsv"), PAIR)
    assert error.code == "D014"
    assert error.notes == ("1 other bad row: D011 at line 3",)


def test_nothing_left_is_an_error_too(tmp_path):
    error = refused(written(tmp_path, "a\nb\n", "a.tsv"), PAIR, skip_bad=True)
    assert (error.code, error.problem) == (
        "D023",
        '"a.tsv" has no rows to use (2 bad lines left out)',
    )


# --- columns, as the user names them


def test_columns_by_number_and_by_name(tmp_path):
    path = written(tmp_path, "1\tgood\tfine film\n2\tbad\tawful\n", "a.tsv")
    assert fields(path, LABELLED, columns="3,2")[0] == ("fine film", "good")
    assert fields(path, LABELLED, columns="label=2,text=3")[1] == ("awful", "bad")
    table = written(tmp_path, "id,stars,review\n1,5,fine\n", "a.csv")
    assert fields(table, LABELLED, columns="text=review,label=stars") == [("fine", "5")]
    assert fields(table, LABELLED, columns="review,stars") == [("fine", "5")]


@pytest.mark.parametrize(
    "columns", ["1", "1,2,3", "text=a,b", "txt=a,label=b", "0,1", "text=,label=b"]
)
def test_columns_that_cannot_be_understood(tmp_path, columns):
    error = refused(written(tmp_path, "text,label\na,b\n", "a.csv"), LABELLED, columns=columns)
    assert (error.code, error.exit_code) == ("U010", 2)
    assert error.problem == f"columns = {columns!r}: expected a column for text and label"
    assert error.help[-1] == "--columns text=NAME,label=NAME   or   --columns 1,2"


# --- comma-separated


def test_quoted_fields_may_hold_commas_quotes_and_line_breaks(tmp_path):
    text = 'text,label\n"one, ""two""\r\nthree",good\n\n5" pipe,bad\n'
    source = read_rows(written(tmp_path, text, "a.csv"), LABELLED, Data())
    assert source.rows == [Row(2, ('one, "two"\nthree', "good")), Row(5, ('5" pipe', "bad"))]
    assert (source.header, source.blank, source.delimiter) == (["text", "label"], [4], ",")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path, delimiter):
    lines = [delimiter.join(row) for row in (["label", "text"], ["1", "a"], ["2", "b"])]
    source = read_rows(written(tmp_path, "\n".join(lines), "a.csv"), LABELLED, Data())
    assert source.delimiter == delimiter
    assert [row.fields for row in source.rows] == [("a", "1"), ("b", "2")]


def test_names_in_a_header_may_differ_by_case(tmp_path):
    assert fields(written(tmp_path, "Label, TEXT\n1,a\n", "a.csv"), LABELLED) == [("a", "1")]


def test_a_byte_order_mark_is_not_part_of_the_header(tmp_path):
    assert fields(written(tmp_path, "\ufefftext,label\na,1\n", "a.csv"), LABELLED) == [("a", "1")]


def test_the_label_is_guessed_when_only_one_column_repeats(tmp_path):
    rows = "".join(f"{'ham' if n % 2 else 'spam'},message {n},,\r\n" for n in range(8))
    source = read_rows(written(tmp_path, "v1,v2,,\r\n" + rows, "spam.csv"), LABELLED, Data())
    assert source.rows[1] == Row(3, ("message 1", "ham"))


def test_a_first_row_with_a_label_of_others_is_no_header(tmp_path):
    rows = [f"text {n},{'no' if n % 3 else 'yes'}" for n in range(9)]
    source = read_rows(written(tmp_path, "\n".join(rows), "a.csv"), LABELLED, Data())
    assert source.rows[0] == Row(1, ("text 0", "yes")) and len(source.rows) == 9
    assert source.header is None and "no header" in source.notes[0]
    rows[0] = "text 0,maybe"  # a label that is not seen again may be a name
    source = read_rows(written(tmp_path, "\n".join(rows), "a.csv"), LABELLED, Data())
    assert len(source.rows) == 8 and source.header == ["text 0", "maybe"]
    assert "read as a header: text 0, maybe (--columns 1,2 " in source.notes[0]
    assert len(fields(written(tmp_path, "\n".join(rows), "a.csv"), LABELLED, columns="1,2")) == 9
    named = read_rows(written(tmp_path, "text,label\na,b\n", "b.csv"), LABELLED, Data())
    assert named.notes == (), "nothing is guessed"


@pytest.mark.parametrize(("first", "is_header"), [
    ("review", True), ("my review", True), ("a cat sees a dog again", False), ("text", True),
])  # fmt: skip
def test_the_first_row_of_a_single_column(tmp_path, first, is_header):
    rows = [first] + [f"the dog number {n} sees a cat" for n in range(6)]
    source = read_rows(written(tmp_path, "\n".join(rows), "a.csv"), ("text",), Data())
    assert len(source.rows) == 7 - is_header and bool(source.notes) == (first != "text")


def test_a_table_without_a_header_is_told_to_be_read_by_number(tmp_path):
    path = written(tmp_path, "hello,bonjour\nyes,oui\nno,non\n", "a.csv")
    assert refused(path, PAIR).help[-1] == "--columns 1,2   by number, if it has no header"
    assert len(fields(path, PAIR, columns="1,2")) == 3


def test_a_header_of_tabs_that_names_one_role(tmp_path):
    rows = "".join(f"a sentence {n}\t{n % 2}\n" for n in range(6))
    source = read_rows(written(tmp_path, "sentence\tlabel\n" + rows, "a.tsv"), LABELLED, Data())
    assert len(source.rows) == 6 and source.header == ["sentence", "label"] and source.notes
    twice = "sentence\tlabel\n" + rows + "sentence\tlabel\n"  # such a label may be one
    assert len(fields(written(tmp_path, twice, "a.tsv"), LABELLED)) == 8


@pytest.mark.parametrize("header", ["", "text\tlabel\n", '"text"\t"label"\n'])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_quoted_fields_between_tabs_are_read_as_csv(tmp_path, header, quoting):
    rows = [(f'a "{n}", and so', n % 2 if quoting == csv.QUOTE_NONNUMERIC else "ab"[n % 2])
            for n in range(6)]  # fmt: skip
    path = tmp_path / "a.tsv"
    with path.open("w", newline="") as file:
        file.write(header)
        csv.writer(file, delimiter="\t", quoting=quoting).writerows(rows)
    source = read_rows(path, LABELLED, Data())
    assert [row.fields for row in source.rows] == [(text, str(label)) for text, label in rows]
    assert (source.format, source.delimiter) == ("csv", "\t") and "quotation" in source.notes[0]
    kept = read_rows(path, LABELLED, Data(format="tsv"))
    assert kept.rows[-1].fields[0].startswith('"') and kept.format == "tsv"
    spoken = '"Yes," she said.\tja\n"No," she said. "Go."\tnein\n'
    assert fields(written(tmp_path, spoken, "b.tsv"), PAIR)[1][0] == '"No," she said. "Go."'


def test_a_missing_column_lists_those_found(tmp_path):
    path = written(tmp_path, "text,sentiment,date\na,b,c\n", "reviews.csv")
    error = refused(path, LABELLED)
    assert (error.code, error.problem) == ("D010", '"reviews.csv" has no column "label"')
    assert error.notes == ("found: text, sentiment, date",)
    assert error.help == ("--columns text=text,label=…",)


def test_a_misspelt_column_gets_the_nearest(tmp_path):
    path = written(tmp_path, "review,stars\na,b\n", "reviews.csv")
    error = refused(path, LABELLED, columns="text=reviw,label=stars")
    assert error.problem == '"reviews.csv" has no column "reviw"'
    assert error.help == ("did you mean 'review'?", "--columns text=review,label=stars")


def test_a_row_that_does_not_fit_its_header(tmp_path):
    error = refused(written(tmp_path, "text,label\na,b\none, two,c\n", "a.csv"), LABELLED)
    assert (error.code, error.place.line) == ("D011", 3)
    assert error.help[1] == 'put "…" around a field that holds a comma'


def test_an_open_quotation_mark_does_not_swallow_the_file(tmp_path):
    path = written(tmp_path, 'text,label\n"open,b\nc,d\ne,f\n', "a.csv")
    error = refused(path, LABELLED)
    assert (error.code, error.place.line) == ("D015", 2)
    assert error.problem == "a quotation mark in this row is never closed"
    assert fields(path, LABELLED, skip_bad=True) == [("c", "d"), ("e", "f")]


def test_a_quotation_mark_in_the_wrong_place(tmp_path):
    error = refused(written(tmp_path, 'text,label\n"he "said"",b\n', "a.csv"), LABELLED)
    assert (error.code, error.problem) == ("D015", "the quotation marks in this row do not match")


def test_a_field_may_be_a_whole_book_and_the_limit_of_others_is_left_alone(tmp_path):
    limit = csv.field_size_limit()
    path = written(tmp_path, f'text,label\n"{"a" * 2 * limit}",b\n', "a.csv")
    assert len(fields(path, LABELLED)[0][0]) == 2 * limit
    assert csv.field_size_limit() == limit


def test_a_header_without_rows(tmp_path):
    assert refused(written(tmp_path, "text,label\n", "a.csv"), LABELLED).code == "D023"


# --- JSON lines


def test_objects_by_their_keys(tmp_path):
    lines = ['{"text": "fine\\nfilm", "label": true}', "", '{"label": 1.50, "text": "so", "x": []}']
    source = read_rows(written(tmp_path, "\n".join(lines), "a.jsonl"), LABELLED, Data())
    assert source.rows == [Row(1, ("fine\nfilm", "true")), Row(3, ("so", "1.50"))]
    assert (source.format, source.blank) == ("jsonl", [2])


def test_objects_are_found_without_an_extension(tmp_path):
    assert fields(written(tmp_path, '{"text": "a", "label": 1}', "data"), LABELLED) == [("a", "1")]


def test_a_line_that_is_not_json_is_marked(tmp_path):
    path = written(tmp_path, '{"text": "a", "label": 1}\n{"text": "a" "label"}\n', "a.jsonl")
    assert refused(path, LABELLED).text().split("\n")[:4] == [
        "error[D012]: this line is not JSON",
        f"  --> {path}:2",
        '  2 | {"text": "a" "label"}',
        "    |              ^ expecting ',' delimiter",
    ]


@pytest.mark.parametrize(("text", "what"), [
    ('[{"text": "a", "label": "x"},\n {"text": "b", "label": "y"}]', "array of 2 objects"),
    ('[\n1,\n2\n]\n', "array of 2 items"), ("[]", "array of 0 objects"),
    ('{\n  "text": "a"\n}', "object"),
])  # fmt: skip
def test_one_json_document_is_named_as_what_it_is(tmp_path, text, what):
    error = refused(written(tmp_path, text, "a.json"), LABELLED, skip_bad=True)
    assert error.code == "D017" and f"is one JSON {what}," in error.problem
    assert (error.notes == ()) == (not text.startswith(("[{", "{")))
    assert refused(written(tmp_path, text, "a.jsonl"), TAGGED).code == "D017"


@pytest.mark.parametrize("line", ["[1", '"text"', "5", "null", "NaN"])
def test_a_line_that_is_no_object(tmp_path, line):
    error = refused(written(tmp_path, line, "a.jsonl"), LABELLED)
    assert error.code == "D012" and error.problem.startswith("this line is not")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("[]", "D013"),
        ("{}", "D013"),
        ("null", "D014"),
        ('" "', "D014"),
        ('"\\u0000"', "D031"),
        ('"\\ud800"', "D031"),
        ("[" * 100_000, "D013"),
    ],
)
def test_values_that_are_not_text(tmp_path, value, code):
    path = written(tmp_path, f'{{"text": "a", "label": {value}}}', "a.jsonl")
    error = refused(path, LABELLED)
    assert (error.code, error.place.line) == (code, 1)


def test_numbers_of_any_length_stay_as_they_are_written(tmp_path):
    number = "9" * 10_000
    path = written(tmp_path, f'{{"text": {number}, "label": -1e999}}', "a.jsonl")
    assert fields(path, LABELLED) == [(number, "-1e999")]


def test_a_missing_key(tmp_path):
    path = written(tmp_path, json.dumps({"text": "a", "label": "b"}) + '\n{"text": "a"}', "a.jsonl")
    error = refused(path, LABELLED)
    assert (error.code, error.problem) == ("D010", 'the object has no key "label"')
    assert (error.place.line, error.place.note) == (2, "found: text")


def test_a_key_that_no_object_has(tmp_path):
    error = refused(written(tmp_path, '{"text": "a", "stars": 5}', "a.jsonl"), LABELLED)
    assert error.problem == '"a.jsonl" has no column "label"'
    assert error.help == ("--columns text=text,label=stars",)


# --- the wrong kind of file


def test_a_layout_that_cannot_be_told(tmp_path):
    error = refused(written(tmp_path, "\n0 some text\n", "a.txt"), LABELLED)
    assert error.code == "D002"
    assert error.problem.startswith('cannot guess the format of "a.txt": no tab between text and')
    assert "  2 | 0 some text" in error.text()


def test_columns_are_not_rows_nor_rows_columns(tmp_path):
    path = written(tmp_path, "a\tb\n", "a.conll")
    assert refused(path, LABELLED).code == "D002"
    assert refused(path, LABELLED, format="columns").code == "U010"
    able = ("choose from: csv, jsonl, label-first, trees, tsv",)
    assert refused(path, LABELLED, format="text").help == able
    assert refused(path, TAGGED, format="csv").help == ("choose from: columns, jsonl",)


def test_an_unknown_format_gets_the_nearest(tmp_path):
    settings = Data()
    object.__setattr__(settings, "format", "tvs")
    with pytest.raises(SeqloomError) as caught:
        read_rows(written(tmp_path, "a\tb\n", "a.tsv"), PAIR, settings)
    error = caught.value
    assert (error.code, error.help[0]) == ("U002", "did you mean 'tsv'?")
