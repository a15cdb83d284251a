"""Documents: sentence and word tokenisation, truncation."""

import pytest

from seqloom.data.text.documents import (
    COLUMN_TOKEN,
    SENTENCE_BREAK,
    DocumentOptions,
    split_sentences,
    split_words,
)
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
    assert split_sentences(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("Don't say it's over!", ["Do", "n't", "say", "it", "'s", "over", "!"]),
    ("(well-known, 3.5%)...", ["(", "well-known", ",", "3.5", "%", ")", "..."]),
    ("Mr. J. we’ve", ["Mr.", "J.", "we", "’ve"]),
    ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
])  # fmt: skip
def test_marks_are_words_of_their_own(text, expected):
    assert split_words(text) == expected


def test_the_end_stands_between_sentences():
    read = DocumentOptions(sentences=True).tokenize
    assert read("A bit. C day.", "words", True) == (
        ["a", "bit.", SENTENCE_BREAK, "c", "day."],
        False,
    )
    assert read("Ab. C", "characters", False)[0] == [*"Ab.", SENTENCE_BREAK, "C"]
    assert read("...", "words", True) == (["..."], False)


def test_columns_are_marked_apart():
    text = f"A title {COLUMN_TOKEN} The body. More"
    assert DocumentOptions().tokenize(text, "words", True)[0] == [
        "a",
        "title",
        "<next>",
        "the",
        "body.",
        "more",
    ]
    found = DocumentOptions(sentences=True).tokenize(text, "words", True)[0]
    assert found == [
        "a",
        "title",
        SENTENCE_BREAK,
        COLUMN_TOKEN,
        "the",
        "body.",
        SENTENCE_BREAK,
        "more",
    ]
    assert DocumentOptions().tokenize(f"a {COLUMN_TOKEN} b", "characters", True)[0] == [
        "a",
        COLUMN_TOKEN,
        "b",
    ]
    split = DocumentOptions(split_punctuation=True).tokenize(f"a, {COLUMN_TOKEN} ", "words", True)[
        0
    ]
    assert split == ["a", ",", COLUMN_TOKEN]


def test_long_texts_are_cut():
    text = "One two three. Four five. Six."
    cut = DocumentOptions(sentences=True, max_words=4).tokenize(text, "words", True)
    assert cut == (["one", "two", "three.", SENTENCE_BREAK, "four"], True)
    cut = DocumentOptions(sentences=True, max_sentences=2).tokenize(text, "words", True)
    assert cut == (["one", "two", "three.", SENTENCE_BREAK, "four", "five."], True)
    assert DocumentOptions(max_words=6).tokenize(text, "words", True) == (
        text.lower().split(),
        False,
    )
    assert DocumentOptions(max_words=5).tokenize(text, "words", True) == (
        text.lower().split()[:5],
        True,
    )
    assert DocumentOptions(max_words=3).tokenize("abcd", "characters", True) == (list("abc"), True)


@pytest.mark.parametrize("given", [{"max_words": -1}, {"max_sentences": 3}, {"max_sentences": -1}])
def test_limits_that_cannot_be_are_refused(given):
    with pytest.raises(UsageError, match="U095"):
        DocumentOptions(**given)
