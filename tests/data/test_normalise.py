"""Text normalisation: what is changed, that it is changed once, and detokenisation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.data.text.normalise import JOINER, Normalizer, rejoin_punctuation, separate_punctuation

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=JOINER), max_size=40)
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
    assert separate_punctuation(text) == SPLIT[text]
    assert rejoin_punctuation(SPLIT[text]) == text
    assert Normalizer(split=True).tokenized(SPLIT[text]) == SPLIT[text].replace(JOINER, "")


@settings(max_examples=300)
@given(texts)
def test_splitting_loses_nothing_but_blanks(text):
    plain = " ".join(text.split())
    assert rejoin_punctuation(separate_punctuation(text)) == plain
    assert separate_punctuation(separate_punctuation(text)) == separate_punctuation(text)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("unicode", ["as-is", "nfc", "nfkc"])
def test_what_was_read_is_read_the_same_again(unicode, split):
    """A file's line, and the same line as it is shown and typed again."""
    normalizer = Normalizer(lowercase=True, unicode=unicode, plain=True, split=split)

    @settings(max_examples=150)
    @given(texts)
    def same(text):
        read = normalizer.normalize(text)
        assert normalizer.normalize(normalizer.detokenize(read)) == read
        assert normalizer.normalize(read) == read

    same()


@pytest.mark.parametrize(
    "normalizer, text, read",
    [
        (Normalizer(), " As  it\u00a0is… ", " As  it\u00a0is… "),
        (Normalizer(lowercase=True), "Der Hund", "der hund"),
        (Normalizer(unicode="nfc"), "e\u0301 ﬁ", "é ﬁ"),
        (Normalizer(unicode="nfkc"), "e\u0301 ﬁ", "é fi"),
        (Normalizer(plain=True), "« L’eau »\u202f– “oui”…", '" L\'eau " - "oui"...'),
        (Normalizer(plain=True), "soft\u00adhyphen", "softhyphen"),
    ],
)
def test_each_thing_that_is_changed(normalizer, text, read):
    assert normalizer.normalize(text) == read
