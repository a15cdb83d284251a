"""Tokenizers: characters, bytes, words and subwords; round trips, vocabularies, bad files."""

import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from seqloom.data.text import subwords
from seqloom.data.text.tokenizers import (
    TOKENIZERS,
    ByteTokenizer,
    CharacterTokenizer,
    VocabularyOptions,
    WhitespaceTokenizer,
)
from seqloom.errors import DataError, ModelError, SeqloomError
from seqloom.signature import BEGIN, END, PAD, UNKNOWN

LINES = ["the cat sees the dog", "a dog hears a bird", "the bird likes the cat\n"] * 4
WAYS = [VocabularyOptions(), VocabularyOptions(subwords="unigram")]


def learned(kind, choice=None, lines=LINES):
    made = TOKENIZERS[kind](choice or VocabularyOptions())
    made.learn(lines)
    return made


LOSSLESS = {"characters": learned("characters"), "bytes": learned("bytes")} | {
    way.subwords: learned("subwords", way) for way in WAYS
}
any_text = st.text() | st.text(st.sampled_from("the cat\n\t \u00a0\u3000é漢😀"))


@pytest.mark.parametrize("kind", LOSSLESS)
@given(text=any_text)
@example(text="  spaces at the ends \n\n")
@example(text="e\u0301 \u2028 \x1c \ufeff <s></s><unk>")
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost(kind, text):
    tokenizer = LOSSLESS[kind]
    tokens = tokenizer.tokenize(text)
    assert tokenizer.detokenize(tokens) == text
    ids = tokenizer.encode(text)
    assert len(ids) == len(tokens) == tokenizer.length(text)
    assert tokenizer.round_trip(text) == text
    if kind != "characters":  # whose vocabulary is that of the training text
        assert tokenizer.decode(ids.tolist()) == text
        assert UNKNOWN not in ids


@given(text=any_text)
def test_words_forget_only_how_wide_spaces_were(text):
    words = learned("words", lines=[text])
    again = words.detokenize(words.tokenize(text))
    assert again.split() == text.split()
    assert words.round_trip(text) == words.round_trip(again) == again
    assert words.length(text) == len(words.encode(text)) == len(text.split())


@given(lines=st.lists(any_text, min_size=1), other=any_text)
def test_characters_are_numbered_as_by_a_table(lines, other):
    """The array of code points against a dictionary."""
    characters = learned("characters", VocabularyOptions(min_frequency=2), lines)
    counts = Counter("".join(lines))
    assert set(characters.tokens[4:]) == {c for c, n in counts.items() if n >= 2}
    table = {token: i for i, token in enumerate(characters.tokens) if i >= 4}
    for text in (*lines, other):
        assert characters.encode(text).tolist() == [table.get(c, UNKNOWN) for c in text]


def test_the_most_frequent_are_kept():
    words = learned("words", VocabularyOptions(max_size=2), ["b b b a a c", "c c c c d"])
    assert words.tokens[4:] == ["c", "b"]
    assert words.encode("a b c").tolist() == [UNKNOWN, 5, 4]
    assert words.decode([UNKNOWN, 5, END]) == "<unk> b"
    assert learned("words", VocabularyOptions(max_size=0), ["b a"]).tokens[4:] == ["a", "b"]
    frequent = VocabularyOptions(min_frequency=2, max_size=9)
    assert learned("words", frequent, ["b b a"]).tokens[4:] == ["b"]


def test_special_names_in_a_text_are_no_marks():
    for kind, expected in (("words", [UNKNOWN] * 2), ("bytes", list(np.array([*b"</s> <s>"]) + 4))):
        assert learned(kind, lines=["</s> <s>"]).encode("</s> <s>").tolist() == expected


def test_bytes_are_256_and_need_no_text():
    made = ByteTokenizer(VocabularyOptions())
    assert made.space.size == 260 and len(set(made.tokens)) == 260
    assert made.encode("é\n").tolist() == [4 + 0xC3, 4 + 0xA9, 4 + 0x0A]
    assert made.tokenize("é\n") == ["<C3>", "<A9>", "\n"]
    assert made.decode([PAD, BEGIN, 4 + 0xC3, 4 + 0x41, END]) == "\N{REPLACEMENT CHARACTER}A"
    assert made.decode([UNKNOWN]) == "\N{REPLACEMENT CHARACTER}"


def test_subwords_join_what_is_frequent():
    made = learned("subwords", VocabularyOptions(max_size=400))
    assert made.tokenize("the cat") == ["the", "Ġcat"]
    assert [made.display(n) for n in made.encode("the cat é").tolist()] == [
        "the",
        " cat",
        " ",
        "<C3>",
        "<A9>",
    ]
    assert made.encode("the cat").min() >= 4 and made.display(END) == "</s>"
    assert made.decode([PAD, BEGIN, UNKNOWN, *made.encode("the cat").tolist(), END]) == "the cat"
    assert [len(made.tokens), made.tokens[:4]] == [
        made.space.size,
        ["<pad>", "<s>", "</s>", "<unk>"],
    ]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_what_was_learned_is_saved_as_json(kind):
    made, again = learned(kind), TOKENIZERS[kind](VocabularyOptions())
    again.restore(json.loads(json.dumps(made.state())))
    assert again.tokens == made.tokens and again.space == made.space
    for text in ("the cat", "\u00e9 \n", ""):
        assert np.array_equal(again.encode(text), made.encode(text))
        assert again.length(text) == made.length(text)


LEARN = """
import sys, json
from seqloom.data.text.subwords import SubwordTokenizer, VocabularyOptions
lines = open(sys.argv[2], encoding="utf-8").read().split("\\n")
made = SubwordTokenizer(VocabularyOptions(subwords=sys.argv[1], max_size=int(sys.argv[3])))
made.learn(lines)
print(json.dumps(made.state()))
"""


@pytest.mark.parametrize("way", ["bpe", "unigram"])
def test_learning_is_the_same_in_every_process(way, tmp_path):
    """Hash tables are in another order in each process; nothing may depend on it."""
    chance = np.random.default_rng(1)
    stems = ["weav", "loom", "thread", "spin", "kn", "ab", "ba"]
    ends = ["ing", "er", "ed", "s", "", "é"]
    lines = [
        " ".join(stems[i] + ends[j] for i, j in chance.integers(0, 6, (8, 2))) for _ in range(300)
    ]
    (tmp_path / "text").write_text("\n".join(lines), encoding="utf-8")
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", LEARN, way, str(tmp_path / "text"), "290"],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert not done.stderr
        found.add(done.stdout)
    assert len(found) == 1


def test_processes_begun_after_subwords_say_nothing():
    program = "import os; from seqloom.data.text.subwords import *\n"
    program += "s = SubwordTokenizer(VocabularyOptions()); s.learn(['a b'] * 99)\n"
    program += "if os.fork() == 0: s.encode('a b')\nelse: os.wait()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_length_before_learning_is_never_too_long():
    """Files are read before subwords are learned; a line that will do must not be refused."""
    texts = ["the cat " * 20, "x" * 1000, "漢字" * 50, "", "a  b"]
    for way in WAYS:
        before = [TOKENIZERS["subwords"](way).length(text) for text in texts]
        after = [learned("subwords", way, [*LINES, *texts * 3]).length(text) for text in texts]
        assert all(b <= a for b, a in zip(before, after, strict=True))
    assert before[1] >= 1000 / subwords.MAX_PIECE_BYTES


@pytest.mark.parametrize("way", WAYS)
def test_fewer_subwords_than_asked_for_is_said(way):
    many = VocabularyOptions(subwords=way.subwords, max_size=50_000)
    made = learned("subwords", many)
    assert len(made.tokens) < 400
    assert made.notes == {"D061": subwords.too_few_subwords(len(made.tokens) - 4, 50_000)}
    assert learned("subwords", way).notes == {}  # nothing was asked for
    assert learned("subwords", VocabularyOptions(subwords=way.subwords, max_size=257)).notes == {}


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_text_of_one_token_is_said(kind):
    text = "a a a" if kind == "words" else "aaaa"
    made = learned(kind, lines=[text, text])
    assert "all tokens of the text are 'a'" in made.notes["D060"]
    assert made.decode(made.encode(text).tolist()) == text
    assert not learned(kind).notes


@pytest.mark.parametrize(
    "kind, choice, says",
    [
        ("bytes", {"max_size": 300}, "always has 256"),
        ("words", {"max_size": -1}, "expected 0 or more"),
        ("words", {"tokenizer": "t.json"}, "it has subwords, and the tokens are words"),
        ("subwords", {"max_size": 256}, "256 bytes"),
        ("subwords", {"max_size": 300, "tokenizer": "t.json"}, "its own vocabulary"),
    ],
)
def test_options_that_do_not_go_together(kind, choice, says):
    with pytest.raises(DataError, match=says) as caught:
        TOKENIZERS[kind](VocabularyOptions(**choice))
    assert caught.value.code == "D064"


def test_a_tokenizer_can_be_given(tmp_path):
    made, path = learned("subwords", VocabularyOptions(max_size=300)), tmp_path / "tokenizer.json"
    tokenizer = Tokenizer.from_str(json.dumps(made.state()))
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path))
    taken = TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(path)))
    assert taken.length("the cat sees the dog") == made.length("the cat sees the dog") > 3
    taken.learn(["something else"])
    assert taken.tokens == [*made.tokens, "<|end|>"]
    path.unlink()  # a run has its own copy
    again = TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(path)))
    again.restore(taken.state())
    assert again.decode(again.encode("a <|end|>\n").tolist()) == "a <|end|>\n"


def test_numbers_with_gaps_are_closed(tmp_path):
    state = learned("subwords").state()
    state["model"]["vocab"] = {n: 7 * i for n, i in state["model"]["vocab"].items()}
    (tmp_path / "t.json").write_text(json.dumps(state))
    taken = TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(tmp_path / "t.json")))
    taken.learn([])
    assert taken.tokens == learned("subwords").tokens
    assert taken.decode(taken.encode("the cat\n").tolist()) == "the cat\n"


def word_piece():
    return Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))


def lower_case():
    made = Tokenizer.from_str(json.dumps(learned("subwords").state()))
    made.normalizer = normalizers.Lowercase()
    return made


def with_a_space_before():
    """Each text alone comes back, two in a row have a space between them."""
    made = Tokenizer.from_str(json.dumps(learned("subwords").state()))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return made


@pytest.mark.parametrize("make", [word_piece, lower_case, with_a_space_before])
def test_a_tokenizer_that_loses_text_is_refused(make, tmp_path):
    make().save(str(tmp_path / "other.json"))
    with pytest.raises(DataError, match="changes texts when it decodes them") as caught:
        TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(tmp_path / "other.json"))).learn(
            LINES
        )
    assert caught.value.code == "D063" and caught.value.notes[0].count("becomes") == 1


def damaged():
    return json.dumps(learned("subwords").state())[:-500]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "3", "not json", "[" * 100_000, '{"model": null}', "\x00", damaged()],
    ids=range(9),
)
def test_what_is_no_tokenizer_is_refused(content, tmp_path):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(DataError, match="is not a tokenizer") as caught:
        TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(tmp_path / "t.json"))).encode("a")
    assert caught.value.code == "D062"


def test_files_that_are_no_text_missing_or_huge_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    with pytest.raises(SeqloomError, match="D001"):
        subwords.read_tokenizer(path)
    path.write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(DataError, match="not even text"):
        subwords.read_tokenizer(path)
    monkeypatch.setattr(subwords, "LARGEST_FILE", 1_000_000)
    with path.open("wb") as file:
        file.truncate(1_000_001)
    with pytest.raises(DataError, match="more than 1 MB"):
        subwords.read_tokenizer(path)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_damage_is_more_than_a_sentence(data):
    """Bits of a saved tokenizer are cut out or changed; it is refused, or it still works."""
    text = json.dumps(LOSSLESS["bpe"].state())
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    hurt = text[:start] + data.draw(st.text('0129{}[]":,abnultr', max_size=5)) + text[end:]
    made = TOKENIZERS["subwords"](VocabularyOptions())
    try:
        made.restore(json.loads(hurt))
    except ValueError:
        return
    except ModelError as error:
        assert error.code == "M113"
        return
    made.decode(made.encode("the cat é\n").tolist())


def test_a_tokenizer_at_which_the_library_panics_is_refused():
    state = learned("subwords").state()
    state["model"]["continuing_subword_prefix"] = "longer than any piece"
    with pytest.raises(BaseException, match="out of range") as caught:
        Tokenizer.from_str(json.dumps(state))
    assert not isinstance(caught.value, Exception)
    with pytest.raises(ModelError, match="M113"):
        TOKENIZERS["subwords"](VocabularyOptions()).restore(state)


def test_a_tokenizer_that_cuts_by_chance_does_so_no_more(tmp_path):
    state = learned("subwords").state()
    state["model"]["dropout"] = 0.5
    (tmp_path / "t.json").write_text(json.dumps(state))
    taken = TOKENIZERS["subwords"](VocabularyOptions(tokenizer=str(tmp_path / "t.json")))
    assert len({tuple(taken.encode("the cat sees the dog").tolist()) for _ in range(50)}) == 1
    assert taken.state()["model"]["dropout"] is None


def test_kinds_are_what_they_are_called():
    assert [TOKENIZERS[name](VocabularyOptions()).unit for name in TOKENIZERS] == list(TOKENIZERS)
    assert (
        CharacterTokenizer.has_line_breaks,
        ByteTokenizer.has_line_breaks,
        WhitespaceTokenizer.has_line_breaks,
    ) == (True, True, False)
