"""Plain text in every kind of symbol: the same measures, the same text back, a sentence for bad input."""

import json
import math

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.data.text.tokenizers import TOKENIZERS, VocabularyOptions
from seqloom.errors import DataError
from seqloom.runs.check import check
from seqloom.runs.splits import read_parts
from seqloom.signature import END
from seqloom.tasks.language import Language, Text

LINES = ["the cat sees  the dog", " a naïve dog", "漢字 and a bird "]
ways = [{"tokens": kind} for kind in TOKENIZERS] + [{"tokens": "subwords", "subwords": "unigram"}]
every_kind = pytest.mark.parametrize("options", ways, ids=lambda o: "-".join(o.values()))
every_layout = pytest.mark.parametrize("layout", ["lines", "stream"])


def prepared(options, layout="lines", lines=LINES):
    task = Language(**options, layout=layout)
    examples = [Text(line, number) for number, line in enumerate(lines, 1)]
    task.prepare(examples)
    return task, examples


@every_layout
@every_kind
def test_bits_are_per_character_and_byte_of_the_file(options, layout):
    """By hand: the text as it stands in the file, with one line end after each line."""
    task, examples = prepared(options, layout)
    nats = [1.0, 2.0, 4.0]
    judged = [task.score(e, None, n) for e, n in zip(examples, nats, strict=True)]
    file = "".join(line + "\n" for line in LINES)
    for name, size in (("bits_per_character", len(file)), ("bits_per_byte", len(file.encode()))):
        top, bottom = np.sum([one[name] for one in judged], axis=0)
        assert bottom == size and top == pytest.approx(7 / math.log(2))
    symbols = sum(one["perplexity"].bottom for one in judged)
    assert symbols == sum(len(task.encode(example).target) for example in examples)
    assert next(iter(judged[0])) == task.primary_metric


@every_layout
@every_kind
def test_what_is_encoded_comes_back(options, layout):
    task, examples = prepared(options, layout)
    for example in examples:
        again = task.decode(task.encode(example).target.tolist())
        line_end = "\n" if layout == "stream" else ""
        assert again == task.vocabulary.round_trip(example.text) + line_end
        ids = task.encode(example).target
        assert (ids[-1] == END) == (layout == "lines" or options["tokens"] == "words")
        assert task.is_known(example) == [True] * len(task.encode_source(example))
        read, written = task.show_tokens(example, None)
        assert len(read) == len(written) == len(ids)
        assert read[1:] == written[:-1]
        assert (
            written[-1] == ("</s>" if ids[-1] == END else "\n") or options["tokens"] == "subwords"
        )
        assert task.length(example) == len(ids) - (layout == "lines")


@every_layout
@every_kind
def test_a_text_can_be_gone_on_with(options, layout):
    """A prompt has no end, and what is typed is read as the beginning of the same line."""
    task, examples = prepared(options, layout)
    prompt = task.question("the cat")
    assert task.decode(task.encode_source(prompt).tolist()) == "the cat"
    if layout == "stream":
        assert np.array_equal(task.encode(prompt).target, task.encode_source(prompt))


def test_lines_of_a_stream_of_words_end_with_end():
    task, examples = prepared({"tokens": "words"}, "stream")
    rows = [n for example in examples for n in task.encode(example).target.tolist()]
    assert task.decode(rows) == "the cat sees the dog\na naïve dog\n漢字 and a bird\n"


def test_the_share_of_the_unknown():
    task, examples = prepared({"tokens": "words", "vocab_size": 2})
    assert task.vocabulary.tokens[4:] == ["a", "dog"]
    assert task.unknown_fraction([Text("a cat"), Text("dog x a dog")]) == 2 / 6
    assert task.is_known(Text("a cat")) == [True, False]
    assert prepared({"tokens": "bytes"})[0].unknown_fraction([Text("ß")]) == 0


def test_rows_that_differ_by_spaces_alone_are_the_same_words():
    words, characters = (prepared({"tokens": kind})[0] for kind in ("words", "characters"))
    assert words.key(Text("a  b")) == words.key(Text("a b ")) != words.key(Text("b a"))
    assert characters.key(Text("a  b")) != characters.key(Text("a b"))


@every_layout
def test_pictures_show_what_is_not_known(layout):
    task, _ = prepared({"tokens": "characters"}, layout)
    assert task.show_tokens(task.question("tß"), None)[1][:2] == ["t", "ß"]


@every_kind
def test_a_run_of_every_kind(options, data):
    """Trained, saved, loaded, judged and generated from, with all its options in the recipe."""
    settings = {f"task.{key}": value for key, value in options.items()}
    run = seqloom.train("language", data / "text.txt", runs=data / "runs", settings=settings)
    again = seqloom.load(run.folder)
    assert again.evaluate().values() == run.evaluate().values()
    assert isinstance(again.generate("the"), str)
    assert run.evaluate().values()["bits_per_byte"] == run.evaluate().values()["bits_per_character"]


def test_a_given_tokenizer_goes_with_the_run(data, monkeypatch):
    made = TOKENIZERS["subwords"](VocabularyOptions(max_size=270))
    made.learn((data / "text.txt").read_text().split("\n"))
    path = data / "tokenizer.json"
    path.write_text(json.dumps(made.state()))
    monkeypatch.chdir(data)
    settings = {"task.tokens": "subwords", "task.tokenizer": "tokenizer.json"}
    run = seqloom.train("language", data / "text.txt", runs=data / "runs", settings=settings)
    path.unlink()
    again = seqloom.load(run.folder)
    assert again.task.vocabulary.tokens == made.tokens
    assert again.evaluate().values() == run.evaluate().values()
    seqloom.resume(run.folder)


def started(run):
    return next(event for event in run.events() if event["kind"] == "start")


def test_what_is_odd_is_told_when_training_begins(data):
    settings = {"task.tokens": "subwords", "task.vocab_size": 50_000}
    run = seqloom.train("language", data / "text.txt", runs=data / "runs", settings=settings)
    (note,) = started(run)["notes"]
    assert note.startswith("vocab_size is 50,000; the text has only ")
    (data / "one.txt").write_text("".join("a" * n + "\n" for n in range(1, 40)))
    run = seqloom.train("language", data / "one.txt", runs=data / "runs")
    assert "all tokens of the text are 'a'" in started(run)["notes"][0]


@pytest.mark.parametrize(
    "options, unit, kinds",
    [
        ({}, "characters", {13}),
        ({"tokens": "bytes"}, "bytes", {14}),
        ({"tokens": "words"}, "words", {8}),
        ({"tokens": "subwords", "vocab_size": 300}, "subwords", range(8, 20)),
    ],
)
def test_check_counts_in_every_kind(options, unit, kinds, tmp_path):
    (tmp_path / "t.txt").write_text("the cat sees the dog\nthe dog hears\né b c b\n")
    report = check(tmp_path / "t.txt", "language", Data(), options)
    (part,) = report.parts
    assert part.unit == unit and part.kinds in kinds
    codes = {finding.code: finding for finding in report.findings}
    assert ("D061" in codes) == (unit == "subwords")
    assert not report.has_problems
    assert report.next.endswith("".join(f" --set task.{k}={v}" for k, v in options.items()))


def test_check_finds_a_text_of_one_symbol(tmp_path):
    (tmp_path / "t.txt").write_text("zzz\nzz\n")
    found = check(tmp_path / "t.txt", "language", Data(), {}).findings
    assert [f.level for f in found if f.code == "D060"] == ["warning"]


def test_a_tokenizer_of_another_kind_stops_training_with_a_sentence(data):
    (data / "t.json").write_text("{}")
    settings = {"task.tokens": "subwords", "task.tokenizer": str(data / "t.json")}
    with pytest.raises(DataError, match=r"D062.*is not a tokenizer"):
        seqloom.train("language", data / "text.txt", runs=data / "runs", settings=settings)
    assert not (data / "runs").exists()


@every_kind
def test_a_stream_is_cut_at_the_same_place_whatever_its_symbols(options, data):
    """Else bits per character would be of different texts; only a word is never cut in two."""
    task = Language(**options, layout="stream")
    parts = read_parts(task, Data(train=str(data / "text.txt")))
    found = ["".join(e.text + "\n" * e.ends for e in part) for part in (parts.train, parts.valid)]
    text = (data / "text.txt").read_text()
    assert text.startswith(found[0] + found[1])
    place = int(0.9 * len(text))
    assert found[0] == text[: task.vocabulary.next_boundary(text, place)]
    assert 0 <= len(found[0]) - place < 5 and (
        len(found[0]) == place or options["tokens"] == "words"
    )


def test_words_are_not_cut_in_two():
    text = " the cat  sees"
    seams = [
        TOKENIZERS["words"](VocabularyOptions()).next_boundary(text, place)
        for place in range(len(text) + 1)
    ]
    assert seams == [0, 1, 4, 4, 4, 5, 8, 8, 8, 9, 10, 14, 14, 14, 14]
    assert TOKENIZERS["bytes"](VocabularyOptions()).next_boundary(text, 3) == 3


@every_kind
def test_a_stream_of_every_kind(options, data):
    """A network learns it, is judged on every character, and goes on with it."""
    settings = {f"task.{key}": value for key, value in options.items()} | {
        "task.layout": "stream",
        "model.hidden_size": 8,
        "model.embedding_size": 8,
        "training.epochs": 1,
        "training.bptt": 16,
        "training.batch_size": 2,
    }
    run = seqloom.train(
        "language", data / "text.txt", model="recurrent", runs=data / "runs", settings=settings
    )
    score = run.evaluate(data / "text.txt")
    size = len((data / "text.txt").read_text())
    assert sum(r.bottom for r in score.tallies["bits_per_character"]) == size
    assert sum(r.bottom for r in score.tallies["bits_per_byte"]) == size
    assert 0 < score.values()["bits_per_byte"] < 20
    assert isinstance(run.generate("the cat"), str)


@every_kind
def test_check_reads_a_stream(options, data):
    report = check(
        data / "text.txt", "language", Data(max_length=5), {**options, "layout": "stream"}
    )
    assert not {"D040", "D041", "D075"} & {finding.code for finding in report.findings}
