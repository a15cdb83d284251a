"""Texts are spelt while they grow: spaces, bytes that make one character, and where to stop."""

from contextlib import nullcontext

import numpy as np
import pytest

import seqloom
from seqloom.decoding import Sampling
from seqloom.errors import UsageError
from seqloom.inference import generate as module
from seqloom.inference.generate import stream_generate
from seqloom.signature import END
from seqloom.tasks.language import Language

from ..conftest import write_data

FIRST = 4  # the number of the first symbol that is not special


class Scripted:
    """A model that is sure of every symbol: it writes what it is told after so much prompt."""

    def __init__(self, size, *rows, prompt=0):
        self.size, self.rows, self.prompt = size, rows, prompt

    def begin(self, source):
        return np.arange(len(source)), np.zeros(len(source), dtype=int)

    def step(self, symbols, state):
        rows, times = state
        log_probs = np.full((len(rows), self.size), -np.inf)
        for place, (row, time) in enumerate(zip(rows, times, strict=True)):
            wanted = ([END] * self.prompt + [*self.rows[row], END])[time]
            log_probs[place, wanted] = 0
        return log_probs, (rows, times + 1)

    def inference_mode(self):
        return nullcontext()


class Bytes(Language):
    """Each byte is a symbol."""

    def question(self, text):
        return text

    def encode_source(self, example):
        return np.frombuffer(example.encode(), dtype=np.uint8).astype(np.int64) + FIRST

    def decode(self, row):
        return bytes(i - FIRST for i in row if i >= FIRST).decode("utf-8", "replace")

    def is_known(self, example):
        return [True] * len(example)


def of_bytes(text):
    return [byte + FIRST for byte in text.encode()]


def words(*known):
    task = Language(tokens="words")
    task.prepare([task.question(" ".join(known))])
    return task


def texts_of(pieces, count=1):
    found = [[] for _ in range(count)]
    for piece in pieces:
        found[piece.row].append(piece.text)
    return found


def test_a_character_of_several_bytes_comes_whole():
    task, model = Bytes(), Scripted(260, of_bytes("é→x🙂"), prompt=2)
    (pieces,) = texts_of(stream_generate(model, task, ["ab"], Sampling()))
    assert pieces == ["", "é", "", "", "→", "x", "", "", "", "🙂", ""]


def test_bytes_that_never_become_a_character_are_given_out_at_the_end_or_before_the_next():
    broken = [0xC3 + FIRST, ord("a") + FIRST, 0xF0 + FIRST]
    (pieces,) = texts_of(stream_generate(Scripted(260, broken), Bytes(), [""], Sampling()))
    assert pieces == ["", "\ufffda", "", "\ufffd"]
    (pieces,) = texts_of(stream_generate(Scripted(260, broken), Bytes(), [""], Sampling(limit=1)))
    assert pieces == ["\ufffd"]


@pytest.mark.parametrize(
    ("prompt", "symbols", "expected"),
    [
        ("the cat", 2, [" sees", " the", ""]),
        ("the cat ", 2, ["sees", " the", ""]),
        ("the  cat\n", 2, ["sees", " the", ""]),
        ("", 0, ["sees", " the", ""]),
        ("the zebra", 2, [" sees", " the", ""]),
    ],
)
def test_words_have_one_space_between_them(prompt, symbols, expected):
    task = words("the", "cat", "sees")
    script = task.encode_source(task.question("sees the")).tolist()
    model = Scripted(7, script, prompt=symbols)
    assert texts_of(stream_generate(model, task, [prompt], Sampling())) == [expected]


@pytest.mark.parametrize(
    ("stop", "text", "ended"),
    [
        (["yz"], "aby", "stop"),
        (["yyz"], "ab", "stop"),
        (["z", "b"], "a", "stop"),
        (["yx"], "abyyzab", "end"),
        (["abc"], "abyyzab", "end"),
        ([""], "abyyzab", "end"),
    ],
)
def test_a_text_ends_before_a_stop_and_shows_nothing_of_it(stop, text, ended):
    model = Scripted(260, of_bytes("abyyzab"))
    pieces = list(stream_generate(model, Bytes(), [""], Sampling(), stop))
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.ended for piece in pieces][-1] == ended
    assert not any(piece.ended for piece in pieces[:-1])


def test_what_may_become_a_stop_is_kept_back_no_longer_than_needed():
    model = Scripted(260, of_bytes("a//b/-/"))
    (pieces,) = texts_of(stream_generate(model, Bytes(), [""], Sampling(), ["//-"]))
    assert pieces == ["a", "", "", "//b", "", "/-", "", "/"]


def test_the_prompt_is_no_stop():
    model = Scripted(260, of_bytes("ba"), prompt=3)
    (pieces,) = texts_of(stream_generate(model, Bytes(), ["aab"], Sampling(), ["ab"]))
    assert "".join(pieces) == "ba"


def test_the_limit_is_told_and_all_of_several_texts_end():
    model = Scripted(260, of_bytes("abcdef"), of_bytes("xy"), of_bytes("a!b"))
    pieces = list(stream_generate(model, Bytes(), ["", "", ""], Sampling(limit=4), ["!"]))
    assert {piece.row: piece.ended for piece in pieces if piece.ended} == {
        0: "limit",
        1: "end",
        2: "stop",
    }
    assert ["".join(row) for row in texts_of(pieces, 3)] == ["abcd", "xy", "a"]


@pytest.mark.parametrize("unit", ["words", "bytes"])
def test_long_texts_are_spelt_in_parts(unit, monkeypatch):
    """However long a text is, only its last symbols are spelt again, to the same text."""
    chance = np.random.default_rng(0)
    if unit == "words":
        task = words("the", "cat", "sees", "me")
        script = chance.integers(FIRST, 8, 300).tolist()
        whole = task.decode(script)
    else:
        task, whole = Bytes(), "".join(chance.choice(list("aé→🙂\ufffd"), 200))
        script = of_bytes(whole)
    lengths = []
    decode = type(task).decode
    monkeypatch.setattr(
        type(task), "decode", lambda self, row: (lengths.append(len(row)), decode(self, row))[1]
    )
    monkeypatch.setattr(module, "LONGEST", 20)
    model = Scripted(260, script)
    (pieces,) = texts_of(stream_generate(model, task, [""], Sampling(limit=1000)))
    assert "".join(pieces) == whole
    assert max(lengths) < 40


def test_where_a_text_is_continuous_its_end_is_no_end():
    task = Bytes()
    task.continuous = True
    model = Scripted(260, [*of_bytes("ab"), END, *of_bytes("cd")])
    pieces = list(stream_generate(model, task, [""], Sampling(limit=5)))
    assert len(pieces) == 5 and pieces[-1].ended == "limit"


def test_a_prompt_of_unknown_symbols_is_refused_before_anything_is_drawn():
    task = words("the", "cat")
    with pytest.raises(
        UsageError, match="all tokens of the prompt 'zebra gnu' are unknown"
    ) as told:
        stream_generate(Scripted(6, []), task, ["the", "zebra gnu"], Sampling())
    assert told.value.code == "U031"
    assert task.unknown_tokens(task.question("gnu the zebra gnu")) == ["gnu", "zebra"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    write_data(folder)
    recipe = seqloom.Recipe({"train": str(folder / "text.txt")}, {"name": "language"})
    recipe = recipe.with_settings({"model.name": "ngram", "data.valid_fraction": 0.2})
    return seqloom.train(recipe, runs=folder / "runs")


def test_a_run_generates_at_once_or_as_it_comes(run):
    sampling = Sampling(limit=30, seed=4)
    whole = run.generate("the c", sampling)
    pieces = list(run.stream_generate(["the c"], sampling))
    assert whole == "".join(piece.text for piece in pieces)
    assert len(pieces) > 3 and all(len(piece.text) <= 1 for piece in pieces)
    assert run.generate("the c", sampling, stop=["a"]) == whole.partition("a")[0]


def test_a_prompt_goes_on_the_same_beside_others(run):
    sampling = Sampling(limit=30, seed=4)
    beside = texts_of(run.stream_generate(["the c", "a", "a dog h"], sampling), 3)
    assert "".join(beside[0]) == run.generate("the c", sampling)
    (alone,) = texts_of(run.stream_generate(["a dog h"], sampling, streams=[sampling.rng(2)]))
    assert alone == beside[2]
