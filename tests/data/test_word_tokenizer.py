"""Word tokenizer with offsets: punctuation is split as in the training data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.text.word_tokenizer import WordTokenizer

TREEBANK = [
    *("I", "do", "n't", "know", ",", "Ada", "'s", "book", "(", "by", "O'Brien", ")", "is", "15"),
    *("-", "year", "old", ".", ".", ".", ",", "U.S.", "U.S.", ":)", ":)", "n't", "'s", "-", "-"),
]


def words(text: str, tokenizer: WordTokenizer) -> list[str]:
    return [text[start:end] for start, end in tokenizer.spans(text)]


def taught(given: list[str], way="auto") -> WordTokenizer:
    tokenizer = WordTokenizer(way)
    tokenizer.learn(given)
    return tokenizer


@pytest.mark.parametrize("text, expected", [
    ("I don't know Ada's book.", "I do n't know Ada 's book ."),
    ("(in the U.S.)", "( in the U.S. )"),
    ("a 15-year-old, :) really?!", "a 15 - year - old , :) really ? !"),
    ("wait...", "wait ..."),
    ("see http://a.b/c-d or me@x.org.", "see http://a.b/c-d or me@x.org ."),
    ("3.5 of 1,000", "3.5 of 1,000"),
    ("  ", ""),
])  # fmt: skip
def test_marks_stand_apart_as_in_a_treebank(text, expected):
    assert words(text, taught(TREEBANK)) == expected.split()


def test_what_training_never_cut_is_cut_at_spaces_alone():
    tokenizer = taught(["so,", "it", "goes."])
    assert words("and so, it goes.", tokenizer) == ["and", "so,", "it", "goes."]
    assert words("so, it", taught(["so,"], "words")) == ["so", ",", "it"]
    assert words("so, it", taught(TREEBANK, "spaces")) == ["so,", "it"]


def test_marks_that_training_had_at_the_front_of_words_stay_there():
    tokenizer = taught(["@ada", "#now", "@alan", ".", "#", "x-y", "z-y", "-"])
    assert words("@grace #then -x a-b.", tokenizer) == ["@grace", "#", "then", "-", "x", "a-b", "."]


@given(text=st.text(max_size=40))
def test_places_are_in_order_and_leave_out_blanks_alone(text):
    """Every character that is no blank is in one word, and words hold no blanks."""
    for tokenizer in (WordTokenizer(), WordTokenizer("spaces"), taught(TREEBANK)):
        places = tokenizer.spans(text)
        ends = [0, *(end for place in places for end in place), len(text)]
        assert ends == sorted(ends)
        assert "".join(words(text, tokenizer)) == "".join(text.split())
        assert all(word and not any(map(str.isspace, word)) for word in words(text, tokenizer))


@given(text=st.text(alphabet="ab'-.,@ ", max_size=20))
def test_words_cut_once_stay_as_they_are(text):
    """A text that was cut and joined by spaces is cut in the same way."""
    tokenizer = taught(TREEBANK)
    first = words(text, tokenizer)
    assert words(" ".join(first), tokenizer) == first


def test_it_remembers():
    tokenizer, other = taught(TREEBANK), WordTokenizer()
    other.restore(tokenizer.state())
    assert words("don't, Ada's", other) == words("don't, Ada's", tokenizer)
