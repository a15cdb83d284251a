"""Learning checks on real data: what the lectures say must be seen to happen (make test-slow)."""

import os
from pathlib import Path

import pytest

import seqloom
from seqloom import Recipe, Search

DATA = Path(os.environ.get("SEQLOOM_DATA") or "nowhere")
pytestmark = pytest.mark.slow


def real(*parts: str) -> Path:
    """A file of a real data set, or a word about its absence."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not in the folder that SEQLOOM_DATA names")
    return path


@pytest.fixture(scope="module")
def pronouncers(tmp_path_factory):
    """The shipped recipe with and without attention, on an eighth of the words, for six epochs."""
    folder = tmp_path_factory.mktemp("pronounce")
    lines = real("g2p-cmudict", "g014b2b.train").read_text().splitlines(keepends=True)
    (folder / "words.tsv").write_text("".join(lines[::8]))
    return {
        attention: seqloom.train(
            "pronounce",
            name=attention,
            runs=folder / "runs",
            settings={
                "data.train": str(folder / "words.tsv"),
                "model.attention": attention,
                "training.epochs": 6,
            },
        )
        for attention in ("additive", "none")
    }


def test_attention_beats_the_bottleneck(pronouncers):
    errors = {
        name: run.evaluate().with_intervals()["sequence_error"] for name, run in pronouncers.items()
    }
    assert errors["additive"].high < errors["none"].low


def test_a_beam_finds_likelier_answers_than_greed(pronouncers):
    run = pronouncers["additive"]
    words = [run.task.show_question(pair) for pair in run.parts.test[:300]]
    greedy, wide = (
        [
            answer.log_prob
            for answer in run.predictions(words, Search(beam=beam, length_penalty=0.0))
        ]
        for beam in (1, 5)
    )
    assert sum(wide) > sum(greedy)
    assert sum(w >= g - 1e-4 for w, g in zip(wide, greedy, strict=True)) > 0.97 * len(words)


def test_attention_moves_from_left_to_right(pronouncers):
    """Letters and sounds go in step: the place looked at most hardly ever moves back."""
    run = pronouncers["additive"]
    words = [run.task.show_question(pair) for pair in run.parts.test[:40]]
    moves = []
    for word in words:
        looked = run.inspect(word).data["weights"].argmax(1)
        moves += list(looked[1:] >= looked[:-1])
    assert sum(moves) / len(moves) > 0.9


def test_memory_beats_counting_characters(tmp_path):
    """A recurrent net remembers further than a bigram: fewer bits per character."""
    text = real("tinyshakespeare", "input.txt").read_text()[:200_000]
    lines = [line for line in text.split("\n") if line.strip()]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    models = {
        "bigram": {"name": "ngram", "order": 2},
        "recurrent": {"name": "recurrent", "hidden_size": 192, "dropout": 0.1},
    }
    bits = {
        name: seqloom.train(
            Recipe(
                {"train": str(tmp_path / "text.txt")},
                {"name": "language"},
                model,
                {"epochs": 8, "batch_size": 32},
            ),
            name=name,
            runs=tmp_path / "runs",
        )
        .evaluate()
        .with_intervals()["bits_per_character"]
        for name, model in models.items()
    }
    assert bits["recurrent"].high < bits["bigram"].low
