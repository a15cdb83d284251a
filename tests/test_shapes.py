"""What is checked of every call while the tests run: types, and lengths that have one name."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from seqloom.nn.transformer.positions import sinusoid

from . import shapes
from .shapes import watched

ONE, TWO, THREE = torch.zeros(2, 3), torch.zeros(2), torch.zeros(3)
refused = pytest.raises(BeartypeCallHintViolation)


def columns(first: Float[Tensor, "batch time"], other: Float[Tensor, " batch"], scale: float = 1) -> Float[Tensor, " time"]:  # fmt: skip
    return first[0] if scale else first[:, 0]


def inside(added: int):
    @watched
    def columns(first: Float[Tensor, "batch time"], other: Float[Tensor, " batch"], scale: float = 1) -> Float[Tensor, " time"]:  # fmt: skip
        return first[0] + added if scale else first[:, 0]

    return columns


@pytest.mark.parametrize("function", [watched(columns), inside(0), inside(1)])
def test_arguments_and_results(function):
    assert function(ONE, other=TWO).shape == (3,)
    for wrong in [(ONE, THREE), (TWO, TWO), (ONE, TWO.long()), (ONE, 1), (ONE, TWO, "1")]:
        with refused:
            function(*wrong)
    with refused:
        function(first=ONE, other=THREE)
    with refused:
        function(ONE, TWO, 0)  # whose result is as long as the batch
    with pytest.raises(TypeError, match="unexpected keyword"):
        function(ONE, TWO, strange=1)


def test_inner_functions_share_their_checks_and_nothing_else():
    before = len(shapes.INNER)
    made = [inside(added) for added in range(5)]
    assert [int(function(ONE, TWO)[0]) for function in made] == list(range(5))
    assert len(shapes.INNER) <= before + 1 and not shapes.WAITING.functions


def test_inner_functions_call_themselves():
    @watched
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(5) == 120


def test_each_call_has_lengths_of_its_own():
    @watched
    def longer(x: Float[Tensor, " time"], more: int) -> Float[Tensor, " more"]:
        return longer(torch.cat([x, x]), more - 1) if more else x

    assert longer(THREE, 2).shape == (12,)


def test_generators():
    @watched
    def rows(x: Float[Tensor, "batch time"], count: int) -> Iterator[Float[Tensor, " time"]]:
        yield from x[:count]

    assert len(list(rows(ONE, 2))) == 2
    with refused:
        rows(TWO, 2)

    @contextlib.contextmanager
    @watched
    def held(number: int) -> Iterator[int]:
        yield number

    with held(3) as number:
        assert number == 3


def test_dataclasses():
    @watched
    @dataclass(frozen=True)
    class Pair:
        one: Float[Tensor, " time"]
        two: Float[Tensor, " time"]

    assert Pair(TWO, TWO).one is TWO
    with refused:
        Pair(TWO, two=THREE)


def test_lengths_that_are_arguments():
    @watched
    def made(length: int) -> Float[Tensor, "{length}"]:
        return TWO

    assert made(2) is TWO
    with pytest.raises(TypeCheckError):
        made(3)


def test_names_that_are_not_there_are_anything():
    @watched
    def given(thing: "NotHere", count: int) -> "NotHere":  # noqa: F821
        return thing

    assert given("a", 1) == "a"
    with pytest.raises(TypeCheckError):
        given("a", "b")


@pytest.mark.parametrize("function", [watched(columns), inside(0)])
def test_the_first_calls_of_every_test_are_checked_and_some_of_the_others(function):
    shapes.Calls.test += 1
    for _ in range(shapes.ENOUGH):
        function(ONE, TWO)
    for _ in range(shapes.AFTERWARDS - 1):
        assert function(ONE, THREE).shape == (3,)
    with refused:
        function(ONE, THREE)
    shapes.Calls.test += 1  # as before another test
    with refused:
        function(ONE, THREE)


def test_the_package_is_watched():
    with pytest.raises((BeartypeCallHintViolation, TypeCheckError)):
        sinusoid("4", 4)
