"""Words as their letters."""

import json

from seqloom.data.text.word_features import MOST, Spelling


def spelled(spelling, word):
    return "".join(spelling.letters.symbols[i] for i in spelling.encode([word])[0] if i)


def test_letters_are_padded_and_come_back():
    spelling = Spelling()
    spelling.learn(["cat", "horse"])
    assert spelling.encode(["cat", "horse"]).shape == (2, 5)
    assert [spelled(spelling, word) for word in ("cat", "horse", "")] == ["cat", "horse", ""]
    assert spelled(spelling, "cut") == "c<unk>t"


def test_long_words_keep_both_ends():
    spelling = Spelling()
    spelling.learn(["a" * 40 + "b" * 40, "z"])
    assert spelling.length == MOST
    assert spelled(spelling, "a" * 40 + "b" * 40) == "a" * (MOST - MOST // 2) + "b" * (MOST // 2)


def test_a_spelling_is_kept():
    spelling, other = Spelling(), Spelling()
    spelling.learn(["cat", "horse"])
    other.restore(json.loads(json.dumps(spelling.state())))
    assert other.space == spelling.space
    assert (other.encode(["shore"]) == spelling.encode(["shore"])).all()
