"""Counts of tokens and guesses of formats: those of the obvious way, in one pass."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.data.checks.text import CheckInput, Side, text_findings
from seqloom.data.formats.columns_roles import looks_like_labels
from seqloom.data.formats.fasttext import LABEL_PREFIX, _split, looks_like_fasttext
from seqloom.data.text import tokenizers
from seqloom.data.text.tokenizers import TOKENIZERS, VocabularyOptions

TEXTS = ["", "a", "ab ba", "漢字 a", "e\u0301", "\U0001f600 x", "\ud800", "a" * 40, "  b \t c"]


@pytest.mark.parametrize("piece", [1, 7, 1 << 18])
@pytest.mark.parametrize("name", ["characters", "words", "bytes"])
def test_counts_are_those_of_the_tokens(monkeypatch, name, piece):
    monkeypatch.setattr(tokenizers, "PIECE", piece)
    tokenizer = TOKENIZERS[name](VocabularyOptions())
    lengths, counts = tokenizer.count(iter(TEXTS))
    tokens = [tokenizer.tokenize(text) for text in TEXTS]
    assert lengths.tolist() == [*map(len, tokens)]
    assert counts == Counter(token for one in tokens for token in one)
    side = Side.of("text", name, iter(tokens))
    assert side.lengths.tolist() == lengths.tolist() and side.counts == counts
    assert tokenizer.count([])[0].tolist() == [] and not tokenizer.count([])[1]


def obvious(lines: list[str]) -> bool:
    """Whether lines look like labels and texts, by the whole lists."""
    written = [line for line in lines if line.strip()]
    if 2 * sum(line.lstrip().startswith(LABEL_PREFIX) for line in written) > len(written):
        return True
    is_tabbed = all("\t" in line.strip() for line in written)
    pairs = [_split(line, is_tabbed) for line in written]
    labels, texts = [label for label, _ in pairs], {text for _, text in pairs if text}
    return looks_like_labels(labels) and len(texts) > len(set(labels))


PARTS = st.sampled_from(["pos", "neg", " ", "\t", "__label__a", "word", "x", "  "])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(PARTS, max_size=5).map("".join), max_size=9))
def test_labels_before_texts_are_found_as_by_the_whole_lists(lines):
    assert looks_like_fasttext(lines) == obvious(lines)


@pytest.mark.parametrize("kinds", [2, 50, 51, 400])
def test_many_labels_are_no_labels(kinds):
    lines = [f"label{n % kinds} text {n}" for n in range(4 * kinds)]
    assert looks_like_fasttext(lines) == obvious(lines) == (kinds <= 50)


class Passes(list):
    """Lines that count how often somebody goes through them."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


@pytest.mark.parametrize("count", [10, 1000])
def test_a_guess_goes_through_the_lines_a_few_times_whatever_their_number(count):
    lines = Passes(f"word{n} of a text" for n in range(count))
    looks_like_fasttext(lines)
    assert lines.passes <= 3


def test_lines_that_end_in_blanks_are_those_of_the_pattern():
    chance = random.Random(0)
    lines = [
        "".join(chance.choices("a \t\x0b\u00a0\x1b", k=chance.randrange(5))) for _ in range(400)
    ]
    none = np.zeros(0, dtype=np.int64)
    side = Side("text", "words", np.ones(1, dtype=np.int64), {"a": 1})
    view = CheckInput("language", none + 1, [side], [], [], [], [lines], continuous=True)
    found = {finding.code: finding.lines for finding in text_findings(view)}
    trailing = [n for n, line in enumerate(lines, 1) if re.search(r"[ \t]$", line) and line.strip()]
    assert found["D076"] == trailing
    control = r"[\x01-\x08\x0b-\x1f\x7f-\x9f]"
    assert found["D077"] == [n for n, line in enumerate(lines, 1) if re.search(control, line)]
