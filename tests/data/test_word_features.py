"""Character features of words."""

import json

from seqloom.data.text.word_features import MAX_CHARACTERS, CharacterFeatures


def spelled(features, word):
    return "".join(features.characters.tokens[i] for i in features.encode([word])[0] if i)


def test_letters_are_padded_and_come_back():
    features = CharacterFeatures()
    features.learn(["cat", "horse"])
    assert features.encode(["cat", "horse"]).shape == (2, 5)
    assert [spelled(features, word) for word in ("cat", "horse", "")] == ["cat", "horse", ""]
    assert spelled(features, "cut") == "c<unk>t"


def test_long_words_keep_both_ends():
    features = CharacterFeatures()
    features.learn(["a" * 40 + "b" * 40, "z"])
    assert features.length == MAX_CHARACTERS
    assert spelled(features, "a" * 40 + "b" * 40) == "a" * (
        MAX_CHARACTERS - MAX_CHARACTERS // 2
    ) + "b" * (MAX_CHARACTERS // 2)


def test_character_features_are_saved():
    features, other = CharacterFeatures(), CharacterFeatures()
    features.learn(["cat", "horse"])
    other.restore(json.loads(json.dumps(features.state())))
    assert other.space == features.space
    assert (other.encode(["shore"]) == features.encode(["shore"])).all()
