"""seqloom score: log-probabilities of sentences, and ranking of alternatives."""

import json
import math

import pytest

import seqloom
from seqloom.cli.commands.score import _times, alternatives

SENTENCES = ["the cat sees a dog", "dog a sees cat the", "a bird"]


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_scores_in_the_order_given(cli, runs):
    expected = seqloom.load(runs / "counts").score(SENTENCES)
    found = objects(cli("score", "counts", *SENTENCES, "--json").out)
    assert [one["text"] for one in found] == SENTENCES
    for one, score in zip(found, expected, strict=True):
        assert one["log_prob"] == pytest.approx(score.log_prob)
        assert one["bits"] == pytest.approx(-score.log_prob / math.log(2))
        assert one["symbols"] == len(one["text"]) + 1
        assert one["bits_per_symbol"] == pytest.approx(one["bits"] / one["symbols"])
        assert "rank" not in one and "surprise" not in one
    head, *lines = cli("score", "counts", *SENTENCES).out.splitlines()
    assert head.split() == ["log", "p", "bits", "per", "token", "sentence"]
    for line, score in zip(lines, expected, strict=True):
        nats, bits, each, text = line.split(maxsplit=3)
        assert (nats, text) == (f"{score.log_prob:.2f}", score.text)
        assert (bits, each) == (f"{score.bits:.2f}", f"{score.bits_per_token:.2f}")


def test_rank_puts_the_likeliest_first(cli):
    found = objects(cli("score", "counts", *SENTENCES, "--rank", "--json").out)
    assert [one["rank"] for one in found] == [1, 2, 3]
    chances = [one["log_prob"] for one in found]
    assert chances == sorted(chances, reverse=True)
    assert found[-1]["text"] == "dog a sees cat the"
    done = cli("score", "counts", *SENTENCES, "--rank").out
    best, second, last = done.splitlines()[1:]
    assert best.startswith("★") and "times less likely" in second
    assert "dog a sees cat the" in last


def test_alternatives_stand_in_braces_and_are_ranked(cli):
    found = objects(cli("score", "counts", "the {cat|dgo} sees", "a {x} b", "--json").out)
    assert [(one["text"], one.get("rank")) for one in found] == [
        ("the cat sees", 1),
        ("the dgo sees", 2),
        ("a {x} b", None),
    ]
    done = cli("score", "counts", "a bird", "the {cat|dgo} sees", "a cat").out
    assert done.count("sentence") == 3 and done.count("\n\n") == 2 and done.count("★") == 1


def test_alternatives_are_every_choice_with_every_other():
    assert alternatives("plain {text} | here") == ["plain {text} | here"]
    assert alternatives("{a|b} c {d|e|}") == [
        f"{one} c {two}" for one in "ab" for two in ("d", "e", "")
    ]


def test_surprise_is_shown_for_every_symbol(cli):
    (found,) = objects(cli("score", "counts", "the cqt", "--surprise", "--json").out)
    assert [one["symbol"] for one in found["surprise"]] == [*"the cqt", "</s>"]
    assert sum(one["bits"] for one in found["surprise"]) == pytest.approx(found["bits"])
    assert found["unknown"] == ["q"]
    done = cli("score", "counts", "the cqt", "--surprise")
    assert "█" in done.out and "Largest surprisal, in bits: 'q'" in done.out
    assert done.err == "note: 'q' is not in the vocabulary of counts: read as <unk>\n"


def test_lines_of_a_file_are_scored_and_braces_in_it_are_text(cli, tmp_path, monkeypatch):
    from seqloom.cli import inputs

    monkeypatch.setattr(inputs, "AT_ONCE", 2)
    file = tmp_path / "sentences.txt"
    file.write_text("the cat\n\na {dog|bird}\nthe fish\n")
    found = objects(cli("score", "writer", "-f", str(file), "--json").out)
    assert [one["text"] for one in found] == ["the cat", "a {dog|bird}", "the fish"]
    assert cli("score", "writer", "-f", str(file)).out.count("sentence") == 1
    found = objects(cli("score", "writer", "-f", str(file), "--rank", "--json").out)
    assert [one["rank"] for one in found] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["counts", "x", "-f", "y"], 2, "choose one"),
        (["counts", "-f", "nothing.txt"], 3, "error[D001]"),
        (["tagger", "the"], 4, "error[M110]"),
        (["counts", "{a|b}" * 10], 2, "error[U033]: the sentence has 1,024 alternatives"),
    ],
)
def test_what_cannot_be_scored(cli, arguments, code, text):
    done = cli("score", *arguments)
    assert done.code == code and text in done.err and not done.out


@pytest.mark.parametrize(
    ("nats", "told"),
    [
        (0.0, "as likely"),
        (math.log(1.25), "1.2 times less likely"),
        (math.log(4321), "4,321 times less likely"),
        (math.log(1e9), "10^9 times less likely"),
        (math.inf, "impossible"),
        (math.nan, "as likely"),
    ],
)
def test_how_much_less_likely(nats, told):
    assert _times(nats) == told
