"""Puzzles from text to text: executed by Python itself, read in every order, kept apart."""

import re
from collections import Counter

import pytest

from seqloom.cli.main import main
from seqloom.errors import DataError, UsageError
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.signature import Form
from seqloom.tasks.algorithmic import PUZZLES, ProblemOptions
from seqloom.tasks.algorithmic.text import FORMS
from seqloom.tasks.algorithmic_task import Algorithms
from tests.tasks.test_algorithms import printed

TEXTS = [name for name, kind in PUZZLES.items() if kind.form is Form.TRANSDUCE]


def drawn(problem, count=300, seed=1, **shape):
    """A task, and its questions and answers as text."""
    task = Algorithms(problem=problem, shape=ProblemOptions(**shape), examples=count, seed=seed)
    made = task.generator().draw("train")
    return task, [(task.show_question(e), task.decode(e.answer.tolist())) for e in made]


@pytest.mark.parametrize("nesting", [1, 2, 3, 6])
@pytest.mark.parametrize("digits", [1, 4, 9, 18])
def test_programs_print_what_python_prints(digits, nesting):
    for seed in range(8):
        _, pairs = drawn("programs", 25, seed, digits=digits, nesting=nesting)
        for text, answer in pairs:
            assert printed(text) == answer, text


def test_programs_have_the_shape_asked_for():
    """As many operations as the nesting; numbers below 10^D, small ones up to 4 D; one loop deep."""
    for nesting in (1, 3):
        _, pairs = drawn("programs", 600, digits=3, nesting=nesting)
        kinds = Counter()
        for text, _ in pairs:
            text = text.replace("\\n", "\n")
            found = {
                "loop": text.count("for x in"),
                "choice": text.count(" if "),
                "product": text.count("*"),
                "assignment": len(re.findall(r"^[a-z]=", text, re.M)) - text.count("for x in"),
            }
            signs = len(re.findall(r"[+-](?!=)", text))  # those of assignments are theirs
            found["sum"] = signs - found["assignment"]
            assert sum(found.values()) == nesting, text
            kinds.update(kind for kind, number in found.items() if number)
            assert all(int(number) < 1000 for number in re.findall(r"\d+", text))
            assert all(1 <= int(n) <= 12 for n in re.findall(r"range\((\d+)\)", text))
            for one, other in re.findall(r"(\w+|\))\*(\w+|\()", text):
                assert any(n.isdigit() and 1 <= int(n) <= 12 for n in (one, other)), text
        assert min(kinds[k] for k in ("loop", "choice", "product", "assignment", "sum")) > 60


def test_a_deeper_program_goes_on_from_the_result_so_far():
    """Every operation uses what the one before it made: nothing is left unread."""
    _, pairs = drawn("programs", 300, digits=2, nesting=4)
    for text, _ in pairs:
        *lines, last = text.split("\\n")
        for number, line in enumerate(lines):
            name = re.match(r"(?:for x in range\(\d+\):)?([a-z])", line)[1]
            later = "\n".join([*lines[number + 1 :], last])
            assert re.search(rf"(?<![a-z]){name}(?![a-z])", later), text


def test_a_scrambled_program_keeps_its_characters_and_its_answer():
    _, plain = drawn("programs", 200, digits=4, nesting=1)
    _, mixed = drawn("programs", 200, digits=4, nesting=1, scrambled=True)
    assert mixed == drawn("programs", 200, digits=4, nesting=1, scrambled=True)[1]
    assert sorted(mixed[0][0].replace("\\n", "\n")) == sorted(plain[0][0].replace("\\n", "\n"))
    assert mixed[0][1] == plain[0][1]  # only the first is drawn from the same numbers
    assert sum("print(" in text for text, _ in mixed) < 5
    # Of each, the answer can still be right: the characters are those of a program that prints it.
    assert all(set("print()") <= set(text) for text, _ in mixed)


@pytest.mark.parametrize("problem", TEXTS)
@pytest.mark.parametrize(
    "reversed_, doubled", [(False, False), (True, False), (False, True), (True, True)]
)
def test_the_order_in_which_a_question_is_read(problem, reversed_, doubled):
    plain, pairs = drawn(problem, 20)
    task, again = drawn(problem, 20, reversed=reversed_, doubled=doubled)
    assert again == pairs, "what is asked and answered is the same in every order"
    for example, (text, _) in zip(task.generator().draw("train"), pairs, strict=True):
        *read, end = task.show_tokens(example, "")[0]
        text = text.replace("\\n", "\n")
        first = text[::-1] if reversed_ else text
        assert "".join(read) == (f"{first};{text}" if doubled else first) and end == "</s>"
        assert (
            task.encode(example).source.tolist() == task.encode_source(task.question(text)).tolist()
        )


def test_numbers_of_addition():
    _, pairs = drawn("addition", 2000, digits=4)
    lengths = Counter(tuple(map(len, text.split("+"))) for text, _ in pairs)
    assert set(lengths) == {(a, b) for a in range(1, 5) for b in range(1, 5)}
    # 1 to 4 digits are equally likely; a tenth of each begins with a zero, and is shorter.
    assert lengths[4, 4] == pytest.approx(2000 * (0.9 / 4) ** 2, rel=0.3)
    assert not any(re.search(r"\b0\d", text) for text, _ in pairs)


def test_sums_that_were_learned_are_not_asked_the_other_way_round():
    recipe = Recipe(task={"name": "algorithms", "problem": "addition", "digits": 2})
    recipe = recipe.with_settings({"task.examples": 1500, "task.test_examples": 500})
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())

    def asked(examples):
        return {frozenset(task.show_question(e).split("+")) for e in examples}

    train, valid, test = map(asked, (parts.train, parts.valid, parts.test))
    assert valid and test and not (train & valid or train & test or valid & test)


@pytest.mark.parametrize("problem", TEXTS)
def test_parts_are_apart(problem):
    sizes = {"examples": 800, "valid_examples": 400, "test_examples": 400}
    recipe = Recipe(task={"name": "algorithms", "problem": problem, **sizes})
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    train, valid, test = (
        {task.show_question(e) for e in part} for part in (parts.train, parts.valid, parts.test)
    )
    assert valid and test and not (train & valid or train & test or valid & test)


def test_every_form_of_a_date_is_drawn():
    """Which form: digits, letters and marks are left of a question by their kind."""
    _, pairs = drawn("dates", 2500)
    years = Counter(answer[:4] for _, answer in pairs)
    assert min(years) == "1900" and max(years) == "2099" and len(years) > 190
    cases = Counter(t.islower() - t.isupper() for t, _ in pairs if re.search("[A-Za-z]{3}", t))
    assert cases[0] == pytest.approx(cases[1] + cases[-1], rel=0.15)
    kinds = {re.sub("[A-Za-z]+", "a", re.sub(r"\d", "0", text)) for text, _ in pairs}
    known = {"d": "0", "dd": "00", "nth": "0a", "m": "0", "mm": "00", "year": "0000"}
    words = dict.fromkeys(("month", "mon", "weekday", "day"), "a")
    for form in FORMS:
        assert re.sub("[A-Za-z]+", "a", form.format(**known, **words)) in kinds, form


def test_levels_grow_in_digits_first_then_in_nesting():
    task = Algorithms(problem="programs", shape=ProblemOptions(digits=3, nesting=2), examples=40)
    shapes = [(p.shape.nesting, p.shape.digits) for p in task.puzzle.easier()]
    assert shapes == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    levels = task.generator().easier()
    assert [len(level) for level in levels] == [40] * 5
    first = [task.show_question(example) for example in levels[0]]
    assert all(int(n) < 10 for text in first for n in re.findall(r"\d+", text))
    assert first == [task.show_question(example) for example in task.generator().easier()[0]]
    assert [len(Algorithms(problem=p).generator().easier()) for p in ("addition", "dates")] == [
        2,
        0,
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"problem": "addition", "digits": 0}, "digits = 0: this problem needs at least 1"),
        ({"problem": "programs", "digits": 0}, "digits = 0: this problem needs at least 1"),
        ({"problem": "programs", "nesting": 0}, "nesting = 0: this problem needs at least 1"),
        ({"problem": "programs", "digits": 19}, "room for at most 18 digits in a number"),
        ({"problem": "addition", "digits": 40}, "room for at most 18 digits in a number"),
        ({"problem": "programs", "nesting": 26}, "at most 25, a letter for each variable"),
        ({"problem": "reversal", "length": 0}, "length = 0: this problem needs at least 1"),
        ({"problem": "addition", "nesting": 2}, "nesting = 2: this problem has no such setting"),
        ({"problem": "dates", "scrambled": True}, "scrambled = true: this problem has no such"),
        ({"problem": "parity", "reversed": True}, "reversed = true: this problem has no such"),
        ({"problem": "programs", "length": 4}, "it takes digits, nesting, reversed, doubled"),
    ],
)
def test_wrong_settings(options, words):
    with pytest.raises(UsageError) as told:
        Recipe(task={"name": "algorithms", **options}, model={"name": "recurrent"}).checked()
    assert told.value.code == "U010" and words in str(told.value)


def test_a_puzzle_too_small_to_be_kept_apart():
    sizes = {"examples": 900, "valid_examples": 20, "test_examples": 20}
    recipe = Recipe(task={"name": "algorithms", "problem": "addition", "digits": 1, **sizes})
    with pytest.raises(DataError) as told:
        read_parts(recipe.build_task(), recipe.build_data())
    assert told.value.code == "D110" and "nothing is left for validation" in str(told.value)
    shared = recipe.with_settings({"data.allow_overlap": True})
    assert len(read_parts(shared.build_task(), shared.build_data()).valid) == 20


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    """Train, evaluate, ask with a typed line break, look inside."""
    monkeypatch.chdir(tmp_path)
    sizes = {"problem": "programs", "examples": 40, "valid_examples": 8, "test_examples": 8}
    settings = {f"task.{name}": value for name, value in sizes.items()}
    settings |= {"training.max_steps": 2, "model.hidden_size": 6, "model.embedding_size": 6}
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]

    def say(*arguments):
        code = main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    assert say("train", "algorithms", "-n", "small", *given)[0] == 0
    code, said = say("evaluate", "small")
    assert code == 0 and "sequence error rate" in said and "greedy search" in said
    assert say("predict", "small", r"j=85\nprint((j+920))", "print((é+1))")[0] == 0
    code, said = say("inspect", "small", "--text", r"j=85\nprint((j+920))")
    assert code == 0 and "</s>" in said
