"""Text problems: addition of written numbers, and dates rewritten as ISO 8601."""

from collections.abc import Hashable
from dataclasses import replace
from datetime import date
from string import ascii_letters, digits

import numpy as np

from .base import Puzzle, TextPuzzle
from .options import ProblemOptions

DIGITS = "0123456789"
MOST_DIGITS = 18  # numbers are drawn as 64-bit integers


class Addition(TextPuzzle):
    """Add two numbers, digit by digit as they are written (after Zaremba & Sutskever, 2014).

    Each number has 1 to D digits, every number of digits equally likely, and no zero in front of
    it. "12+345" and "345+12" are the same question where parts are kept apart. Read in reverse,
    the first digits of a number, with which the answer begins, are read last.
    """

    uses = frozenset({"digits", "reversed", "doubled"})
    characters = DIGITS + "+"
    answers = DIGITS

    def __init__(self, shape: ProblemOptions) -> None:
        super().__init__(shape)
        shape.must_lie("digits", 1, MOST_DIGITS, " digits in a number")

    def pair(self, rng: np.random.Generator) -> tuple[str, str]:
        digits = rng.integers(1, self.shape.digits, 2, endpoint=True)
        one, other = (int(rng.integers(10**n)) for n in digits)
        return f"{one}+{other}", str(one + other)

    def key(self, question: np.ndarray) -> Hashable:
        return tuple(sorted(self.shown(question).split("+")))

    def easier(self) -> list[Puzzle]:
        fewer = range(1, self.shape.digits)
        return [Addition(replace(self.shape, digits=digits)) for digits in fewer]


FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# d, dd: the day without and with a zero; nth: as an ordinal; m, mm: the month as a number.
# A month is a number only after a year of four digits: 3/5/1997 would be two days.
FORMS = (
    *("{d} {month} {year}", "{dd} {mon} {year}", "{d}-{mon}-{year}", "{d} {mon}. {year}"),
    *("{month} {d}, {year}", "{mon} {d} {year}", "{mon}. {dd}, {year}"),
    *("{nth} of {month} {year}", "{nth} {mon} {year}", "the {nth} of {month}, {year}"),
    *("{month} {nth}, {year}", "{month} the {nth}, {year}", "{mon} {nth} {year}"),
    *("{weekday}, {d} {month} {year}", "{weekday} {nth} of {month} {year}"),
    *("{weekday}, {month} {d}, {year}", "{day}, {mon} {nth}, {year}"),
    *("{day} {d} {mon} {year}", "{day} {mon} {dd} {year}"),
    *("{year} {month} {d}", "{year}, {mon} {d}", "{year}, {month} {nth}", "{year}-{mon}-{dd}"),
    *("{year}/{mm}/{dd}", "{year}/{m}/{d}", "{year}.{mm}.{dd}"),
    *("{year} {mm} {dd}", "{year}{mm}{dd}"),
)
CASES = (str, str, str.lower, str.upper)  # half of all as in the forms


class Dates(TextPuzzle):
    """Write a date as ISO 8601 has it, however it was written.

    A day from 1900 to 2099, any as likely as any other, in one of 28 English forms: the day, the
    month and the year in several orders, the day as a number or an ordinal, months and weekdays
    in full or in three letters, sometimes all small or all capital. The answer is like 1997-05-03.
    No form can be read as two days: a month is a number only where the year comes first.
    """

    uses = frozenset({"reversed", "doubled"})
    characters = ascii_letters + digits + " ,./-"
    answers = digits + "-"

    def pair(self, rng: np.random.Generator) -> tuple[str, str]:
        span = FIRST.toordinal(), LAST.toordinal()
        day = date.fromordinal(int(rng.integers(*span, endpoint=True)))
        form, case = rng.integers((len(FORMS), len(CASES)))
        return CASES[case](FORMS[form].format(**_words(day))), day.isoformat()


def _words(day: date) -> dict[str, str]:
    """What forms are made of."""
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    short = {"mon": month[:3], "day": weekday[:3], "nth": f"{day.day}{_ending(day.day)}"}
    numbers = {
        "d": f"{day.day}",
        "dd": f"{day.day:02}",
        "m": f"{day.month}",
        "mm": f"{day.month:02}",
    }
    return {"month": month, "weekday": weekday, "year": f"{day.year}", **short, **numbers}


def _ending(number: int) -> str:
    """What makes a number an ordinal."""
    tens, ones = divmod(number, 10)
    return "th" if tens == 1 else {1: "st", 2: "nd", 3: "rd"}.get(ones, "th")
