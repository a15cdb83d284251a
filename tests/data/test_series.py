"""Files of time series: layouts, dates and frequencies, and an error for each bad file."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from seqloom.data.formats.series import read_series
from seqloom.data.options import Data
from seqloom.data.series.date_styles import DateParseError, read_dates
from seqloom.data.series.dates import infer_step, next_times
from seqloom.data.series.schema import parse_number
from seqloom.errors import SeqloomError

SETS = Path(os.environ.get("SEQLOOM_DATA", ""))
has_sets = pytest.mark.skipif(not os.environ.get("SEQLOOM_DATA"), reason="needs SEQLOOM_DATA")


def read(tmp_path, text, name="file.csv", **settings):
    path = tmp_path / name
    path.write_text(text)
    return read_series(path, Data(**settings))


def test_a_wide_file_is_one_series_of_all_its_numbers(tmp_path):
    found = read(tmp_path, "date,a,b\n2020-01-01,1,2\n2020-01-02,,4\n2020-01-03,5,NA\n")
    (one,) = found.series
    assert np.array_equal(one.values, [[1, 2], [np.nan, 4], [5, np.nan]], equal_nan=True)
    assert one.times == ("2020-01-01", "2020-01-02", "2020-01-03")
    assert (found.names, found.step, found.period) == (("a", "b"), "day", 7)
    assert '"date" is read as the time' in found.notes


def test_columns_are_chosen_by_the_user(tmp_path):
    text = "when,x,y,price,size\n1,3,4,9,5\n2,6,7,8,5\n"
    found = read(tmp_path, text, columns="time=when,value=y+x,known=price,static=size")
    assert found.names == ("y", "x") and found.known == ("price", "size")
    assert found.series[0].values.tolist() == [[4, 3], [7, 6]]
    assert found.series[0].known.tolist() == [[9, 5], [8, 5]]
    assert found.series[0].times == ("1", "2")


def test_a_long_file_is_a_series_for_each_id(tmp_path):
    text = "unique_id,ds,y,extra\na,2020-01,1,0\nb,2020-01,5,0\na,2020-02,2,0\nb,2020-02,6,0\n"
    found = read(tmp_path, text)
    assert [one.name for one in found.series] == ["a", "b"]
    assert [one.values[:, 0].tolist() for one in found.series] == [[1, 2], [5, 6]]
    assert found.step == "month" and found.names == ("y",)
    assert any(note.startswith("not used: extra") for note in found.notes)
    assert found.series[1].line == 3


def test_rows_are_series_of_their_own_length(tmp_path):
    found = read(tmp_path, '"V1","V2","V3","V4"\n"H1","1","2","3"\n"H2","4","5"\n"H3","6",,\n')
    assert [one.name for one in found.series] == ["H1", "H2", "H3"]
    assert [one.values[:, 0].tolist() for one in found.series] == [[1, 2, 3], [4, 5], [6]]
    one, two = read(tmp_path, "a,1,2,x\nb,3,4,y\n", columns="id=1,label=4").series
    assert (one.label, two.label, two.values.tolist()) == ("x", "y", [[3], [4]])


@pytest.mark.parametrize("text", ["1\n2\n3\n", "value\n1\n2\n3\n"])
def test_a_single_column_of_numbers(tmp_path, text):
    (one,) = read(tmp_path, text, "numbers.txt").series
    assert one.values.tolist() == [[1], [2], [3]] and one.times == ("1", "2", "3")


def test_numbers_with_blanks_between_them_and_decimal_commas(tmp_path):
    assert read(tmp_path, "1 2\n3 4\n", "a.txt").series[0].values.tolist() == [[1, 2], [3, 4]]
    found = read(tmp_path, "Datum;x\n01.02.2020;1,5\n02.02.2020;2\n", columns="time=Datum")
    assert found.series[0].values.tolist() == [[1.5], [2]] and found.step == "day"


def test_json_lines(tmp_path):
    ours = {"name": "a", "start": "2020-01", "step": "month", "values": [1, None], "label": "x"}
    theirs = {"item_id": "b", "start": "2020-03", "freq": "MS", "target": [3.0, "NaN", 5]}
    found = read(tmp_path, f"{json.dumps(ours)}\n{json.dumps(theirs)}\n", "s.jsonl")
    assert [one.name for one in found.series] == ["a", "b"]
    assert found.series[0].times == ("2020-01", "2020-02") and found.step == "month"
    assert found.series[1].times == ("2020-03", "2020-04", "2020-05")
    assert np.isnan(found.series[1].values[1, 0]) and found.series[0].label == "x"


@pytest.mark.parametrize(("freq", "then"), [("ME", "2023-03-31"), ("M", "2023-03-31"),
                                            ("MS", "2023-03-28"), ("month", "2023-03-28")])  # fmt: skip
def test_ends_of_months_in_json_lines(tmp_path, freq, then):
    line = {"start": "2023-02-28", "freq": freq, "target": [1, 2]}
    assert read(tmp_path, json.dumps(line), "s.jsonl").series[0].times == ("2023-02-28", then)


def test_inputs_of_json_lines_may_go_on_where_the_numbers_end(tmp_path):
    nested = {"values": [[1, 2], [3, 4]], "known": {"p": [7, 8, 9]}, "static": {"size": 5}}
    (one,) = read(tmp_path, json.dumps(nested), "s.jsonl").series
    assert one.values[:2].tolist() == [[1, 2], [3, 4]] and np.isnan(one.values[2]).all()
    assert one.known.tolist() == [[7, 5], [8, 5], [9, 5]]
    gluon = {"target": [[1, 3], [2, 4]], "feat_dynamic_real": [[7, 8]], "feat_static_real": [5]}
    (other,) = read(tmp_path, json.dumps(gluon), "s.jsonl").series
    assert other.values.tolist() == [[1, 2], [3, 4]] and other.known.tolist() == [[7, 5], [8, 5]]


def test_ts_files(tmp_path):
    text = "#about\n@problemName x\n@classLabel true a b\n@data\n1,2,?:3,4,5:a\n6:7:b\n"
    one, two = read(tmp_path, text, "x.ts").series
    assert np.array_equal(one.values, [[1, 3], [2, 4], [np.nan, 5]], equal_nan=True)
    assert (one.label, two.label, two.values.tolist(), two.line) == ("a", "b", [[6, 7]], 6)


def test_packed_files_are_unpacked(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"date,a\n2020-01-01,1\n2020-01-02,2\n"))
    assert read_series(path, Data()).series[0].values.tolist() == [[1], [2]]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(SeqloomError, match="D031.*damaged"):
        read_series(path, Data())


def test_gaps_are_filled_and_told(tmp_path):
    text = "date,a,p\n2020-01-30,1,7\n2020-01-31,2,8\n2020-02-03,3,9\n"
    found = read(tmp_path, text, columns="value=a,known=p")
    (one,) = found.series
    assert one.times[2:4] == ("2020-02-01", "2020-02-02") and len(one) == 5
    assert np.isnan(one.values[2:4]).all() and one.known[:, 0].tolist() == [7, 8, 8, 8, 9]
    assert any("2 steps are not in the file, 2020-02-01 first" in note for note in found.notes)


def test_the_newest_row_may_come_first(tmp_path):
    found = read(tmp_path, "date,a\n2020-03,3\n2020-02,2\n2020-01,1\n")
    assert found.series[0].values[:, 0].tolist() == [1, 2, 3]
    assert found.series[0].times[0] == "2020-01" and "rows were reversed" in " ".join(found.notes)


def test_labels_of_steps(tmp_path):
    (one,) = read(tmp_path, "t,x,state\n1,5,on\n2,6,off\n", columns="label=state").series
    assert one.labels == ("on", "off") and one.label == ""


@pytest.mark.parametrize(
    ("texts", "step", "period", "then"),
    [
        (["2020-01-01 22:00", "2020-01-01 23:00"], "hour", 24, "2020-01-02 00:00"),
        (["2020-01-01T00:00:00", "2020-01-01T00:30:00"], "30 minutes", 48, "2020-01-01T01:00:00"),
        (["2020-02-28", "2020-02-29"], "day", 7, "2020-03-01"),
        (["2020-02-03", "2020-02-10"], "week", 52, "2020-02-17"),
        (["2020-11", "2020-12"], "month", 12, "2021-01"),
        (["2020-02-29", "2020-03-31"], "month", 12, "2020-04-30"),
        (["Jan 2020", "Feb 2020"], "month", 12, "Mar 2020"),
        (["2019Q3", "2019Q4"], "quarter", 4, "2020Q1"),
        (["2019", "2020"], "year", 1, "2021"),
        (["25/12/2019", "26/12/2019"], "day", 7, "27/12/2019"),
        (["12/25/2019", "12/26/2019"], "day", 7, "12/27/2019"),
        (["2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z"], "hour", 24, "2020-01-01T02:00:00Z"),
    ],
)
def test_dates_and_their_steps(texts, step, period, then):
    found = infer_step([read_dates(texts).values])
    assert (found.name, found.period) == (step, period)
    assert next_times(texts, 1) == [then]


def test_days_without_weekends_are_weekdays():
    dates = [f"2020-06-{day:02}" for day in range(1, 31) if day % 7 not in (6, 0)]
    assert infer_step([read_dates(dates).values]).name == "weekday"
    assert next_times(dates, 4) == ["2020-07-01", "2020-07-02", "2020-07-03", "2020-07-06"]


def test_steps_without_dates_go_on_by_number():
    assert next_times(["1", "2", "3"], 2) == ["4", "5"]
    assert next_times(["1-01", "1-02"], 2) == ["3", "4"]
    assert next_times([], 2) == ["1", "2"]


def test_dates_that_could_be_two():
    with pytest.raises(DateParseError, match="which number is the day"):
        read_dates(["03/04/2019", "04/04/2019"])
    assert read_dates(["03/04/2019", "13/04/2019"]).style.name == "%d/%m/%Y"


def test_missing_numbers():
    assert all(np.isnan(parse_number(text)) for text in ("", " ", "NA", "nan", "null", "N/A", "?"))
    assert (
        parse_number("1_000") is None and parse_number("x") is None and parse_number("1e3") == 1000
    )


HEAD = "date,a\n2020-01-01,1\n2020-01-02,2\n"
BAD = {
    "order": ("D204", "2020-01-01 comes after 2020-01-04", HEAD + "2020-01-04,3\n2020-01-01,5\n"),
    "twice": ("D205", "2020-01-02 occurs twice: first on line 3", HEAD + "2020-01-02,3\n"),
    "uneven": ("D206", "2020-01-03 12:00 is", "date,a\n" + "".join(
        f"2020-01-0{day} {hour},1\n"
        for day, hour in ((1, "00:00"), (2, "00:00"), (3, "00:00"), (3, "12:00"))
    )),
    "far": ("D206", "would be needed", HEAD + "2060-01-01,3\n"),
    "no date": ("D207", '"soon" in "date"', HEAD + "soon,3\n"),
    "two dates": ("D207", "which the month", "date,a\n01/02/2020,1\n02/02/2020,2\n"),
    "text": ("D202", '"many" in the column "a" is not a number', HEAD + "2020-01-03,many\n"),
    "infinite": ("D203", "inf", HEAD + "2020-01-03,inf\n"),
    "all missing": ("D213", "all values are missing", "date,a\n2020-01-01,\n2020-01-02,NA\n"),
    "one missing": ("D213", 'all of "b"', "date,a,b\n2020-01-01,1,\n2020-01-02,2,\n"),
    "ragged": ("D210", "3 fields, expected 2", HEAD + "2020-01-03,3,4\n"),
    "no numbers": ("D201", "no column of numbers", "date,a\n2020-01-01,x\n2020-01-02,y\n"),
    "header": ("D023", "no rows", "date,a\n"),
    "empty": ("D021", "empty", ""),
    "names": ("D214", 'two series with the name "H1"', "V1,V2,V3\nH1,1,2\nH2,1,2\nH1,3,4\n"),
}  # fmt: skip
LINES = {"order": 5, "twice": 4, "uneven": 5, "no date": 4, "text": 4, "infinite": 4, "ragged": 4}


@pytest.mark.parametrize("name", BAD)
def test_a_sentence_for_every_bad_table(tmp_path, name):
    code, words, text = BAD[name]
    settings = {"format": "rows"} if name == "names" else {}
    if name == "one missing":
        settings = {"columns": "value=a+b"}
    with pytest.raises(SeqloomError) as caught:
        read(tmp_path, text, **settings)
    assert caught.value.code == code and words in caught.value.problem
    assert caught.value.place.line == LINES.get(name, caught.value.place.line)
    if name not in ("header", "empty"):
        assert caught.value.help


@pytest.mark.parametrize(
    ("code", "columns"),
    [("D010", "value=x"), ("U301", "time=date+a"), ("D209", "value=a,known=p"),
     ("D215", "value=a,static=q"), ("U010", "when=date")],
)  # fmt: skip
def test_columns_that_cannot_be(tmp_path, code, columns):
    text = "date,a,p,q\n2020-01-01,1,2,3\n2020-01-02,1,,4\n"
    with pytest.raises(SeqloomError, match=code):
        read(tmp_path, text, columns=columns)


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("D211", "a.ts", "1,2:a\n"),
        ("D211", "a.ts", "@classLabel true a\n"),
        ("D023", "a.ts", "@classLabel true a\n@data\n"),
        ("D202", "a.ts", "@data\n1,x\n"),
        ("D203", "a.ts", "@data\n1,inf\n"),
        ("D211", "a.ts", "@data\n1,2:3,4\n1,2\n"),
        ("D211", "a.ts", "@timeStamps true\n@data\n(1,2)\n"),
        ("D212", "a.jsonl", '{"name": "a"}\n'),
        ("D212", "a.jsonl", '{"values": []}\n'),
        ("D212", "a.jsonl", '{"values": [[1, 2], [3]]}\n'),
        ("D202", "a.jsonl", '{"values": [1, "x"]}\n'),
        ("D203", "a.jsonl", '{"values": [1, Infinity]}\n'),
        ("D209", "a.jsonl", '{"values": [1, 2], "known": [1]}\n'),
        ("D212", "a.jsonl", '{"values": [1], "known": [1]}\n{"values": [1]}\n'),
        ("D212", "a.jsonl", '{"values": [1], "start": "2020", "step": "moon"}\n'),
        ("D012", "a.jsonl", '{"values": [1}\n'),
    ],
)
def test_a_sentence_for_every_bad_line(tmp_path, code, name, text):
    with pytest.raises(SeqloomError) as caught:
        read(tmp_path, text, name)
    assert caught.value.code == code and (caught.value.help or code == "D023")


def test_bad_cells_can_be_read_as_missing(tmp_path):
    found = read(tmp_path, HEAD + "2020-01-03,many\n2020-01-04,5,6\n", skip_bad=True)
    assert np.isnan(found.series[0].values[2, 0]) and len(found.series[0]) == 3


def test_a_table_of_nothing(tmp_path):
    with pytest.raises(SeqloomError, match="D023"):
        read(tmp_path, ",\n")


@has_sets
def test_public_files_are_read_as_their_publishers_lay_them_out():
    minimum = read_series(SETS / "series/daily-min-temperatures.csv", Data())
    assert len(minimum.series[0]) == 3652 and np.isnan(minimum.series[0].values).sum() == 2
    shampoo = read_series(SETS / "series/shampoo.csv", Data())
    assert shampoo.series[0].times[:2] == ("1-01", "1-02") and shampoo.step == ""
    rates = read_series(SETS / "exchange-rate/exchange_rate.txt.gz", Data())
    assert rates.series[0].values.shape == (7588, 8)
    vowels = read_series(SETS / "japanese-vowels/JapaneseVowels_TEST.ts", Data())
    assert len(vowels.series) == 370 and {one.label for one in vowels.series} == set("123456789")
