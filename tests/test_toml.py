"""TOML: what is written reads back equal."""

import io
import math
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.config import MAX_DEPTH, parse_toml, parse_toml_value, to_toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))  # half a pair of surrogates is no text
NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
SCALARS = st.one_of(st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(SCALARS, lambda inside: st.lists(inside, max_size=4), max_leaves=8)
TABLES = st.recursive(
    st.dictionaries(TEXTS, VALUES, max_size=5),
    lambda inside: st.dictionaries(TEXTS, st.one_of(VALUES, inside), max_size=4),
    max_leaves=6,
)


def same(first, second):
    """Equal, and of the same kinds: 1 is neither true nor 1.0."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    signs = not isinstance(first, float) or math.copysign(1, first) == math.copysign(1, second)
    return type(first) is type(second) and first == second and signs


@settings(deadline=None)
@given(TABLES)
def test_whatever_is_written_reads_back(tables):
    assert same(tables, tomllib.load(io.BytesIO(to_toml(tables).encode())))


@pytest.mark.parametrize(
    "character",
    [*map(chr, range(0x21)), "\x7f", "\x85", "\u2028", "\ufeff", '"', "'", "\\", "é", "🧵"],
)
def test_each_odd_character(character):
    tables = {character: {character: [character, f"a{character}b"]}}
    assert tomllib.loads(to_toml(tables)) == tables


def test_what_is_no_number_and_what_has_no_end():
    found = tomllib.loads(to_toml({"t": {"a": math.nan, "b": math.inf, "c": -math.inf, "d": -0.0}}))
    assert math.isnan(found["t"]["a"]) and found["t"]["b"] == math.inf == -found["t"]["c"]
    assert math.copysign(1, found["t"]["d"]) == -1


def test_how_it_looks():
    tables = {
        "data": {"train": "a\tb.tsv", "columns": ["x", "y"], "none": []},
        "model": {"name": "mixture", "first": {"order": 3, "rate": 1e-7}, "weight": 0.5},
        "empty": {},
    }
    assert to_toml(tables) == (
        '[data]\ntrain = "a\tb.tsv"\ncolumns = [\n    "x",\n    "y",\n]\nnone = []\n\n'
        '[model]\nname = "mixture"\nweight = 0.5\n\n[model.first]\norder = 3\nrate = 1e-07\n\n'
        "[empty]\n"
    )
    assert to_toml({}) == ""


@pytest.mark.parametrize("value", [None, {1, 2}, b"bytes", [None]])
def test_what_toml_has_no_word_for(value):
    with pytest.raises(TypeError, match="a recipe cannot hold"):
        to_toml({"model": {"odd": value}})


@settings(deadline=None)
@given(TABLES)
def test_whatever_is_written_is_parsed_alike(tables):
    assert same(tables, parse_toml(to_toml(tables)))


NESTED = {
    "lists": lambda depth: f"x = {'[' * depth}{']' * depth}",
    "inline tables": lambda depth: f"x = {'{a = ' * depth}1{'}' * depth}",
    "a dotted key": lambda depth: f"{'a.' * depth}a = 1",
    "a header": lambda depth: f"[{'a.' * depth}a]",
    "headers of lists": lambda depth: "".join(
        f"[[{'.'.join('a' * n)}]]\n" for n in range(1, depth)
    ),
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900])
def test_what_nests_too_deep_is_refused(kind, depth):
    with pytest.raises(ValueError, match="nests deeper than 32 levels"):
        parse_toml(NESTED[kind](depth))


@pytest.mark.parametrize("kind", NESTED)
def test_a_few_levels_are_read(kind):
    assert parse_toml(NESTED[kind](MAX_DEPTH // 2 - 2))


def test_a_key_of_many_dots_is_refused_at_once():
    """tomllib itself would need minutes for it."""
    with pytest.raises(ValueError, match="nests deeper"):
        parse_toml("a." * (1 << 19) + "a = 1")


def test_a_value_that_is_no_toml_is_text():
    assert [parse_toml_value(text) for text in ("3", "[1, 2]", "word", "[" * 900)] == [
        3,
        [1, 2],
        "word",
        "[" * 900,
    ]
