"""Pretrained word embeddings from text files."""

import numpy as np
import pytest

from seqloom.data.text.word_vectors import read_embeddings
from seqloom.errors import SeqloomError

TOKENS = ["<pad>", "<s>", "</s>", "<unk>", "the", "cat"]


def written(folder, text):
    path = folder / "vectors.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_known_tokens_are_found_by_id(tmp_path, header):
    path = written(tmp_path, f"{header}cat 1 2.5\ndog 7 7\nthe -1 1e-1 \ncat 9 9\n")
    found = read_embeddings(path, TOKENS, 2)
    assert sorted(found) == [4, 5]
    np.testing.assert_allclose(found[5], [1, 2.5])
    np.testing.assert_allclose(found[4], [-1, 0.1])


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("cat 1 2\nthe 1 2 3\n", "has 3 components, but embedding_size is 2", 2),
        ("cat 1\n", "has 1 components", 1),
        ("cat 1 x\n", "not a number", 1),
        ("dog 1 2\n", "none of the tokens", None),
        ("", "none of the tokens", None),
    ],
)
def test_what_cannot_be_used_is_said_with_its_line(tmp_path, text, says, line):
    with pytest.raises(SeqloomError, match=says) as caught:
        read_embeddings(written(tmp_path, text), TOKENS, 2)
    assert caught.value.code == "D051"
    assert caught.value.place.line == line


def test_a_missing_file_and_one_that_is_no_text_are_said(tmp_path):
    with pytest.raises(SeqloomError, match="cannot find"):
        read_embeddings(tmp_path / "none.txt", TOKENS, 2)
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"cat \xff 1\n")
    with pytest.raises(SeqloomError, match="not UTF-8"):
        read_embeddings(path, TOKENS, 2)
