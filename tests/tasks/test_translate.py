"""Pairs in every kind of symbol, joint or not; texts as they were; copies; metrics by what it is for."""

import json

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.data.text.tokenizers import TOKENIZERS
from seqloom.errors import SeqloomError, UsageError
from seqloom.metrics import METRICS, value_of
from seqloom.recipe import Recipe
from seqloom.runs.check import check
from seqloom.signature import END, UNKNOWN, Tokens
from seqloom.tasks.translate import Translate

PAIRS = [
    ("The cat sees a dog.", "Le chat voit un chien."),
    ("a naïve dog, or two", "un chien naïf, ou deux"),
    ("Anna sees Bob", "Anna voit Bob"),
]


def made(pairs=PAIRS, **options):
    task = Recipe(task={"name": "translate", **options}).build_task()
    examples = [task.with_target(task.question(source), target) for source, target in pairs]
    task.prepare(examples)
    return task, examples


def both(kind, **options):
    return {"source_tokens": kind, "target_tokens": kind, **options}


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_every_kind_of_symbol_gives_texts_back(kind, joint):
    task, examples = made(**both(kind, joint_vocab=joint))
    for example, (source, target) in zip(examples, PAIRS, strict=True):
        item = task.encode(example)
        assert task.decode(item.target.tolist()) == target
        assert task.show_question(example) == source
        assert item.source[-1] == item.target[-1] == END
        names, written = task.show_tokens(example, target)
        assert len(names) == len(item.source) and len(written) == len(item.target)
        assert task.is_known(example) == [True] * (len(item.source) - 1)
    again = Recipe(task={"name": "translate", **both(kind, joint_vocab=joint)}).build_task()
    again.restore(json.loads(json.dumps(task.state())))
    assert np.array_equal(again.encode(examples[0]).target, task.encode(examples[0]).target)
    assert again.max_source_length() == max(len(task.encode(e).source) - 1 for e in examples)


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_joint_symbols_are_one_space_and_are_kept_once(kind):
    task, examples = made(**both(kind, joint_vocab=True))
    assert task.source is task.target and set(task.state()) == {"source", "lengths"}
    item = task.encode(examples[2])
    assert task.signature().source == task.signature().target
    assert item.source[0] == item.target[0], "Anna is Anna on both sides"
    alone, _ = made(**both(kind))
    assert set(alone.state()) == {"source", "target", "lengths"}


def test_how_many_symbols_there_are():
    many = [(f"w{n} the", f"x{n} le") for n in range(20)]
    task, _ = made(many, vocab_size=3)
    assert len(task.source.tokens) == len(task.target.tokens) == 4 + 3
    task, _ = made(many, min_frequency=2)
    assert task.source.tokens[4:] == ["the"] and task.target.tokens[4:] == ["le"]
    task, _ = made(many, min_frequency=2, joint_vocab=True)
    assert sorted(task.source.tokens[4:]) == ["le", "the"]
    task, _ = made(many, source_tokens="bytes", vocab_size=3)
    assert len(task.source.tokens) == 4 + 256 and len(task.target.tokens) == 4 + 3


def test_writing_is_that_of_the_options():
    options = {"source_lowercase": True, "split_punctuation": True, "plain_punctuation": True}
    task, examples = made(**options)
    assert task.source.tokenize(examples[0].source) == ["the", "cat", "sees", "a", "dog", "⁀."]
    assert task.decode(task.encode(examples[0]).target.tolist()) == "Le chat voit un chien."
    typed = task.question("THE CAT sees a dog .")
    assert task.source.tokenize(typed.source)[-1] == ".", "a blank that was there stays"
    assert task.question("THE cat").source == "the cat"
    both_small, examples = made(target_lowercase=True)
    assert both_small.decode(both_small.encode(examples[2]).target.tolist()) == "anna voit bob"


COPYING = both("words", joint_vocab=True, copies=2, min_frequency=2)


def test_unknown_symbols_of_a_source_keep_their_own_numbers():
    """By hand: of both sides only "sees" and "voit" are seen twice."""
    pairs = [("a sees b", "a voit b"), ("c sees d", "e voit f")]
    task, _ = made(
        [*pairs, ("x y", "y")], **both("words", joint_vocab=True, copies=2, min_frequency=3)
    )
    assert len(task.source.tokens) == 4, "nothing is seen three times"
    task, _ = made(pairs, **COPYING)
    known = {name: number for number, name in enumerate(task.source.tokens)}
    size = len(known)
    assert sorted(task.source.tokens[4:]) == ["a", "b", "sees", "voit"]
    assert task.signature().source == task.signature().target == Tokens(size, 2)
    asked = task.with_target(task.question("Zoe sees Ann sees Zoe , Max"), "Max voit Zoe Ann a Kim")
    item = task.encode(asked)
    zoe, ann = size, size + 1
    # The comma and Max are the third and the fourth that are unknown: no more than two are kept.
    expected = [zoe, known["sees"], ann, known["sees"], zoe, UNKNOWN, UNKNOWN, END]
    assert item.source.tolist() == expected
    assert item.target.tolist() == [UNKNOWN, known["voit"], zoe, ann, known["a"], UNKNOWN, END]
    row = item.target.tolist()
    assert task.decode_for(asked, row) == "<unk> voit Zoe Ann a <unk>"
    assert task.decode(row) == "<unk> voit <unk> <unk> a <unk>", "without the question"
    assert task.decode_for(task.question("a sees b"), [size, END]) == "<unk>"


def test_characters_are_copied_too():
    task, _ = made([("ab", "ba")], **both("characters", joint_vocab=True, copies=1))
    asked = task.with_target(task.question("azb"), "bza")
    assert task.decode_for(asked, task.encode(asked).target.tolist()) == "bza"


@pytest.mark.parametrize(
    "options, code",
    [
        ({"joint_vocab": True, "source_tokens": "characters"}, "U082"),
        ({"copies": 3}, "U083"),
        ({"copies": -1, "joint_vocab": True}, "U083"),
        (both("subwords", copies=3, joint_vocab=True), "U083"),
        (both("characters", split_punctuation=True), "U084"),
        ({"tokenizer": "t.json"}, "D064"),
        ({"vocab_size": -1}, "D064"),
        (both("bytes", vocab_size=9), "D064"),
    ],
)
def test_options_that_do_not_go_together(options, code):
    with pytest.raises(SeqloomError, match=code) as caught:
        made(**options)
    assert caught.value.help


def test_what_it_is_judged_by():
    words, _ = made()
    assert words.primary_metric == "bleu"
    assert list(words.score(*judged(words))) == [
        *("bleu", "chrf", "tokenised_bleu", "sequence_error", "loss"),
    ]
    letters, _ = made(source_tokens="characters")
    assert letters.primary_metric == "sequence_error"
    right = letters.score(*judged(letters))
    assert list(right) == ["sequence_error", "symbol_error", "exact_match", "loss"]
    question, answer, nats = judged(letters)
    wrong = letters.score(question, answer + "s", nats)
    assert (right["exact_match"], wrong["exact_match"]) == ((1, 1), (0, 1))
    assert (right["sequence_error"], wrong["sequence_error"]) == ((0, 1), (1, 1))
    pieces, _ = made(**both("subwords"), metrics="errors")
    assert "word_error" in pieces.score(*judged(pieces)) and not pieces.metric_variants([])
    chosen, _ = made(**both("characters"), metrics="translation")
    assert chosen.primary_metric == "bleu"


def judged(task):
    question = task.with_target(task.question("a"), "un chat et un chien")
    return question._replace(references=(question.target,)), "un chat et un chien", 1.0


@pytest.mark.parametrize("kind", ["words", "subwords", "characters"])
def test_bleu_is_of_texts_and_tokenised_bleu_of_tokens(kind):
    """One mark is split off in the wrong way: a matter of tokens, not of the text."""
    import sacrebleu

    task, _ = made(**both(kind), metrics="translation", split_punctuation=kind == "words")
    right, guess = "Le chat, un chien voit.", "Le chat, le chien voit."
    asked = task.with_target(task.question("x"), right)
    found = task.score(asked, guess, 1.0)
    assert value_of("bleu", [found["bleu"]]) == sacrebleu.corpus_bleu([guess], [[right]]).score
    tokens = [text.replace(",", " ,").replace(".", " .") for text in (guess, right)]
    given = tokens if kind == "words" else [guess, right]
    expected = sacrebleu.corpus_bleu(
        [given[0]], [[given[1]]], tokenize="none", smooth_method="none", force=True
    )
    assert value_of("tokenised_bleu", [found["tokenised_bleu"]]) == expected.score


def test_several_references_and_the_signature():
    task, _ = made(target_lowercase=True)
    asked = task.question("x")._replace(
        target="un chat", references=("un chat", "le chat noir dort")
    )
    found = task.score(asked, "Le chat noir dort", 1.0)
    assert value_of("bleu", [found["bleu"]]) == pytest.approx(100)
    assert value_of("sequence_error", [found["sequence_error"]]) == 0
    how = task.metric_variants([asked])
    assert "nrefs:2|case:lc" in how["bleu"] and "tok:none" in how["tokenised_bleu"]


def test_word_errors_are_edits_of_words():
    task, _ = made(**both("characters"), metrics="errors")
    asked = task.with_target(task.question("x"), "le chat noir dort")
    found = task.score(asked, "le chien noir", 1.0)["word_error"]
    assert found.top == 2 and found.bottom == 4
    assert METRICS["word_error"].lower_is_better


def test_the_split_does_not_depend_on_what_was_learned(tmp_path):
    """A run that goes on must see the parts it began with, whatever its subwords are by then."""
    task, examples = made(**both("subwords"))
    fresh = Recipe(task={"name": "translate", **both("subwords")}).build_task()
    assert [task.key(e) for e in examples] == [fresh.key(e) for e in examples]


def test_check_reads_with_the_options(tmp_path):
    file = tmp_path / "p.tsv"
    file.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    report = check(file, "translate", Data(), both("subwords", vocab_size=300))
    assert [part.unit for part in report.parts] == ["subwords", "subwords"]
    report = check(file, "translate", Data(), {"split_punctuation": True, "source_lowercase": True})
    assert report.parts[0].longest == 6 and report.parts[0].unit == "words"


def test_trained_with_subwords_it_answers_after_loading(tmp_path):
    file = tmp_path / "p.tsv"
    file.write_text("".join(f"{a} {n}\t{b} {n}\n" for n in range(10) for a, b in PAIRS))
    options = both("subwords", joint_vocab=True, vocab_size=300, source_lowercase=True)
    settings = {f"task.{name}": value for name, value in options.items()}
    settings |= {"model.embedding_size": 8, "model.hidden_size": 8, "training.epochs": 1}
    run = seqloom.train("translate", file, settings=settings, runs=tmp_path / "runs")
    again = seqloom.load(run.folder)
    assert again.predict(["the CAT"]) == run.predict(["The cat"])
    values = again.evaluate(file).values()
    assert next(iter(values)) == "bleu" and 0 <= values["bleu"] <= 100


def test_usage_errors_are_told_when_a_recipe_is_checked():
    recipe = Recipe(
        data={"train": "x"},
        task={"name": "translate", "copies": 1},
        model={"name": "encoder-decoder"},
    )
    with pytest.raises(UsageError, match="U083"):
        recipe.checked()


def test_the_plain_task_is_words():
    assert Translate().primary_metric == "bleu"
