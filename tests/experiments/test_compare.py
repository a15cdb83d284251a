"""Comparing: verdicts, differences in sentences, and where each run wins."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from seqloom.evaluation.evaluate import Evaluation, ExamplePrediction
from seqloom.evaluation.significance import (
    ComparedRun,
    describe_difference,
    difference,
    paired_tests,
    verdict,
)
from seqloom.evaluation.slices import compare_slices
from seqloom.metrics import METRICS, Ratio
from seqloom.recipe import Recipe


@pytest.mark.parametrize("metric, first, second, told", [
    ("accuracy", [0] * 40 + [1] * 60, [0] * 10 + [1] * 90,
     r"accuracy: B is better than A by 30\.00 points, 95 % 2\d\.\d\d to \d\d\.\d\d"),
    ("sequence_error", [1] * 40 + [0] * 60, [1] * 10 + [0] * 90,
     r"sequence error rate: B is better than A by 30\.00 points, 95 % 2\d.+ to [34]\d.+"),
    ("accuracy", [1] * 90 + [0] * 10, [1] * 60 + [0] * 40,
     r"accuracy: A is better than B by 30\.00 points, 95 % 2\d.+ to [34]\d.+"),
    ("loss", [1.0, 2.0] * 50, [1.1, 1.9] * 49 + [1.1, 1.5],
     r"loss, .*: the difference could be chance: B is ahead by 0\.004, 95 % -0\.0\d+ to 0\.0\d+"),
    ("accuracy", [0, 0, 1, 1], [1, 1, 0, 0], "accuracy: A and B are equal"),
    ("loss", [1.0] * 9, [math.inf] * 9,
     "loss, .*: A is infinitely better than B"),
])  # fmt: skip
def test_a_difference_in_a_sentence(metric, first, second, told):
    found = METRICS[metric].difference([Ratio(x, 1) for x in first], [Ratio(x, 1) for x in second])
    assert re.fullmatch(told, describe_difference(metric, "A", "B", found))


def contender(name: str, right: np.ndarray) -> ComparedRun:
    ratios = [Ratio(float(hit), 1) for hit in right]
    found = {"accuracy": METRICS["accuracy"].measure(ratios)}
    lines = tuple(range(len(right)))
    return ComparedRun(name, {}, found, {"accuracy": ratios}, lines, 1.0, 1, 1, 1.0)


def told(runs):
    return verdict(runs, paired_tests(runs))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_examples_are_too_few_to_say(count):
    """Of one example any two models differ "always"; no verdict comes of that."""
    runs = [contender("A", np.ones(count)), contender("B", np.zeros(count))]
    assert told(runs).endswith(f"{count} example{'s are' if count > 1 else ' is'} too few to say"
                               " whether that is chance.")  # fmt: skip
    test = paired_tests(runs).to_first["B"]["accuracy"]
    assert "too few to say" in describe_difference("accuracy", "A", "B", test)
    assert "nan" not in describe_difference("accuracy", "A", "B", test)


def test_many_tests_are_adjusted_for_their_number():
    """Five runs, four of them as good as the first: no more than 5 % of comparisons err."""
    chance, wrong = np.random.default_rng(0), 0
    for _ in range(150):
        runs = [contender(f"{n}", chance.random(60) < 0.7) for n in range(5)]
        tests = paired_tests(runs)
        every = [one["accuracy"] for one in tests.to_first.values()]
        assert tests.number >= 4 and tests.best is not None
        alone = difference("accuracy", runs[0], runs[3])
        assert tests.to_first["3"]["accuracy"].p >= alone.p
        wrong += any(test.is_significant for test in [*every, tests.best])
    assert wrong <= 15


def test_twenty_labels_of_equal_models_have_no_winner():
    """Of 20 labels one differs by chance in most comparisons; the sentence may not name it."""
    task, chance, named = (
        Recipe(task={"name": "classify"}).build_task(),
        np.random.default_rng(2),
        0,
    )
    names = [f"label-{number}" for number in range(20)]
    right = [names[number % 20] for number in range(200)]
    examples = [
        task.with_target(task.question("word " * (1 + n % 30)), x) for n, x in enumerate(right)
    ]
    task.prepare(examples)
    for _ in range(20):
        scores = [
            judged(task, examples, [
                x if chance.random() < 0.7 else names[chance.integers(20)] for x in right
            ])
            for _ in range(2)
        ]  # fmt: skip
        found = looked(task, scores, "accuracy")
        named += any(one.is_significant for kind in found.values() for one in kind.slices)
        assert sum(len(kind.slices) for kind in found.values()) > 20
    assert named <= 4


def test_the_verdict_says_how_sure_it_is():
    hits = np.random.default_rng(0).random(400) < 0.7
    worse, awful, slightly = hits.copy(), hits.copy(), hits.copy()
    worse[np.flatnonzero(hits)[:20]] = False
    awful[:] = False
    slightly[np.flatnonzero(hits)[0]] = False
    good = contender("good", hits)
    assert "more than chance (p < 0.001)" in told([contender("awful", awful), good])
    assert told([good, contender("worse", worse)]).startswith("good is better")
    assert "may be chance" in told([good, contender("slightly", slightly)])
    assert "are equal" in told([good, contender("same", hits)])
    others = replace(contender("others", worse), example_ids=tuple("x" * 400))
    assert "different examples" in told([good, others])
    found = difference("accuracy", good, contender("worse", worse))
    assert found.low <= found.value <= found.high < 0


def judged(task, examples, answers):
    """Answers judged as the task judges them."""
    pairs = list(zip(examples, answers, strict=True))
    each = [task.score(example, answer, 1.0) for example, answer in pairs]
    tallies = {name: [one[name] for one in each] for name in each[0]}
    return Evaluation(
        list(examples), [ExamplePrediction(answer, -1.0) for answer in answers], tallies, 1.0
    )


def looked(task, scores, metric):
    names = ["A", "B", "C"][: len(scores)]
    return {one.kind: one for one in compare_slices([task] * len(scores), scores, names, metric)}


@pytest.fixture(scope="module")
def tagging():
    """A task of two tags, and 200 sentences of 1 to 40 words, some of which it never saw."""
    task, chance = (
        Recipe(task={"name": "tag", "min_frequency": 1}).build_task(),
        np.random.default_rng(0),
    )
    learned = [task.with_target(task.question("cat runs dog sits"), ["N", "V", "N", "V"])]
    task.prepare(learned)
    examples = []
    for number in range(200):
        words = [
            str(chance.choice(["cat", "runs", "dog", "axolotl"])) for _ in range(1 + number % 40)
        ]
        tags = ["V" if word == "runs" else "N" for word in words]
        examples.append(task.with_target(task.question(" ".join(words)), tags))
    return task, examples


def spoilt(example, is_spoilt):
    """The right answer, turned round where it is to be wrong."""
    other = {"N": "V", "V": "N"}
    places = enumerate(zip(example.words, example.tags, strict=True))
    return [
        other[tag] if is_spoilt(example, place, word, tag) else tag for place, (word, tag) in places
    ]


def test_each_wins_where_it_is_better(tagging):
    task, examples = tagging
    short = [
        spoilt(e, lambda e, place, word, tag: len(e.words) > 20 and place % 3 == 0)
        for e in examples
    ]
    long = [
        spoilt(e, lambda e, place, word, tag: len(e.words) <= 20 and place % 3 == 0)
        for e in examples
    ]
    scores = [judged(task, examples, answers) for answers in (short, long)]
    found = looked(task, scores, "accuracy")["length"]
    assert found.sentence() == "A wins on texts up to 20 words; B on texts over 20 words."
    assert [group.title for group in found.slices] == [
        *("1-5", "6-10", "11-15", "16-20", "21-25", "26-30", "31-35", "36-40"),
    ]
    assert all(group.count == 25 for group in found.slices)
    for group in found.slices:
        first, last = group.extent
        inside = [n for n, e in enumerate(examples) if first <= len(e.words) <= last]
        for value, score in zip(group.values, scores, strict=True):
            alone = METRICS["accuracy"].measure([score.tallies["accuracy"][n] for n in inside])
            assert value == alone


def test_labels_and_unknown_words(tagging):
    task, examples = tagging
    right = [example.tags for example in examples]
    blind = [
        spoilt(e, lambda e, place, word, tag: word == "axolotl" and place % 2) for e in examples
    ]
    found = looked(task, [judged(task, examples, right), judged(task, examples, blind)], "accuracy")
    known = found["known"]
    assert [group.title for group in known.slices] == ["known words", "unknown words"]
    unknown = sum(example.words.count("axolotl") for example in examples)
    assert known.slices[1].count == unknown
    assert known.slices[0].count == sum(len(e.words) for e in examples) - unknown
    assert known.slices[0].best is None and known.slices[0].values[0].value == 1
    assert known.sentence() == "A wins on unknown words; elsewhere the difference could be chance."
    label = found["label"]
    assert [group.title for group in label.slices] == ["N", "V"], "the most frequent first"
    guessed = [tag for tags in blind for tag in tags]
    pairs = list(zip(guessed, [tag for tags in right for tag in tags], strict=True))
    hits = sum(a == b == "V" for a, b in pairs)
    f1 = 2 * hits / (sum(a == "V" for a, _ in pairs) + sum(b == "V" for _, b in pairs))
    assert label.slices[1].values[1].value == pytest.approx(f1)
    assert label.sentence() == "A wins everywhere."


def test_equal_runs_win_nowhere(tagging):
    task, examples = tagging
    score = judged(task, examples, [example.tags for example in examples])
    for one in looked(task, [score, score], "accuracy").values():
        assert one.sentence() == f"By {one.title}, no difference is more than chance."
        assert all(group.best is None for group in one.slices)
        told = one.as_dict()
        assert [value["run"] for value in told["groups"][0]["values"]] == ["A", "B"]
        assert told["groups"][0]["best"] is None and not told["groups"][0]["certain"]


def test_three_runs_and_a_middle(tagging):
    task, examples = tagging
    right = [example.tags for example in examples]
    middle = [spoilt(e, lambda e, place, word, tag: 10 < len(e.words) <= 30) for e in examples]
    ends = [spoilt(e, lambda e, place, word, tag: not 10 < len(e.words) <= 30) for e in examples]
    never = [spoilt(e, lambda e, place, word, tag: True) for e in examples]
    scores = [judged(task, examples, answers) for answers in (middle, ends, never)]
    told = looked(task, scores, "accuracy")["length"].sentence()
    assert told == "A wins on texts up to 10 words and over 30 words; B on texts of 11 to 30 words."
    scores = [judged(task, examples, answers) for answers in (never, right, ends)]
    assert looked(task, scores, "accuracy")["known"].slices[0].best == 1


def test_texts_that_are_translated_have_no_labels():
    task = Recipe(task={"name": "translate", "source_tokens": "words"}).build_task()
    texts = [" ".join(["word"] * (1 + n % 10)) for n in range(60)]
    examples = [task.with_target(task.question(text), text) for text in texts]
    task.prepare(examples[:1])
    score = judged(task, examples, texts)
    metric = next(iter(score.tallies))
    found = looked(task, [score, score], metric)
    assert list(found) == ["length"] and found["length"].metric is METRICS[metric]
