"""Tag schemes (BIO, IOB1, BIOES): detected, decoded as by conlleval, converted, repaired."""

import random
from itertools import pairwise, product

import pytest

from seqloom.data.text.tag_schemes import (
    Entity,
    TagScheme,
    detect_scheme,
    entities,
    entity_tags,
    forbidden_transitions,
    has_scheme,
    split_tag,
    violations,
)

SCHEMES = ("bio", "iob1", "bioes")
ANY = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("X", "Y-Z"))]
LETTERS = {"bio": "BI", "iob1": "BI", "bioes": "BIES"}


def sentences(count: int = 300, tags=ANY, seed: int = 1) -> list[list[str]]:
    """Random tags, most of them broken by any scheme."""
    chance = random.Random(seed)
    return [[chance.choice(tags) for _ in range(chance.randint(0, 9))] for _ in range(count)]


def test_entities_are_those_of_seqeval():
    """The oracle: seqeval in its default mode, which is conlleval's, on broken tags of all kinds."""
    oracle = pytest.importorskip("seqeval.metrics.sequence_labeling")
    for tags in sentences(2000):
        theirs = [Entity(kind, start, end + 1) for kind, start, end in oracle.get_entities(tags)]
        assert entities(tags) == theirs, tags


@pytest.mark.parametrize("scheme", SCHEMES)
def test_converting_keeps_every_entity_and_breaks_nothing(scheme):
    for tags in sentences():
        made = entity_tags(entities(tags), len(tags), scheme)
        assert entities(made) == entities(tags)
        assert violations(made, scheme) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_forbidden_transitions_are_exactly_those_no_entities_can_make(scheme):
    """By brute force: every set of entities of up to four words, written in the scheme."""
    labels = ["O", *(f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in "XY")]
    made = set()
    for length in range(1, 5):
        for tags in product(
            ["O", *(f"{letter}-{kind}" for letter in "BI" for kind in "XY")], repeat=length
        ):
            made |= set(pairwise(["", *entity_tags(entities(tags), length, scheme), ""]))
    names = [*labels, ""]
    allowed = {
        (one, other)
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if (i, j) not in forbidden_transitions(labels, scheme) and (one or other)
    }
    assert allowed == made


def test_tags_without_a_scheme_bar_nothing():
    assert forbidden_transitions(["NOUN", "VERB"], "none") == frozenset()
    assert violations(["NOUN", "VERB"], "none") == []


def test_a_sentence_of_one_word_always_has_a_label():
    """Where training had no entity of one word and nothing outside, ends are not barred."""
    labels = ["B-X", "E-X"]
    found = forbidden_transitions(labels, "bioes")
    assert (0, 0) in found and all(2 not in pair for pair in found)


@pytest.mark.parametrize("tags, scheme", [
    ([["B-X", "I-X", "O", "B-X", "B-X"]], "bio"),
    ([["I-X", "I-X", "O", "I-X", "B-X"]], "iob1"),
    ([["I-X", "I-X", "O", "I-Y"]], "iob1"),
    ([["S-X", "O", "B-X", "E-X"]], "bioes"),
    ([["B-X", "I-X"], ["B-X", "O"], ["O", "I-X"]], "bio"),
    ([["B", "I", "O"]], "bio"),
    ([["NOUN", "VERB"]], "none"),
    ([["O", "O"]], "none"),
    ([["B-X", "O", "PER"]], "none"),
    ([], "none"),
])  # fmt: skip
def test_schemes_are_recognised(tags, scheme):
    assert detect_scheme(tags) == scheme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_scheme_makes_is_recognised_as_it(scheme):
    made = [entity_tags(entities(tags), len(tags), scheme) for tags in sentences()]
    assert detect_scheme(made) == scheme


@pytest.mark.parametrize("scheme, tags, place, told", [
    ("bio", ["O", "I-X"], 1, "I-X after O: read as the beginning of a new X"),
    ("bio", ["I-X", "I-X"], 0, "I-X at the start: read as the beginning of a new X"),
    ("bio", ["B-X", "I-Y"], 1, "I-Y after B-X: read as the beginning of a new Y"),
    ("iob1", ["O", "B-X"], 1, "B-X after O: read as the beginning of a new X"),
    ("bioes", ["B-X", "O"], 1, "B-X before O: read as the end of that X"),
    ("bioes", ["O", "B-X"], 1, "B-X before the end: read as the end of that X"),
    ("bioes", ["S-X", "E-X"], 1, "E-X after S-X: read as the beginning of a new X"),
])  # fmt: skip
def test_a_broken_scheme_is_told_with_its_place(scheme, tags, place, told):
    (found,) = violations(tags, scheme)
    assert (found.position, found.describe()) == (place, told)


@pytest.mark.parametrize("written", SCHEMES)
@pytest.mark.parametrize("wanted", ["as-is", "bio", "bioes"])
def test_there_and_back(written, wanted):
    """A model may learn another scheme; users see that of their file."""
    scheme = TagScheme(wanted)
    scheme.restore({"written": written})
    for tags in sentences(100):
        file = entity_tags(entities(tags), len(tags), written)
        learned = scheme.to_model(file)
        assert violations(learned, scheme.model_scheme) == []
        assert scheme.to_file(learned) == file
        # What is broken is mended before a model learns it: a chain must not be asked for what it
        # can never give.
        assert violations(scheme.to_model(tags), scheme.model_scheme) == []


def test_answers_are_shown_as_they_were_given_where_nothing_is_converted():
    scheme = TagScheme()
    scheme.restore({"written": "bio"})
    assert scheme.to_file(["O", "I-X"]) == ["O", "I-X"]


def test_kinds_may_have_hyphens_and_may_be_nameless():
    assert split_tag("B-Y-Z") == ("B", "Y-Z") and split_tag("B") == ("B", "_")
    assert entities(["B", "I", "O"]) == [Entity("_", 0, 2)]
    assert entity_tags([Entity("_", 0, 2)], 3, "bio") == ["B", "I", "O"]
    assert has_scheme(["O", "B-X"]) and not has_scheme(["O"]) and not has_scheme(["O", "BX"])
