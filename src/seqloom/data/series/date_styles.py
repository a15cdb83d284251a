"""Dates as texts: the styles in which files write them, exact parsing, and writing in one's style.

A text is a day, then perhaps a clock and a zone: 2023-01-31 14:00+01:00. All days of a file are in
one style, which `read_dates` finds; a day without a clock begins at midnight. Zones are offsets
from UTC: of dates with several, either the local days are equally long or the hours that pass.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property

from .clock_changes import local_midnights

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_NUMBER_OF = {name: n for n, full in enumerate(_MONTHS, 1) for name in (full, full[:3])} | {
    "sept": 9
}
_TOKENS = {  # of a style: how it is read, and how it is written
    "%Y": (r"(?P<year>\d{4})", "{year:04}"),
    "%y": (r"(?P<short>\d\d)", "{short:02}"),
    "%m": (r"(?P<month>\d{1,2})", "{month}"),
    "%d": (r"(?P<day>\d{1,2})", "{day}"),
    "%M": (r"(?P<month>\d\d)", "{month:02}"),
    "%D": (r"(?P<day>\d\d)", "{day:02}"),
    "%b": (r"(?P<name>[A-Za-z]{3,9})\.?", "{name}"),
    "%q": (r"(?P<quarter>[1-4])", "{quarter}"),
    "%W": (r"(?P<week>\d\d)", "{week:02}"),
    "%u": (r"(?P<weekday>[1-7])", "{weekday}"),
}
_STYLES = (  # as in strftime; %q is a quarter, %W and %u an ISO week and its day
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%Y-%m", "%Y/%m", "%Y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y"),
    *("%m-%d-%y", "%m/%Y", "%m-%Y", "%Y%M%D", "%Y%M"),
    *("%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d%b%Y", "%d %b %y", "%d-%b-%y", "%d%b%y"),
    *("%b %d, %Y", "%b %d %Y", "%b-%d-%Y", "%Y-%b-%d", "%Y %b %d"),
    *("%b %Y", "%b-%Y", "%b-%y", "%b %y", "%Y %b", "%Y-%b"),
    *("%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q-%Y"),
    *("%Y-W%W", "%YW%W", "%Y W%W", "%Y-W%W-%u", "%YW%W%u"),
)
_COMPACT_YEARS = range(1600, 2200)  # in which digits alone are a date
_ISO, _ISO_LENGTH = "%Y-%m-%d", len("2023-01-31")
_PIVOT = 69  # two digits from here on are a year of the last century, as in POSIX
_NOON = 12
_COLON = re.compile(r"(.*?)((?:[Tt]|,?\s+)\d{1,2}:\d\d.*)", re.DOTALL)
_DIGITS = re.compile(r"(\d{8})(T?\d\d(?:\d\d){0,2}(?:\s?(?:[Zz]|[+-]\d\d:?\d\d))?)")
_ZONE = r"(?:(?P<before>\s?)(?P<zone>Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
_CLOCK = re.compile(
    r"(?P<start>[Tt]|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:(?P<point>[.,])(?P<fraction>\d{1,9}))?)?"
    r"(?P<blank>\s?)(?P<half>[AaPp]\.?[Mm]\.?)?" + _ZONE
)
_COMPACT_CLOCK = re.compile(
    r"(?P<start>T?)(?P<hour>\d\d)(?P<minute>\d\d)?(?P<second>\d\d)?" + _ZONE
)


class DateParseError(ValueError):
    """A text that is not a date, or is ambiguous: its index among the texts, and the reason."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(reason)


@dataclass(frozen=True)
class DateStyle:
    """How dates are written: the style of days, and templates of their parts."""

    name: str  # of days, as in strftime
    day: str
    clock: str = ""
    zone: str = ""  # a zone as the file has it

    def write(self, date: datetime, offset: timedelta) -> str:
        """A date in this style, with its offset from UTC if the style has zones."""
        iso = date.isocalendar()
        fields = {
            "year": iso.year if "{week" in self.day else date.year,
            "short": date.year % 100,
            "month": date.month,
            "day": date.day,
            "quarter": (date.month + 2) // 3,
            "week": iso.week,
            "weekday": iso.weekday,
            "hour": date.hour,
            "twelve": (date.hour - 1) % _NOON + 1,
            "minute": date.minute,
            "second": date.second,
            "fraction": f"{date.microsecond:06}000",
        }
        full, half = _MONTHS[date.month - 1], "ap"[date.hour >= _NOON]
        words = {"full": full, "name": full[:3], "half": f"{half}m", "dotted": f"{half}.m."}
        for key, word in words.items():
            fields |= {key: word, key.title(): word.title(), key.upper(): word.upper()}
        return (self.day + self.clock).format(**fields) + _zone_text(self.zone, offset)


@dataclass(frozen=True)
class ParsedDates:
    """Dates as the clocks of their place show them, their offsets from UTC, and their style."""

    local: list[datetime]
    offsets: list[timedelta] | None  # None: the texts name no zone
    style: DateStyle
    written: timedelta | None = None  # the offset in which all texts are, if it is one

    @cached_property
    def utc(self) -> list[datetime]:
        """The instants of dates with zones."""
        if self.offsets is None:
            return self.local
        return [date - offset for date, offset in zip(self.local, self.offsets, strict=True)]

    @property
    def has_clock_changes(self) -> bool:
        """Whether the offset from UTC changes, as that of summer time does."""
        return self.offsets is not None and len(set(self.offsets)) > 1

    @cached_property
    def is_local(self) -> bool:
        """Whether steps are counted by local clocks: days are, and hours pass whatever these show.

        It is decided by which of the two has fewer times of day.
        """
        times = ({date.time() for date in dates} for dates in (self.local, self.utc))
        local, utc = map(len, times)
        return not self.has_clock_changes or local < utc

    @property
    def values(self) -> list[datetime]:
        """The dates in which steps are equally long: local ones, or instants."""
        return self.local if self.is_local else self.utc

    @cached_property
    def last_offset(self) -> timedelta:
        """The offset of the latest date: no file says when clocks will change next."""
        if self.offsets is None:
            return timedelta(0)
        return max(zip(self.utc, self.offsets, strict=True))[1]

    def write(self, date: datetime) -> str:
        """One of `values`, or a later one, in the style of the file."""
        instant = date - self.last_offset if self.is_local else date
        offset = self.last_offset if self.written is None else self.written
        return self.style.write(instant + offset, offset)


def read_dates(texts: Sequence[str]) -> ParsedDates:
    """Parse dates whose days are all written in one style.

    Whether 3/4/2019 is in March or in April must be clear from some other date.
    """
    pairs = [_split(text.strip()) for text in texts]
    styles = [style for style in _STYLES if _day(pairs[0][0], style) is not None]
    if not styles:
        raise DateParseError(0, "it is not a date")
    first: dict[str, int] = {}
    for index, (day, _) in enumerate(pairs):
        first.setdefault(day, index)
    style, days = _in_one_style(first, styles)
    clocks = _clocks([clock for _, clock in pairs])
    local = [days[day] + clocks[clock].time for day, clock in pairs]
    # The text that tells most of how clocks are written.
    longest = max(clocks, key=len)
    day, clock = _day_template(style, [*first]), _clock_template(longest, [*clocks])
    about = DateStyle(style, day, clock, clocks[longest].zone)
    zones = [clocks[clock].offset for _, clock in pairs]
    offsets = [zone for zone in zones if zone is not None]
    if len(set(offsets)) != 1:
        return ParsedDates(local, offsets or None, about)
    dates = ParsedDates(local, offsets, about, written=offsets[0])
    if (midnights := local_midnights(dates.utc)) is None:
        return dates
    moved = [day - date for day, date in zip(midnights, dates.utc, strict=True)]
    return replace(dates, local=midnights, offsets=moved)


def are_compact_dates(texts: Sequence[str], lengths: Sequence[int] = (6, 8, 10, 12, 14)) -> bool:
    """Whether texts of digits alone are all dates, such as 20230131 or 202301."""
    stripped = [text.strip() for text in texts]
    if not stripped or any(len(text) not in lengths or not text.isdecimal() for text in stripped):
        return False
    try:
        read_dates(stripped)
    except DateParseError:
        return False
    return True


def _split(text: str) -> tuple[str, str]:
    """The day and the clock of a text; the clock may be empty."""
    if text[4:5] == text[7:8] == "-" and text[_ISO_LENGTH : _ISO_LENGTH + 1] in ("", " ", "T"):
        return text[:_ISO_LENGTH], text[_ISO_LENGTH:]
    found = _DIGITS.fullmatch(text) or _COLON.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def _in_one_style(first: dict[str, int], styles: list[str]) -> tuple[str, dict[str, datetime]]:
    """The one style, of those that fit the first day, in which all days can be read."""
    found, worst = list[tuple[str, dict[str, datetime]]](), -1
    for style in styles:
        days = {text: day for text in first if (day := _day(text, style)) is not None}
        if len(days) == len(first):
            found.append((style, days))
        else:
            worst = max(worst, min(index for text, index in first.items() if text not in days))
    if not found:
        raise DateParseError(worst, "it is not a date like the first")
    if any(days != found[0][1] for _, days in found):
        raise DateParseError(0, "it could be two dates: which number is the day, which the month?")
    return found[0]


@cache
def _pattern(style: str) -> re.Pattern[str]:
    found = re.sub("%[a-zA-Z]", lambda token: _TOKENS[token[0]][0], re.sub(r"\.", r"\\.", style))
    return re.compile(found, re.ASCII)


def _day(text: str, style: str) -> datetime | None:
    """A day in this style, as its first moment; None if it is none."""
    try:
        if style == _ISO and len(text) == _ISO_LENGTH and text[4] == text[7] == "-":
            return datetime.fromisoformat(text)  # the same, and quicker
        return _parsed_day(text, style)
    except ValueError:
        return None


def _parsed_day(text: str, style: str) -> datetime | None:
    """The same by the pattern of the style; ValueError for a day that is not in the calendar."""
    found = _pattern(style).fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    number = {key: int(part) for key, part in parts.items() if key != "name"}
    if "name" in parts:
        number["month"] = _NUMBER_OF.get(parts["name"].casefold(), 0)
    if "short" in number:
        number["year"] = number["short"] + (1900 if number["short"] >= _PIVOT else 2000)
    if "%M" in style and number["year"] not in _COMPACT_YEARS:
        return None
    if "week" in number:
        return datetime.fromisocalendar(number["year"], number["week"], number.get("weekday", 1))
    month = number.get("month", 3 * number.get("quarter", 1) - 2)
    return datetime(number["year"], month, number.get("day", 1))


def _day_template(style: str, texts: Sequence[str]) -> str:
    """How days are written: numbers are padded with zeros unless the file has some without."""
    template = re.sub("%[a-zA-Z]", lambda token: _TOKENS[token[0]][1], style)
    parts = [_pattern(style).fullmatch(text) for text in texts[:1000]]
    groups = [found.groupdict() for found in parts if found is not None]
    numbers = [one[key] for one in groups for key in ("month", "day") if key in one]
    if all(len(number) > 1 for number in numbers):
        template = template.replace("{month}", "{month:02}").replace("{day}", "{day:02}")
    if names := [one["name"] for one in groups if "name" in one]:
        name = "full" if any(len(one) > len("Sept") for one in names) else "name"
        is_upper, is_lower = names[0].isupper(), names[0].islower()
        field = name.upper() if is_upper else name if is_lower else name.title()
        template = template.replace("{name}", "{" + field + "}")
    return template


@dataclass(frozen=True)
class _Clock:
    """The time since the start of the day, the offset from UTC, and how the zone is written."""

    time: timedelta = timedelta(0)
    offset: timedelta | None = None
    zone: str = ""


def _clocks(texts: Sequence[str]) -> dict[str, _Clock]:
    """The clocks by their texts; a text without a clock is midnight."""
    found: dict[str, _Clock] = {}
    for index, text in enumerate(texts):
        if text in found:
            continue
        clock = _parsed_clock(text)
        if clock is None:
            raise DateParseError(
                index, "it is not a date like the first" if index else "it is not a date"
            )
        found[text] = clock
    has_zone = found[texts[0]].offset is not None
    for index, text in enumerate(texts):
        if (found[text].offset is not None) != has_zone:
            raise DateParseError(index, _OTHER_ZONE[has_zone])
    return found


_OTHER_ZONE = {
    True: "it has no time zone, and the first date has one",
    False: "it has a time zone, and the first date has none",
}


def _parsed_clock(text: str) -> _Clock | None:
    """The clock of a text; None if it is none."""
    if not text:
        return _Clock()
    found = _CLOCK.fullmatch(text) or _COMPACT_CLOCK.fullmatch(text)
    if found is None:
        return None
    part = found.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if half := part.get("half"):
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + _NOON * (half[0] in "Pp")
    is_end = hour == 24 and not minute and not second  # noqa: PLR2004 - the end of a day
    if not is_end and (hour >= 24 or minute >= 60 or second >= 60):  # noqa: PLR2004
        return None
    micro = int(f"{part.get('fraction') or '':0<6}"[:6])
    time = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micro)
    zone = part["zone"] or ""
    return _Clock(time, _offset(zone) if zone else None, (part["before"] or "") + zone)


def _offset(zone: str) -> timedelta:
    """The offset from UTC of a zone: Z, UTC, +01:00, +0100 or +01."""
    if _is_utc(zone):
        return timedelta(0)
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return -offset if zone[0] == "-" else offset


def _is_utc(zone: str) -> bool:
    return zone.strip()[:1].isalpha()


def _clock_template(longest: str, texts: Sequence[str]) -> str:
    """How clocks are written, by the text that tells most of it."""
    found = _CLOCK.fullmatch(longest)
    if found is None:
        compact = _COMPACT_CLOCK.fullmatch(longest) if longest else None
        return _compact_template(compact) if compact else ""
    hour = "{twelve" if found["half"] else "{hour"
    others = (_CLOCK.fullmatch(text) for text in texts)
    is_padded = all(len(one["hour"]) > 1 for one in others if one is not None)
    template = found["start"] + hour + (":02}" if is_padded else "}") + ":{minute:02}"
    if found["second"]:
        template += ":{second:02}"
    if found["fraction"]:
        template += found["point"] + "{fraction:." + str(len(found["fraction"])) + "}"
    if found["half"]:
        field = "dotted" if "." in found["half"] else "half"
        field = field.upper() if found["half"][0].isupper() else field
        template += found["blank"] + "{" + field + "}"
    return template


def _compact_template(found: re.Match[str]) -> str:
    parts = ["{" + name + ":02}" for name in ("hour", "minute", "second") if found[name]]
    return found["start"] + "".join(parts)


def _zone_text(zone: str, offset: timedelta) -> str:
    """An offset from UTC, written like this zone."""
    name = zone.strip()
    if not name or (_is_utc(zone) and not offset):
        return zone
    minutes = abs(offset) // timedelta(minutes=1)
    colon = ":" if ":" in name or _is_utc(zone) else ""
    rest = "" if len(name) == len("+01") and minutes % 60 == 0 else f"{colon}{minutes % 60:02}"
    sign = "-" if offset < timedelta(0) else "+"
    return zone[: len(zone) - len(name)] + f"{sign}{minutes // 60:02}{rest}"
