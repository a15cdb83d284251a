"""Texts and their labels: how they are read, judged and refused."""

import numpy as np
import pytest

import seqloom
from seqloom.data.options import Data
from seqloom.data.text.documents import SENTENCE_BREAK, DocumentOptions
from seqloom.errors import DataError
from seqloom.metrics import value_of
from seqloom.recipe import Recipe
from seqloom.runs.check import check
from seqloom.runs.splits import fingerprint, read_parts
from seqloom.signature import END, Bits
from seqloom.tasks.classify import Classify, Labelled

SMALL = {"name": "recurrent", "embedding_size": 4, "hidden_size": 4}


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def trained(file, **task):
    recipe = Recipe({"train": str(file)}, {"name": "classify", **task}, SMALL, {"epochs": 1})
    return seqloom.train(recipe, runs=file.parent / "runs")


def table(rows):
    return "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)


def test_end_stands_between_sentences_and_at_the_end():
    task = Classify(documents=DocumentOptions(sentences=True), min_frequency=1)
    example = task.question("It was dull. Go home!")
    task.prepare(
        [example._replace(labels=("bad",)), task.question("yes")._replace(labels=("good",))]
    )
    numbers = task.encode(example).source
    assert [place for place, n in enumerate(numbers) if n == END] == [3, 6]
    assert (
        all(task.is_known(example))
        and task.show_tokens(example, "bad")[0].count(SENTENCE_BREAK) == 2
    )
    assert np.array_equal(task.encode_source(task.question(task.show_question(example))), numbers)


def test_what_was_typed_is_shown_as_it_was_typed():
    """Line breaks end sentences, also where the text is asked again on one line."""
    task = Classify(documents=DocumentOptions(sentences=True, split_punctuation=True))
    example = task.question('No "stop"\nMr. X, here. "Yes" he said')
    again = task.question(task.show_question(example))
    assert "\n" not in task.show_question(example) and "Mr. X" in task.show_question(example)
    assert again.symbols == example.symbols
    assert example.symbols.count(SENTENCE_BREAK) == 2


def test_several_labels_are_bits():
    task = Classify(several=True, separator="|")
    examples = [
        task.example(row)
        for row in read(task, "text,label\none film,drama| comedy\nanother,\nthird one,drama\n")
    ]
    assert [example.labels for example in examples] == [("drama", "comedy"), (), ("drama",)]
    task.prepare(examples)
    assert task.signature().target == Bits(2)
    targets = [task.encode(example).target.tolist() for example in examples]
    assert targets == [[[1.0, 1.0]], [[0.0, 0.0]], [[0.0, 1.0]]]
    assert [task.decode(target) for target in targets] == [["comedy", "drama"], [], ["drama"]]
    assert task.show([]) == "(none)"


def read(task, content, name="f.csv"):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / name, content)
        return task.open(path, Data()).rows


def test_several_labels_are_judged_one_by_one():
    task = Classify(several=True)
    task.labels.learn(["a", "b", "c"])
    right = [Labelled([], ("a", "b")), Labelled([], ()), Labelled([], ("c",))]
    answers = [["a"], [], ["b", "c"]]
    judged = [task.score(e, a, 0.0) for e, a in zip(right, answers, strict=True)]
    assert value_of("exact_match", [one["exact_match"] for one in judged]) == pytest.approx(1 / 3)
    assert value_of("micro_f1", [one["micro_f1"] for one in judged]) == pytest.approx(4 / 6)
    assert value_of("macro_f1", [one["macro_f1"] for one in judged]) == pytest.approx(2 / 3)
    decisions = task.label_decisions(right[0], answers[0], np.array([[0.9, 0.2, 0.4]])).decisions
    assert [(one.right, one.guessed) for one in decisions] == [("a", "a"), ("b", ""), ("", "")]
    assert [one.confidence for one in decisions] == pytest.approx([0.9, 0.8, 0.6])


def test_runners_up_are_shown_in_short():
    task = Classify()
    task.labels.learn(["ham", "spam", "eggs", "toast"])
    chances = np.array([[0.004, 0.032, 0.954, 0.01]])  # eggs, ham, spam, toast
    assert task.show_with_probabilities("spam", chances) == "spam 95 %   (ham 3 %, toast 1 %)"
    assert list(task.probabilities(chances)) == ["spam", "ham", "toast", "eggs"]
    assert task.show_with_probabilities("spam", np.array([[0, 0, 0.999, 0.001]])) == "spam >99 %"
    several = Classify(several=True)
    several.labels.learn(["a", "b"])
    assert several.show_with_probabilities(["a"], np.array([[0.9, 0.4]])) == "a 90 %   (b 40 %)"
    assert (
        several.show_with_probabilities([], np.array([[0.1, 0.4]])) == "(none)   (b 40 %, a 10 %)"
    )


def test_a_folder_may_bring_its_parts(tmp_path):
    for part, number in (("train", 8), ("test", 3)):
        for n in range(number):
            written(tmp_path / "set" / part / "pos" / f"{n}.txt", f"good {part} {n}\n")
            written(tmp_path / "set" / part / "neg" / f"{n}.txt", f"bad {part} {n}\n")
    data = Data(train=str(tmp_path / "set"), valid_fraction=0.2)
    parts = read_parts(Classify(), data)
    assert len(parts.test) == 6 and len(parts.train) + len(parts.valid) == 16
    before = fingerprint(Classify(), data)
    assert set(before) == {"train", "test"}
    written(tmp_path / "set" / "test" / "neg" / "1.txt", "changed\n")
    after = fingerprint(Classify(), data)
    assert after["train"] == before["train"] and after["test"] != before["test"]
    report = check(tmp_path / "set", None, Data(), {})
    assert (report.task, report.format, report.counts["rows"]) == ("classify", "folder", 16)


def test_the_same_text_is_never_on_both_sides(tmp_path):
    """Also where texts differ beyond what is read of them, in case or in spaces."""
    rows = [(f"Text  {n % 10} and {'more ' * n}", n % 2) for n in range(40)]
    file = written(tmp_path / "f.csv", table(rows))
    task = Classify(documents=DocumentOptions(max_words=2))
    parts = read_parts(task, Data(train=str(file), valid_fraction=0.2, test_fraction=0.2))
    keys = [{task.key(e) for e in part} for part in (parts.train, parts.valid, parts.test)]
    assert all(keys) and not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])


def test_one_class_only(tmp_path):
    file = written(tmp_path / "f.csv", table((f"text {n}", "good") for n in range(30)))
    with pytest.raises(DataError, match="D074.*'good'"):
        trained(file)
    found = {one.code: one for one in check(file, "classify", Data(), {}).findings}
    assert found["D074"].level == "problem"


def test_labels_alike_and_rare_ones_are_named(tmp_path):
    rows = [(f"text {n}", ["spam", "Spam", "not spam", "not  spam"][n % 4]) for n in range(80)]
    file = written(tmp_path / "f.csv", table([*rows, ("one more", "rare"), ("and more", "rare")]))
    notes = " ".join(trained(file).events()[0]["notes"])
    assert "'Spam' and 'spam' differ only by case or space" in notes
    assert "'not  spam' and 'not spam'" in notes and "'rare' (" in notes
    codes = [one.code for one in check(file, "classify", Data(), {}).findings]
    assert codes.count("D072") == 2 and "D073" in codes


def test_columns_swapped(tmp_path):
    rows = [(["good", "bad"][n % 2], f"a long review of number {n}") for n in range(30)]
    file = written(tmp_path / "f.csv", table(rows))
    with pytest.raises(DataError, match=r"D141.*longer than texts") as caught:
        trained(file)
    assert "--columns text=LABEL,label=TEXT" in caught.value.help[0]
    report = check(file, "classify", Data(), {})
    assert report.has_problems and report.findings[0].code == "D141"
    names = [(f"n{n}", ["Vietnamese", "Portuguese"][n % 2]) for n in range(30)]
    read(Classify(), table(names))  # labels may well be longer


@pytest.mark.parametrize("content, code", [
    ("text,label\nfine,good\n,bad\n", "D014"),
    ("text,label\nfine,good\nno label,\n", "D014"),
])  # fmt: skip
def test_texts_and_labels_that_are_missing(tmp_path, content, code):
    file = written(tmp_path / "f.csv", content)
    with pytest.raises(DataError, match=code):
        Classify().read(file, Data())


def test_several_labels_must_be_asked_for(tmp_path):
    file = written(tmp_path / "f.txt", "__label__a __label__b x y\n__label__a z\n")
    with pytest.raises(DataError, match="D142") as caught:
        Classify().read(file, Data())
    assert "task.several=true" in caught.value.help[0]
    assert Classify(several=True).read(file, Data())[0].labels == ("a", "b")


def test_documents_without_sentences_and_long_ones_are_told_of(tmp_path):
    rows = [(f"one {n}. two words {n}!", n % 2) for n in range(30)] + [("...", 0), ("!!", 1)]
    file = written(tmp_path / "f.csv", table(rows))
    options = {"sentences": True, "max_sentences": 1}
    notes = trained(file, **options).events()[0]["notes"]
    assert any("at most 1 sentences of a text are read" in note for note in notes)
    assert any("no sentences, only marks" in note for note in notes)
    found = {one.code: one for one in check(file, "classify", Data(), options).findings}
    assert found["D147"].level == "note" and "30 of 32 texts" in found["D147"].text
    assert "2 texts have no sentences, only marks (line 32, 33)" in found["D140"].text


def test_a_text_that_is_too_long_says_how_to_cut_it(tmp_path):
    file = written(tmp_path / "f.csv", table([("word " * 30, "a"), ("b", "b")]))
    with pytest.raises(DataError, match="D041") as caught:
        Classify().read(file, Data(max_length=20))
    assert "task.max_words" in caught.value.help[-1]
    short = Classify(documents=DocumentOptions(max_words=20)).read(file, Data(max_length=20))
    assert short[0].is_cut and not short[1].is_cut


@pytest.mark.parametrize("lines, task", [
    (["1 a fine film", "0 what a bore", "1 so good", "0 too long"], "classify"),
    (["__label__x a fine film", "__label__y what a bore"], "classify"),
    (["the cat sees", "a dog hears", "the dog sees", "a cat hears"], "language"),
])  # fmt: skip
def test_check_tells_labels_from_words(tmp_path, lines, task):
    """Sentences may begin with the same few words; numbers and marks are labels."""
    file = written(tmp_path / "f.txt", "\n".join(lines) + "\n")
    assert check(file, None, Data(), {}).task == task
    if task == "language":
        assert check(file, "classify", Data(), {}).format == "label-first"


def test_letters_stand_beside_words_and_ends_have_none():
    task = Classify(min_frequency=1, letters=True, documents=DocumentOptions(sentences=True))
    examples = [
        task.with_target(task.question(text), x) for text, x in (("ab c. dd", "p"), ("e", "n"))
    ]
    task.prepare(examples)
    source = task.encode(examples[0]).source
    words, letters = task.signature().source.parts
    assert source.shape == (len(examples[0].symbols) + 1, 1 + letters.length)
    assert (source[:, 0] == task.vocabulary.encode(examples[0].symbols, end=True)).all()
    is_end = source[:, 0] == 2
    assert is_end[-1] and (source[is_end, 1:] == 0).all() and (source[~is_end, 1] > 3).all()
    assert words == task.vocabulary.space
