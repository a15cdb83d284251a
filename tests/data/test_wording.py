"""Texts as they are read: what is changed, that it is changed once, and that it can be undone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.data.text.normalise import JOINED, Writing, join_marks, split_marks

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=JOINED), max_size=40)
SPLIT = {
    "Hello, you!": "Hello ⁀, you ⁀!",
    "(Hello)": "(⁀ Hello ⁀)",
    "don't say 3.5 % well-known": "don't say 3.5 % well-known",
    "wait...": "wait ⁀...",
    "so?!": "so ⁀? ⁀!",
    "already , split .": "already , split .",
    "„Ja“, sagt er": "„⁀ Ja ⁀“ ⁀, sagt er",
    "नमस्ते।": "नमस्ते ⁀।",  # signs that join letters are no marks
    "a--b": "a ⁀--⁀ b",
}


@pytest.mark.parametrize("text", SPLIT)
def test_marks_are_split_off_and_joined_again(text):
    assert split_marks(text) == SPLIT[text]
    assert join_marks(SPLIT[text]) == text
    assert Writing(split=True).tokens(SPLIT[text]) == SPLIT[text].replace(JOINED, "")


@settings(max_examples=300)
@given(texts)
def test_splitting_loses_nothing_but_blanks(text):
    plain = " ".join(text.split())
    assert join_marks(split_marks(text)) == plain
    assert split_marks(split_marks(text)) == split_marks(text)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("unicode", ["as-is", "nfc", "nfkc"])
def test_what_was_read_is_read_the_same_again(unicode, split):
    """A file's line, and the same line as it is shown and typed again."""
    writing = Writing(lowercase=True, unicode=unicode, plain=True, split=split)

    @settings(max_examples=150)
    @given(texts)
    def same(text):
        read = writing.read(text)
        assert writing.read(writing.written(read)) == read
        assert writing.read(read) == read

    same()


@pytest.mark.parametrize(
    "writing, text, read",
    [
        (Writing(), " As  it\u00a0is… ", " As  it\u00a0is… "),
        (Writing(lowercase=True), "Der Hund", "der hund"),
        (Writing(unicode="nfc"), "e\u0301 ﬁ", "é ﬁ"),
        (Writing(unicode="nfkc"), "e\u0301 ﬁ", "é fi"),
        (Writing(plain=True), "« L’eau »\u202f– “oui”…", '" L\'eau " - "oui"...'),
        (Writing(plain=True), "soft\u00adhyphen", "softhyphen"),
    ],
)
def test_each_thing_that_is_changed(writing, text, read):
    assert writing.read(text) == read
