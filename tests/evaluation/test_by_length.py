"""Metrics by length: every example in one bucket, each bucket's value that of its examples alone."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from seqloom.cli.main import main
from seqloom.config import constructor_arguments
from seqloom.errors import UsageError
from seqloom.evaluation.by_length import bucket_width, by_length
from seqloom.evaluation.evaluate import Evaluation, ExamplePrediction
from seqloom.metrics import METRICS
from seqloom.recipe import Recipe
from seqloom.tasks.algorithmic_task import Algorithms
from seqloom.views import LengthView


def score(lengths, seed=0, **options):
    """Answers of which the longer ones are worse, judged as the task judges them."""
    chance = np.random.default_rng(seed)
    task = Recipe(task={"name": "translate", **options}).build_task()
    examples, answers = [], []
    for length in lengths:
        words = [f"w{chance.integers(30)}" for _ in range(length)]
        asked = task.with_target(task.question(" ".join(words)), " ".join(words))
        kept = [word if chance.random() > 0.02 * length else "no" for word in words]
        examples.append(asked)
        answers.append(ExamplePrediction(" ".join(kept), -1.0))
    judged = [task.score(e, a.value, 1.0) for e, a in zip(examples, answers, strict=True)]
    tallies = {name: [one[name] for one in judged] for name in judged[0]}
    return task, Evaluation(examples, answers, tallies, 1.0)


@pytest.mark.parametrize(
    "lengths, step", [([1], 1), ([8] * 9, 1), ([9] * 9, 2), ([5, 40], 5), ([1000] * 3, 200)]
)
def test_steps_are_round(lengths, step):
    assert bucket_width(lengths) == step


def test_each_bucket_is_measured_by_itself():
    lengths = [1 + n % 37 for n in range(149)] + [90]
    task, found = score(lengths)
    view = by_length(task, found, "mine")
    buckets = view.curves[0].buckets
    assert sum(bucket.count for bucket in buckets) == 150 and len(buckets) <= 8
    assert [bucket.title for bucket in buckets][0] == "1-5" and buckets[-1].title == "36+"
    for bucket in buckets:
        last = bucket.last or max(lengths)
        inside = [n for n, length in enumerate(lengths) if bucket.first <= length <= last]
        assert len(inside) == bucket.count
        alone = METRICS["bleu"].measure([found.tallies["bleu"][n] for n in inside])
        assert (bucket.value, bucket.low, bucket.high) == (alone.value, alone.low, alone.high)
    assert buckets[1].value > buckets[-1].value, "the longer ones were made worse"
    assert "mine: " in view.caption and buckets[-1].title in view.caption


def test_rates_are_shown_in_percent():
    task, found = score([3, 4] * 10, metrics="errors")
    view = by_length(task, found, "mine")
    assert view.metric == "sequence error rate, %"
    assert by_length(task, found, "mine", metric="loss").metric == "loss, nats per token"


def test_the_picture_and_its_table(tmp_path):
    lengths = [1 + n % 30 for n in range(90)]
    one, other = (by_length(*score(lengths, seed), name) for seed, name in ((0, "a"), (1, "b")))
    both = one.beside(other)
    assert isinstance(both, LengthView) and both.model == "a, b"
    table = both.to_table()
    assert len(table) == 1 + 2 * len(one.curves[0].buckets)
    svg = both.save(tmp_path / "l.svg").read_text()
    ElementTree.fromstring(svg)
    assert svg.count("95 %") == 1 and "1-5" in svg
    facts = json.loads(json.dumps(both.to_json()))
    assert facts["view"] == "by-length" and facts["models"][1]["name"] == "b"
    for width, ascii in ((40, True), (100, False)):
        lines = both.to_text(width, ascii=ascii).split("\n")
        assert max(map(len, lines)) <= width
        assert not ascii or "".join(lines).isascii()


def test_numbers_have_no_length():
    task = Algorithms(**constructor_arguments(Algorithms, {"problem": "adding", "length": 10}))
    with pytest.raises(UsageError, match="U085"):
        by_length(task, Evaluation([], [], {}, 0.0))


@pytest.fixture
def run(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    small = [
        "--set",
        "model.embedding_size=8",
        "--set",
        "model.hidden_size=8",
        "--set",
        "training.epochs=1",
    ]
    assert main(["train", "translate", "pairs.tsv", "-n", "t", "-q", *small]) == 0
    capsys.readouterr()
    return "t"


def test_the_command_shows_and_draws_it(run, capsys):
    assert main(["evaluate", run, "pairs.tsv", "--by-length", "-o", "l.svg"]) == 0
    said = capsys.readouterr().out
    assert "BLEU: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in said
    assert "BLEU by tokens of the source" in said and said.rstrip().endswith("l.svg")
    ElementTree.parse("l.svg")
    assert main(["evaluate", run, "pairs.tsv", "--by-length", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    buckets = facts["by_length"]["models"][0]["buckets"]
    assert sum(bucket["count"] for bucket in buckets) == facts["n"]
    assert facts["signatures"]["tokenised_bleu"].count("tok:none") == 1


def test_a_picture_of_nothing_is_refused(run, capsys):
    assert main(["evaluate", run, "-o", "l.svg"]) == 2
    assert "--by-length" in capsys.readouterr().err


def test_odd_inputs_are_answered_with_a_note(run, capsys):
    """Longer than twice the longest of training (5 words), and nothing but unknown words."""
    texts = ["the cat sees", " ".join(["the cat"] * 6), "ζῷον ἄνθρωπος", "the zebra"]
    assert main(["translate", run, *texts]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 4
    assert "note: 3 of 19 tokens are unknown" in said.err
    assert "note: input 3 has no known token" in said.err
    assert "note: input 2 has up to 12 tokens, and the longest training source has 5" in said.err
    assert main(["translate", run, "the cat sees the dog", "-q"]) == 0
    assert capsys.readouterr().err == ""
