"""Texts as sentences and words."""

import pytest

from seqloom.data.text.documents import BREAK, NEXT, Documents, sentences_of, words_of
from seqloom.errors import UsageError


@pytest.mark.parametrize("text, expected", [
    ("It was bad. We left.", ["It was bad.", "We left."]),
    ("Mr. Smith said J. K. left at 3.5 p.m. sharp.", ["Mr. Smith said J. K. left at 3.5 p.m. sharp."]),
    ('"No!" he said. (Really.) Well...', ['"No!"', "he said.", "(Really.)", "Well..."]),
    ("silly and tedious . it's so . . . long", ["silly and tedious .", "it's so . . .", "long"]),
    ("one<br /><br />two\nthree", ["one", "two", "three"]),
    ("我来了。你好！再见", ["我来了。", "你好！", "再见"]),
    ("What?! No way.", ["What?!", "No way."]),
    ("... !!!", []),
    ("", []),
])  # fmt: skip
def test_sentences_end_where_people_end_them(text, expected):
    assert sentences_of(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("Don't say it's over!", ["Do", "n't", "say", "it", "'s", "over", "!"]),
    ("(well-known, 3.5%)...", ["(", "well-known", ",", "3.5", "%", ")", "..."]),
    ("Mr. J. we’ve", ["Mr.", "J.", "we", "’ve"]),
    ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
])  # fmt: skip
def test_marks_are_words_of_their_own(text, expected):
    assert words_of(text) == expected


def test_the_end_stands_between_sentences():
    read = Documents(sentences=True).read
    assert read("A bit. C day.", "words", True) == (["a", "bit.", BREAK, "c", "day."], False)
    assert read("Ab. C", "characters", False)[0] == [*"Ab.", BREAK, "C"]
    assert read("...", "words", True) == (["..."], False)


def test_columns_are_marked_apart():
    text = f"A title {NEXT} The body. More"
    assert Documents().read(text, "words", True)[0] == [
        "a",
        "title",
        "<next>",
        "the",
        "body.",
        "more",
    ]
    found = Documents(sentences=True).read(text, "words", True)[0]
    assert found == ["a", "title", BREAK, NEXT, "the", "body.", BREAK, "more"]
    assert Documents().read(f"a {NEXT} b", "characters", True)[0] == ["a", NEXT, "b"]
    split = Documents(split_punctuation=True).read(f"a, {NEXT} ", "words", True)[0]
    assert split == ["a", ",", NEXT]


def test_long_texts_are_cut():
    text = "One two three. Four five. Six."
    cut = Documents(sentences=True, max_words=4).read(text, "words", True)
    assert cut == (["one", "two", "three.", BREAK, "four"], True)
    cut = Documents(sentences=True, max_sentences=2).read(text, "words", True)
    assert cut == (["one", "two", "three.", BREAK, "four", "five."], True)
    assert Documents(max_words=6).read(text, "words", True) == (text.lower().split(), False)
    assert Documents(max_words=5).read(text, "words", True) == (text.lower().split()[:5], True)
    assert Documents(max_words=3).read("abcd", "characters", True) == (list("abc"), True)


@pytest.mark.parametrize("given", [{"max_words": -1}, {"max_sentences": 3}, {"max_sentences": -1}])
def test_limits_that_cannot_be_are_refused(given):
    with pytest.raises(UsageError, match="U095"):
        Documents(**given)
