"""Contract of every option: a value that makes no sense is refused by a sentence, at once."""

import math
from typing import get_args, get_origin

import pytest

from seqloom.config import Bounds, Option, options
from seqloom.data.options import Data
from seqloom.errors import SeqloomError
from seqloom.models import MODELS
from seqloom.recipe import Recipe
from seqloom.tasks import TASKS
from seqloom.tasks.algorithmic import PUZZLES
from seqloom.training.options import Training

from .cases import SIGNATURES, small

DEBT = 1 - 10**9  # no count is negative
INTEGERS = [0, -1, DEBT, 10**9, 2**31, 10**12, 2**63, 10**30]
NUMBERS = [0.0, -0.5, 1.0, 1.5, 5.0, 1e30, 1e300, math.nan, math.inf, -math.inf]
TEXTS = ["", "x", "\0", "a" * 300, "\x1b[31m", "../x", "\ud800"]
LISTS = [[], [0], [-1], [10**12], [1, 1], [2, 1], ["a"], [[1]], [None], [math.nan]]
OTHERS = [None, True, {}, {"a": 1}, {"name": []}, {"name": "ngram", "order": 0}]
NEVER = [math.nan, math.inf, -math.inf, 10**40]  # for any number
LARGE = 100  # what is above may be right, and is too large to be tried here


def hostile(option: Option) -> list[object]:
    """Values of every kind; of numbers within the bounds only the small ones."""
    numbers = [n for n in [*INTEGERS, *NUMBERS] if not (option.fits(n) and option.holds(n))]
    allowed = [n for n in (0, 1, DEBT, 0.5, -0.5) if option.fits(n)]
    edges = [option.bounds.low, option.bounds.high] if option.bounds else []
    return [*numbers, *allowed, *(n for n in edges if abs(n) <= LARGE), *TEXTS, *LISTS, *OTHERS]


def attempt(build, option: Option) -> None:
    """Every value builds, or is refused by a short sentence with a code."""
    for value in hostile(option):
        try:
            build(value)
            assert option.kind is not int or value != DEBT, f"{option.name} is less than nothing"
        except SeqloomError as error:
            assert error.code and len(error.text()) < 2000, (option.name, value)
        except Exception as error:  # noqa: BLE001 - that is what must not be
            raise AssertionError(f"{option.name} = {value!r}: {error!r}") from error


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("name", MODELS)
def test_options_of_models(name):
    signature = next(one for one in SIGNATURES.values() if MODELS[name].supports(one))
    for option in options(MODELS[name]):
        given = small(name, {})
        attempt(
            lambda value, option=option, given=given: Recipe(
                model={"name": name, **given, option.name: value}
            ).build_model(signature),
            option,
        )


@pytest.mark.parametrize(
    ("name", "problem"),
    [(n, "") for n in TASKS if n != "algorithms"] + [("algorithms", p) for p in PUZZLES],
)
def test_options_of_tasks(name, problem):
    own = {"problem": problem} if problem else {}
    for option in options(TASKS[name]):
        attempt(
            lambda value, option=option: (
                Recipe(task={"name": name, **own, option.name: value}).build_task().signature()
            ),
            option,
        )


@pytest.mark.parametrize("table", ["data", "training"])
def test_options_of_data_and_training(table):
    fixed = {"task": {"name": "language"}, "model": {"name": "ngram"}}
    for option in options(Data if table == "data" else Training):
        attempt(
            lambda value, option=option: Recipe(**fixed, **{table: {option.name: value}}).checked(),
            option,
        )


KINDS = {**dict(MODELS), **dict(TASKS), "data": Data, "training": Training}


@pytest.mark.parametrize("name", KINDS)
def test_no_number_is_without_bounds(name):
    """What no arithmetic can be done with is refused before any constructor sees it."""
    for option in options(KINDS[name]):
        if option.kind in (int, float):
            for value in NEVER:
                assert not (option.fits(value) and option.holds(value)), (option.name, value)
            assert option.holds(option.default), option.name
        elif get_origin(option.kind) is tuple and get_args(option.kind)[0] is int:
            assert not option.holds([1, 10**30])


def test_bounds_are_told_in_words():
    def problem(value: object, bounds: Bounds, kind: type = int) -> str:
        option = Option("size", kind, 1, "", bounds=bounds)
        return "" if option.fits(value) and option.holds(value) else option.expects

    assert problem(0, Bounds(1, 65536)) == "a whole number from 1 to 65,536"
    assert problem(65536, Bounds(1, 65536)) == problem(1, Bounds(1, 65536)) == ""
    assert problem(65537, Bounds(1, 65536)) != ""
    assert problem(0, Bounds(1, 2**31 - 1)) == "a whole number of at least 1"
    assert problem(1.0, Bounds(0, 1, below=True), float) == "a number from 0 to below 1"
    assert problem(0.0, Bounds(0, 1, below=True), float) == ""
    assert problem(1, Bounds(0, 1, below=True), float) != "", "a whole number is a number, too"
    assert problem(1.0, Bounds(0, 1), float) == ""
