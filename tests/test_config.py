"""Options are read from constructors, and settings are checked against them."""

from dataclasses import dataclass
from typing import Literal

import pytest

from seqloom.config import constructor_arguments, options, problems, summary, with_defaults


class Thing:
    """A thing that can be set.

    Its equation stands here: y = x

    Args:
        size: How large it is,
            in two lines.
        share: How much of it.
        kind: Of which kind.
        loud: Whether it is loud.
    """

    def __init__(
        self,
        first: int,
        *,
        size: int = 3,
        share: float = 0.5,
        kind: Literal["a", "b"] = "a",
        loud: bool = False,
    ) -> None: ...


def test_names_defaults_and_help():
    assert [(o.name, o.default) for o in options(Thing)] == [
        ("size", 3), ("share", 0.5), ("kind", "a"), ("loud", False),
    ]  # fmt: skip
    assert options(Thing)[0].help == "How large it is, in two lines."
    assert options(Thing)[2].expects == "'a' or 'b'"
    assert summary(Thing) == "A thing that can be set."


@pytest.mark.parametrize(
    "given, told",
    [
        ({"size": 2, "share": 1, "kind": "b", "loud": True}, []),
        ({"sise": 2}, ["'sise' is not an option: did you mean 'size'?"]),
        ({"size": True}, ["size = True: expected a whole number"]),
        ({"size": 2.5}, ["size = 2.5: expected a whole number"]),
        ({"kind": "c"}, ["kind = 'c': expected 'a' or 'b'"]),
        ({"kind": "bb"}, ["kind = 'bb': expected 'a' or 'b'; did you mean 'b'?"]),
        ({"loud": 1}, ["loud = 1: expected true or false"]),
        (
            {"share": "x", "zzz": 1},
            [
                "share = 'x': expected a number",
                "'zzz' is not an option: it takes size, share, kind, loud",
            ],
        ),
    ],
)
def test_problems(given, told):
    assert problems(Thing, given) == told


def test_whole_numbers_are_numbers():
    assert constructor_arguments(Thing, {"share": 1, "size": 2}) == {"share": 1.0, "size": 2}
    assert isinstance(constructor_arguments(Thing, {"share": 1})["share"], float)
    assert with_defaults(Thing, {"size": 9}) == {
        "size": 9,
        "share": 0.5,
        "kind": "a",
        "loud": False,
    }


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What several things can be told.

    Args:
        depth: How deep it is.
        steep: How steep it is.
    """

    depth: int = 1
    steep: float = 0.0


class Grouped:
    """A thing that takes shared options.

    Args:
        size: How large it is.
    """

    def __init__(self, *, size: int = 3, shared: Shared = Shared()) -> None: ...  # noqa: B008


def test_options_of_a_group_are_options_like_any_other():
    assert [(o.name, o.default, o.help) for o in options(Grouped)] == [
        ("size", 3, "How large it is."),
        ("depth", 1, "How deep it is."),
        ("steep", 0.0, "How steep it is."),
    ]
    assert problems(Grouped, {"dept": 2}) == ["'dept' is not an option: did you mean 'depth'?"]
    assert constructor_arguments(Grouped, {"size": 2, "steep": 1}) == {
        "size": 2,
        "shared": Shared(steep=1.0),
    }
    assert with_defaults(Grouped, {"steep": 1}) == {"size": 3, "depth": 1, "steep": 1.0}
