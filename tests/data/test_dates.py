"""Dates of files: exact against Python's datetime, written as they were read, across clock changes."""

import calendar
import random
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from seqloom.data.formats.series import read_series
from seqloom.data.options import Data
from seqloom.data.series.calendar import cyclic_features
from seqloom.data.series.date_styles import DateParseError, are_compact_dates, read_dates
from seqloom.data.series.dates import continued_times, continues, infer_step, next_times
from seqloom.data.series.windows import concatenate, follows
from seqloom.errors import DataError

DAYS = [  # of strftime, which is the oracle
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"),
    *("%m-%d-%Y", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%m/%y", "%d %B %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d%b%Y", "%Y-%b-%d"),
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M:%S.%f", " %I:%M %p", " %I:%M:%S%p"]
MONTHS = ["%Y-%m", "%Y/%m", "%Y%m", "%b %Y", "%b-%Y", "%B %Y", "%b-%y", "%Y %b", "%m/%Y"]
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def drawn(count, seed, first=1970, last=2060):
    """Dates at random, of which one tells days from months."""
    chance = random.Random(seed)
    start, end = datetime(first, 1, 1), datetime(last, 1, 1)
    span = (end - start) // timedelta(seconds=1)
    made = [start + timedelta(seconds=chance.randrange(span)) for _ in range(count)]
    return [datetime(2001, 12, 31, 23, 59, 58), *made]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("day", DAYS)
def test_dates_are_those_of_datetime_and_written_as_they_were(day, clock):
    texts = [one.strftime(day + clock) for one in drawn(40, seed=len(day + clock))]
    found = read_dates(texts)
    assert found.values == [datetime.strptime(text, day + clock) for text in texts]
    assert [found.write(one) for one in found.values] == texts


@pytest.mark.parametrize("style", MONTHS)
def test_months_are_those_of_datetime(style):
    texts = [one.strftime(style) for one in drawn(60, seed=1)]
    found = read_dates(texts)
    assert found.values == [datetime.strptime(text, style) for text in texts]
    assert [found.write(one) for one in found.values] == texts


@pytest.mark.parametrize("style", ["%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%Y%m%dT%H%M%S"])
def test_digits_alone(style):
    texts = [one.strftime(style) for one in drawn(60, seed=2)]
    found = read_dates(texts)
    assert found.values == [datetime.strptime(text, style) for text in texts]
    assert [found.write(one) for one in found.values] == texts
    assert are_compact_dates(texts) == ("T" not in style)


@pytest.mark.parametrize("write", [
    lambda d: f"{d.year}-{d.month}-{d.day}",
    lambda d: f"{d.day}.{d.month}.{d.year} {d.hour}:{d.minute:02}",
    lambda d: f"{d.month}/{d.day}/{d.year} {d.hour % 12 or 12}:{d.minute:02} {d:%p}",
    lambda d: f"{d.day} {d:%b}. {d.year}".replace(".", ""),
    lambda d: f"{d:%d%b%Y}".upper(),
    lambda d: f"{d:%d %b %Y} {d.hour % 12 or 12}:{d.minute:02} {'ap'[d.hour > 11]}.m.",
])  # fmt: skip
def test_dates_without_zeros_and_in_other_letters(write):
    dates = [one.replace(second=0) for one in drawn(60, seed=3)]
    texts = [write(one) for one in dates]
    found = read_dates(texts)
    has_clock = ":" in texts[0]
    assert found.values == [d if has_clock else d.replace(hour=0, minute=0) for d in dates]
    assert [found.write(one) for one in found.values] == texts


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_dates_as_numpy_prints_them(unit):
    dates = drawn(30, seed=4)
    texts = [str(np.datetime64(one, unit)) for one in dates]
    expected = [datetime.fromisoformat(str(np.datetime64(text, "us"))) for text in texts]
    if unit == "h":  # 2001-12-31T23
        texts = [text + ":00" for text in texts]
    found = read_dates(texts)
    assert found.values == expected and [found.write(one) for one in expected] == texts


def test_zones_are_those_of_datetime():
    chance = random.Random(5)
    for style in ("{}+{:02}:{:02}", "{} -{:02}{:02}"):
        sign = 1 if "+" in style else -1
        texts, instants = [], []
        for one in drawn(30, seed=5):
            hours, minutes = chance.randrange(13), chance.choice([0, 30])
            zone = timezone(sign * timedelta(hours=hours, minutes=minutes))
            texts.append(style.format(one.isoformat(" "), hours, minutes))
            instants.append(one.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None))
        found = read_dates(texts)
        assert found.utc == instants and found.local == drawn(30, seed=5)
    with pytest.raises(DateParseError, match="no time zone, and the first date has one") as caught:
        read_dates(["2020-01-01T00:00Z", "2020-01-01T01:00Z", "2020-01-01T02:00"])
    assert caught.value.index == 2


def test_years_weeks_and_quarters():
    days = [date(2019, 12, 30) + timedelta(weeks=n) for n in range(80)]
    for style in ("{}-W{:02}", "{}W{:02}", "{} W{:02}", "{}-W{:02}-1"):
        texts = [style.format(*day.isocalendar()[:2]) for day in days]
        found = read_dates(texts)
        assert [one.date() for one in found.values] == days
        assert infer_step([found.values]).name == "week" and next_times(texts[:-1], 1) == texts[-1:]
    assert next_times(["Q3 2019", "Q4 2019"], 1) == ["Q1 2020"]
    assert next_times(["1999", "2000"], 1) == ["2001"]


def test_two_digits_of_a_year_are_read_as_posix_says():
    texts = [f"31-Dec-{year:02}" for year in range(100)]
    assert read_dates(texts).values == [datetime.strptime(text, "%d-%b-%y") for text in texts]


@pytest.mark.parametrize("text", [
    *("2023-13-01", "2023-02-29", "20231301", "20230229", "2023-01-01 25:00", "2023-01-01 10:60"),
    *("2023-01-01 13:00 PM", "2023-01-01 0:30 AM", "31-Foo-23", "2023-W54", "2023Q5", "soon", ""),
    *("2023-01-01 24:01", "99990101", "2023-1-1-1", "1-01", "2023-01-01T", "00:00", "1,5"),
])  # fmt: skip
def test_what_is_no_date(text):
    with pytest.raises(DateParseError, match="it is not a date") as caught:
        read_dates([text])
    assert caught.value.index == 0
    with pytest.raises(DateParseError) as caught:
        read_dates(["2023-01-01", "2023-01-02", text, "2023-01-03"])
    assert caught.value.index == 2


def test_the_end_of_a_day_is_the_next_midnight():
    found = read_dates(["31.12.2023 23:00", "31.12.2023 24:00"])
    assert found.values == [datetime(2023, 12, 31, 23), datetime(2024, 1, 1)]


def test_midnights_without_a_clock():
    hours = [datetime(2023, 1, 1) + timedelta(hours=n) for n in range(60)]
    texts = [str(one).removesuffix(" 00:00:00") for one in hours]
    assert texts[0] == "2023-01-01" and read_dates(texts).values == hours
    assert next_times(texts, 13)[-2:] == ["2023-01-03 23:00:00", "2023-01-04 00:00:00"]


def test_whole_numbers_that_are_no_dates():
    assert not are_compact_dates([]) and not are_compact_dates(["20230101", "20230132"])
    assert not are_compact_dates(["1672531200", "1672534800"]), "seconds since 1970"
    assert not are_compact_dates(["2023", "2024"]) and are_compact_dates(["202312", "202401"])


# ---------------------------------------------------------------- steps


@pytest.mark.parametrize("day", range(1, 32))
def test_months_on_any_day_go_on_as_the_calendar_clips_them(day):
    months = [(year, month) for year in (2022, 2023, 2024) for month in range(1, 13)]
    texts = [
        date(year, month, min(day, calendar.monthrange(year, month)[1])).isoformat()
        for year, month in months
    ]
    for start in range(12):  # with a February, which may be clipped, and without
        assert infer_step([read_dates(texts[start : start + 4]).values]).name == "month"
        assert next_times(texts[start : start + 12], 12) == texts[start + 12 : start + 24]


def test_weekdays_keep_their_time_of_day():
    days = [datetime(2020, 6, 1, 16) + timedelta(days=n) for n in range(30)]
    texts = [str(day) for day in days if day.weekday() < 5]
    assert next_times(texts[:-3], 3) == texts[-3:]


@pytest.mark.parametrize("write", [
    lambda d: f"{d.year}-{d.month}-{d.day}",
    lambda d: f"{d.year}{d.month:02}{d.day:02}",
    lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    lambda d: f"{d:%d-%b-%y}",
    lambda d: f"{d.isoformat()}T00:00:00.000000000",
])  # fmt: skip
def test_a_file_goes_on_in_whatever_style(write):
    days = [date(2023, 1, 1) + timedelta(days=n) for n in range(90)]
    iso, texts = [day.isoformat() for day in days], [write(day) for day in days]
    for first, then in ((texts[:40], texts[40:]), (iso[:40], texts[40:]), (texts[:40], iso[40:])):
        assert continues(first, then)
        assert not continues(first, then[1:]) and not continues(first, first[-1:] + then)
        again = (*first, *continued_times(first, then))
        assert [one.date() for one in read_dates(again).values] == days
    assert continued_times(texts[:40], texts[40:]) == tuple(texts[40:])


def test_steps_without_dates_go_on_by_number():
    assert continues(["1", "2", "3"], ["4", "5"]) and not continues(["1", "2", "3"], ["5"])
    assert not continues([], ["1"]) and not continues(["1"], [])
    assert not continues(["2023-01-01", "2023-01-02"], ["3"])


def test_a_zone_goes_on_in_another_offset():
    hours = [datetime(2023, 10, 28, tzinfo=UTC) + timedelta(hours=n) for n in range(72)]
    local = [one.astimezone(BERLIN).isoformat() for one in hours]
    as_utc = [one.strftime("%Y-%m-%dT%H:%M:%SZ") for one in hours]
    for first in (local, as_utc):
        for then in (local, as_utc):
            for cut in (20, 23, 24, 25, 50):
                assert continues(first[:cut], then[cut:])
                assert not continues(first[:cut], then[cut + 1 :])


# ---------------------------------------------------------------- clock changes


def days_of(zone, count, *, hour=0):
    start = datetime(2023, 1, 1, hour)
    return [(start + timedelta(days=n)).replace(tzinfo=zone) for n in range(count)]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
@pytest.mark.parametrize("as_utc", [False, True])
def test_local_days_are_days_across_a_clock_change(zone, as_utc):
    days = days_of(zone, 400)
    dates = [day.astimezone(UTC) if as_utc else day for day in days]
    texts = [one.isoformat().replace("+00:00", "Z") for one in dates]
    found = read_dates(texts)
    assert found.values == [day.replace(tzinfo=None) for day in days]
    assert infer_step([found.values]).name == "day"
    assert continues(texts[:70], texts[70:]) and continues(texts[:200], texts[200:])
    more = next_times(texts, 3)  # in winter time, as the last row
    assert more == [
        (days[-1].replace(tzinfo=None) + timedelta(days=n)).replace(tzinfo=zone)
        .astimezone(UTC if as_utc else zone).isoformat().replace("+00:00", "Z")
        for n in (1, 2, 3)
    ]  # fmt: skip
    assert read_dates([*texts, *more]).values[-3:] == [
        days[-1].replace(tzinfo=None) + timedelta(days=n) for n in (1, 2, 3)
    ]


@pytest.mark.parametrize("as_utc", [False, True])
def test_local_months_are_months_across_a_clock_change(as_utc):
    months = [datetime(y, m, 1, tzinfo=BERLIN) for y in (2022, 2023) for m in range(1, 13)]
    texts = [(one.astimezone(UTC) if as_utc else one).isoformat(" ") for one in months]
    assert infer_step([read_dates(texts).values]).name == "month"
    both = [*texts, *next_times(texts, 1)]
    assert read_dates(both).values[-1] == datetime(2024, 1, 1)


@pytest.mark.parametrize("month", [3, 11])
@pytest.mark.parametrize(("zone", "minutes"), [(BERLIN, 60), (NEW_YORK, 15)])
def test_hours_that_pass_are_equal_across_a_clock_change(zone, minutes, month):
    start = datetime(2023, month, 1, tzinfo=UTC) - timedelta(days=5)
    instants = [start + timedelta(minutes=minutes * n) for n in range(32 * 1440 // minutes)]
    local = [one.astimezone(zone) for one in instants]
    found = read_dates([one.isoformat() for one in local])
    assert found.values == [one.replace(tzinfo=None) for one in instants]
    assert found.local == [one.replace(tzinfo=None) for one in local], "for the calendar"
    assert next_times([one.isoformat() for one in local[:-2]], 2) == [
        one.isoformat() for one in local[-2:]
    ]


def read_rows(tmp_path, texts):
    path = tmp_path / "rows.csv"
    path.write_text("date,y\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)))
    return read_series(path, Data())


@pytest.mark.parametrize(
    ("zone", "minutes", "days", "reverse"),
    [
        (BERLIN, 60, 400, False),  # two autumns, and a spring between them
        (NEW_YORK, 60, 400, True),
        (BERLIN, 15, 30, True),
        (NEW_YORK, 30, 30, False),
    ],
)
def test_the_repeated_hour_of_autumn_is_two_hours(tmp_path, zone, minutes, days, reverse):
    start = datetime(2022, 10, 15, tzinfo=UTC)
    instants = [start + timedelta(minutes=minutes * n) for n in range(days * 1440 // minutes)]
    texts = [one.astimezone(zone).strftime("%Y-%m-%d %H:%M") for one in instants]
    assert len(texts) - len(set(texts)) == (2 if days > 365 else 1) * 60 // minutes
    numbers = range(len(texts))
    found = read_rows(tmp_path, texts[::-1] if reverse else texts)
    values = found.series[0].values[:, 0]
    assert values.tolist() == list(numbers[::-1] if reverse else numbers)
    assert found.series[0].times == tuple(texts)
    assert any("an hour repeats" in note for note in found.notes)
    hours = np.array([one.astimezone(zone).hour for one in instants]) + np.array(
        [one.minute / 60 for one in instants]
    )
    sine = cyclic_features(found.series[0], ["hour"])[:, 0]
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * hours / 24), atol=1e-12)


def test_a_step_missing_beside_a_repeated_hour(tmp_path):
    instants = [datetime(2023, 10, 28, tzinfo=UTC) + timedelta(hours=n) for n in range(60)]
    texts = [one.astimezone(BERLIN).strftime("%Y-%m-%d %H:%M") for one in instants]
    gone = [20, 27]  # before the change, and after it
    found = read_rows(tmp_path, [text for n, text in enumerate(texts) if n not in gone])
    assert found.series[0].times == tuple(texts)
    assert np.flatnonzero(np.isnan(found.series[0].values)).tolist() == gone


@pytest.mark.parametrize(("texts", "words"), [
    (["2023-06-07 01:00", "2023-06-07 02:00", "2023-06-07 02:00"], "keep one"),  # no change of clocks
    (["2023-10-29 01:00", "2023-10-29 02:00", "2023-10-29 02:00", "2023-10-29 02:00"], "the zone"),
    (["2023-10-27", "2023-10-28", "2023-10-28"], "keep one"),
])  # fmt: skip
def test_what_else_stands_there_twice_is_an_error(tmp_path, texts, words):
    with pytest.raises(DataError, match="D205") as caught:
        read_rows(tmp_path, texts)
    assert any(words in line for line in caught.value.help)


# ---------------------------------------------------------------- files


def test_a_column_of_eight_digits_is_dates(tmp_path):
    days = [date(2023, 1, 1) + timedelta(days=n) for n in range(120)]
    for name in ("date", "Stichtag"):
        path = tmp_path / "days.csv"
        rows = "".join(f"{day:%Y%m%d},{n},{n * 7 % 5}\n" for n, day in enumerate(days))
        path.write_text(f"{name},a,b\n" + rows)
        found = read_series(path, Data())
        assert (found.step, found.period, found.names) == ("day", 7, ("a", "b"))
        assert (
            found.series[0].values.shape == (120, 2) and not np.isnan(found.series[0].values).any()
        )
        assert next_times(found.series[0].times, 2) == ["20230501", "20230502"]
    path.write_text("step,a,b\n" + "".join(f"{20230101 + n},{n},1\n" for n in range(60)))
    assert read_series(path, Data()).step == "", "whole numbers that go on beyond a month"


def test_series_that_go_on_in_another_style_are_joined(tmp_path):
    hours = [datetime(2023, 1, 1) + timedelta(hours=n) for n in range(48)]
    first = read_rows(tmp_path, [str(one).removesuffix(" 00:00:00") for one in hours[:24]]).series[
        0
    ]
    texts = [f"{one.day}/{one.month}/{one.year} {one:%I:%M %p}" for one in hours[24:]]
    then = read_rows(tmp_path, texts[:1] + ["13/1/2023 12:00 AM"])
    assert then.series[0].times[0] == texts[0]
    then = read_rows(tmp_path, [str(one) for one in hours[24:]]).series[0]
    assert follows(first, then, dated=True)
    whole = concatenate(first, then)
    assert read_dates(whole.times).values == hours and whole.times[24] == "2023-01-02 00:00:00"
