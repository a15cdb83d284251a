"""Sampling draws what the model says, cut as it is told, and the same from the same seed."""

import itertools

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.decoding import Sampling, sample, sample_steps, sampling
from seqloom.decoding.sampling import truncated_distribution
from seqloom.errors import UsageError
from seqloom.model import Stateful, Streaming
from seqloom.models import MODELS
from seqloom.signature import BEGIN, END, PAD, Form, Signature, Tokens

from ..contracts.cases import build, small

SIZE = 9
NEXT = Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE))
WRITERS = [name for name in MODELS if MODELS[name].supports(NEXT)]
CUTS = {
    "plain": {},
    "cold": {"temperature": 0.5},
    "hot": {"temperature": 1.7},
    "top-k": {"top_k": 3},
    "top-p": {"top_p": 0.7},
    "min-p": {"min_p": 0.3},
    "all": {"temperature": 1.3, "top_k": 5, "top_p": 0.9, "min_p": 0.1},
}
COUNT = 2_000
# Every cut of a model that counts and of one that learns; of the others none, and all together.
TRIED = [
    (name, cut)
    for name in WRITERS
    for cut in CUTS
    if name in ("ngram", "recurrent") or cut in ("plain", "all")
]


def of(*rows):
    return Sequences.pad([np.array(row, dtype=np.int64) for row in rows])


def model_of(name, seed=3):
    model = build(name, NEXT, small(name, {}), seed)
    if hasattr(model, "parameters"):  # random weights are almost even: nothing would be cut
        for weight in model.parameters():
            weight.data.mul_(3)
    return model


def by_hand(log_probs, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0):
    """The same distribution in plain Python, symbol by symbol."""
    chance = {
        i: float(np.exp(log_probs[i])) for i in range(len(log_probs)) if i not in (PAD, BEGIN)
    }
    chance = {i: p ** (1 / temperature) for i, p in chance.items()}
    ranked = sorted(chance, key=lambda i: (-chance[i], i))[: top_k or None]
    total, sum_so_far, nucleus = sum(chance[i] for i in ranked), 0.0, []
    for i in ranked:
        nucleus.append(i)
        sum_so_far += chance[i]
        if sum_so_far >= top_p * total:
            break
    left = [i for i in nucleus if chance[i] >= min_p * chance[ranked[0]]]
    whole = sum(chance[i] for i in left)
    return np.array([chance[i] / whole if i in left else 0.0 for i in range(len(log_probs))])


def limit_of_chi_square(degrees):
    """What only one test in 10,000 passes by chance (Wilson & Hilferty, 1931)."""
    return degrees * (1 - 2 / (9 * degrees) + 3.72 * np.sqrt(2 / (9 * degrees))) ** 3


def chi_square(seen, chance):
    real = chance > 0
    assert not seen[~real].any(), "what was cut is never drawn"
    expected = seen.sum() * chance[real]
    return ((seen[real] - expected) ** 2 / expected).sum(), int(real.sum()) - 1


def is_like(seen, chance):
    found, degrees = chi_square(seen, chance)
    return degrees == 0 or found < limit_of_chi_square(degrees)


def after(model, symbols):
    """Log-probabilities after BEGIN and these symbols."""
    with model.inference_mode():
        state = model.begin(of(symbols))
        for symbol in [BEGIN, *symbols]:
            log_probs, state = model.step(np.array([symbol]), state)
    return log_probs[0]


@pytest.mark.parametrize(("name", "cut"), TRIED)
def test_draws_are_as_likely_as_the_model_says(name, cut):
    """The first symbol, and the second after the commonest first, against brute force."""
    model, settings = model_of(name), Sampling(limit=2, seed=5, **CUTS[cut])
    none = of(*[[]] * COUNT)
    drawn = [[*row.tolist(), END] for row in sample(model, none, settings, none)]
    firsts = np.bincount([row[0] for row in drawn], minlength=SIZE)
    assert is_like(firsts, by_hand(after(model, []), **CUTS[cut]))
    common = next(i for i in np.argsort(-firsts) if i != END)
    seconds = np.bincount([row[1] for row in drawn if row[0] == common], minlength=SIZE)
    assert is_like(seconds, by_hand(after(model, [common]), **CUTS[cut]))


def test_the_test_can_fail():
    """SamplingDecoder at one temperature are not taken for draws at another a little off."""
    model, none = model_of("ngram"), of(*[[]] * (3 * COUNT))
    drawn = sample(model, none, Sampling(limit=1), none)
    firsts = np.bincount([row[0] if len(row) else END for row in drawn], minlength=SIZE)
    assert is_like(firsts, by_hand(after(model, [])))
    assert not is_like(firsts, by_hand(after(model, []), temperature=1.25))


@pytest.mark.parametrize("seed", range(20))
def test_cuts_are_those_of_brute_force(seed, monkeypatch):
    monkeypatch.setattr(sampling, "NUCLEUS_GUESS", 1 + seed % 3)
    chance = np.random.default_rng(seed)
    p = chance.dirichlet(np.full(12, 0.5))
    if seed % 2:  # ties, zeros, and what they do to the cuts
        p = np.round(p, 1)
        p[5] += 0.1
        p /= p.sum()
    with np.errstate(divide="ignore"):
        log_probs = np.log(p)
    for t, k, n, m in itertools.product(
        (0.3, 1.0, 2.0), (0, 1, 4, 50), (0.253, 0.811, 1.0), (0, 0.37)
    ):
        found, chances = truncated_distribution(
            log_probs, Sampling(temperature=t, top_k=k, top_p=n, min_p=m)
        )
        spread = np.zeros(12)
        spread[found] = chances
        np.testing.assert_allclose(spread, by_hand(log_probs, t, k, n, m), atol=1e-12)


@pytest.mark.parametrize("name", WRITERS)
def test_no_heat_takes_the_likeliest(name):
    model = model_of(name)
    (drawn,) = sample(model, of([4]), Sampling(temperature=0, limit=5), of([4]))
    text = [4]
    while len(text) < 6:
        log_probs = np.array(after(model, text))
        log_probs[[PAD, BEGIN]] = -np.inf
        text.append(int(log_probs.argmax()))
        if text[-1] == END:
            text.pop()
            break
    assert drawn.tolist() == text[1:]


@pytest.mark.parametrize("temperature", [1e-9, 1e-300, 1e9])
def test_extreme_heat_is_no_trouble(temperature):
    found, chances = truncated_distribution(
        np.log([0.1, 0.1, 0.2, 0.6]), Sampling(temperature=temperature)
    )
    spread = dict(zip(found.tolist(), chances.tolist(), strict=True))
    assert spread[3] == pytest.approx(1 if temperature < 1 else 0.5)


@pytest.mark.parametrize("name", WRITERS)
def test_a_row_draws_the_same_alone_as_beside_others(name):
    """Also where prompts have different lengths, and rows that end leave the batch."""
    model = model_of(name)
    prompts = [[4, 5, 6], [], [7], [4, 4, 4, 4, 4], [8, 5]]
    settings = Sampling(limit=12, seed=9)

    def drawn(prompts, rows):
        """What each row draws; the first ends first, and all but the last before the limit."""
        streams, found = [settings.rng(row) for row in rows], [[] for _ in rows]
        is_last = lambda row, _: len(found[row]) >= 3 * (rows[row] + 1)  # noqa: E731
        steps = sample_steps(model, prompts, settings, prompts, rngs=streams, is_last=is_last)
        for step in steps:
            for row, symbol in zip(step.rows.tolist(), step.tokens.tolist(), strict=True):
                found[row].append(symbol)
        return found

    beside = drawn(of(*prompts), range(5))
    for row, prompt in enumerate(prompts):
        assert drawn(of(prompt), [row]) == [beside[row]]
    assert [len(row) for row in beside] == [3, 6, 9, 12, 12]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("rows", [1, 3])
def test_long_prompts_are_read_at_once_to_the_same_end(name, rows, monkeypatch):
    """In one pass or in several, and by steps: alone, where a stepper goes on, and in a batch."""
    model, chance = model_of(name), np.random.default_rng(2)
    prompts = of(*[chance.integers(4, SIZE, 30 + row).tolist() for row in range(rows)])
    settings = Sampling(limit=20)
    monkeypatch.setattr(sampling, "SHORT_PROMPT", 1000)
    steps = [row.tolist() for row in sample(model, prompts, settings, prompts)]
    monkeypatch.setattr(sampling, "SHORT_PROMPT", 0)
    for at_once in (1000, 7):
        monkeypatch.setattr(sampling, "CHUNK", at_once)
        found = [row.tolist() for row in sample(model, prompts, settings, prompts)]
        assert found == steps
    assert any(steps)


@pytest.mark.parametrize("name", WRITERS)
def test_a_stepper_goes_on_from_a_row_of_the_state(name):
    """Where both can be had, what follows a prompt is what follows its steps."""
    model = model_of(name)
    if not (isinstance(model, Streaming) and isinstance(model, Stateful)):
        pytest.skip("it has no stepper of its own, or cannot read in windows")
    stepper, symbols = model.stepper(), [BEGIN, 4, 5, 6, 7, 8, 4]
    state = stepper.begin()
    for symbol in symbols[:-1]:
        _, state = stepper.step(symbol, state)
    with model.inference_mode():
        assert sampling._are_rows(stepper.begin(), model.begin(of([])))
        read = of(symbols[1:])
        after = sampling._state_after(model, read, model.begin(read))
    row = tuple(np.asarray(part[0]) for part in after)
    for symbol in (symbols[-1], 5, 8):
        expected, state = stepper.step(symbol, state)
        found, row = stepper.step(symbol, row)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_same_seed_draws_the_same_and_another_does_not():
    model, none = model_of("ngram"), of([], [], [])
    first, again, other = (
        [row.tolist() for row in sample(model, none, Sampling(limit=40, seed=seed), none)]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len({tuple(row) for row in first}) > 1, "rows have streams of their own"


def test_symbols_come_as_they_are_drawn():
    """Nothing is read ahead: the model has made as many steps as symbols are asked for."""
    model, steps = model_of("ngram"), []

    class Counted:
        begin, inference_mode = model.begin, model.inference_mode

        def step(self, symbols, state):
            steps.append(symbols)
            return model.step(symbols, state)

    drawn = sample_steps(Counted(), of([4, 5]), Sampling(limit=50), of([4, 5]))
    next(drawn)
    assert len(steps) == 3, "BEGIN and the prompt are read first"
    next(drawn)
    assert len(steps) == 4


def test_what_is_last_is_asked_of_the_caller():
    model, none = model_of("ngram"), of([], [])
    never = [
        d.tokens for d in sample_steps(model, none, Sampling(limit=60), none, is_last=lambda *_: 0)
    ]
    assert len(never) == 60 and all(len(symbols) == 2 for symbols in never)
    assert any(END in symbols for symbols in never), "an end is a symbol like others here"
    first = sample_steps(model, none, Sampling(limit=60), none, is_last=lambda row, _: row == 0)
    assert [drawn.rows.tolist() for drawn in first][:2] == [[0, 1], [1]]


@pytest.mark.parametrize("name", WRITERS)
def test_between_two_symbols_a_model_can_be_trained(name):
    """Being at rest is no state of the world that the caller is left in."""
    torch = pytest.importorskip("torch")
    model, none = model_of(name), of([], [])
    drawn = sample_steps(model, none, Sampling(), none)
    next(drawn)
    assert torch.is_grad_enabled() and getattr(model, "training", True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"limit": -1},
        {"seed": -1},
    ],
    ids=str,
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))) as told:
        Sampling(**wrong)
    assert told.value.code == "U030"


def test_a_model_that_gives_nothing_a_chance():
    with pytest.raises(UsageError, match="all tokens the probability 0") as told:
        truncated_distribution(np.full(SIZE, -np.inf), Sampling())
    assert told.value.code == "U032"


TRANSDUCE = Signature(Form.TRANSDUCE, Tokens(SIZE), Tokens(SIZE))
TRANSLATORS = [name for name in MODELS if MODELS[name].supports(TRANSDUCE) and name != "mixture"]
SOURCES = [[4, 5, 6, END], [7, END], [8, 8, END], [5, 4, 5, 4, 5, END], [6, END]]


def translator_of(name, seed=3):
    model = build(name, TRANSDUCE, small(name, {}), seed)
    for weight in model.parameters():
        weight.data.mul_(3)
    return model


@pytest.mark.parametrize("name", TRANSLATORS)
def test_translations_are_drawn_as_likely_as_the_model_says(name):
    model, source = translator_of(name), of(SOURCES[0])
    with model.inference_mode():
        log_probs, _ = model.step(np.array([BEGIN]), model.begin(source))
    many, none = of(*[SOURCES[0]] * COUNT), of(*[[]] * COUNT)
    drawn = sample(model, many, Sampling(limit=1, seed=5), none)
    firsts = np.bincount([row[0] if len(row) else END for row in drawn], minlength=SIZE)
    assert is_like(firsts, by_hand(np.asarray(log_probs[0])))


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translation_is_drawn_the_same_alone_as_beside_others(name):
    """Rows leave the batch one by one, and those that stay go on with their own sources."""
    model, settings = translator_of(name), Sampling(limit=15, seed=4)

    def drawn(rows):
        sources, streams = of(*(SOURCES[row] for row in rows)), map(settings.rng, rows)
        found, none = [[] for _ in rows], of(*[[]] * len(rows))
        is_last = lambda row, _: len(found[row]) >= 2 * rows[row] + 1  # noqa: E731
        ways = {"rngs": list(streams), "is_last": is_last}
        for step in sample_steps(model, sources, settings, none, **ways):
            for row, symbol in zip(step.rows.tolist(), step.tokens.tolist(), strict=True):
                found[row].append(symbol)
        return found

    beside = drawn(range(5))
    assert [len(row) for row in beside] == [1, 3, 5, 7, 9]
    assert [drawn([row])[0] for row in range(5)] == beside


@pytest.mark.parametrize("name", ["ngram", "recurrent", "transformer"])
def test_what_rules_bar_is_never_drawn(name):
    """No pair comes twice, none ends too soon, and only what is allowed is drawn."""
    model, none = model_of(name), of(*[[]] * 200)
    plain = sample(model, none, Sampling(limit=12), none)
    pairs = [list(itertools.pairwise(row.tolist())) for row in plain]
    assert any(len(set(row)) < len(row) for row in pairs), "without the rule some do"
    assert min(map(len, plain)) < 3
    settings = Sampling(limit=12, block_ngrams=2, shortest=3)
    drawn = sample(model, none, settings, none, allow=frozenset({4, 6, 7}))
    for row in drawn:
        assert set(row.tolist()) <= {4, 6, 7} and len(row) >= 3
        found = list(itertools.pairwise(row.tolist()))
        assert len(set(found)) == len(found)
    assert {symbol for row in drawn for symbol in row.tolist()} == {4, 6, 7}


def test_what_is_left_is_drawn_as_likely_as_before():
    """A rule takes symbols away; among the others the odds stay the same."""
    model, none = model_of("ngram"), of(*[[]] * COUNT)
    drawn = sample(model, none, Sampling(limit=1, shortest=1), none, allow=frozenset({4, 5, 8}))
    firsts = np.bincount([row[0] for row in drawn], minlength=SIZE)
    chance = np.zeros(SIZE)
    chance[[4, 5, 8]] = np.exp(np.asarray(after(model, []))[[4, 5, 8]])
    assert is_like(firsts, chance / chance.sum())


def test_pairs_of_a_prompt_may_come_again():
    """What was given is no part of what is drawn."""
    model, prompt = model_of("ngram"), of(*[[4, 5, 4, 5, 4, 5]] * 300)
    drawn = sample(model, prompt, Sampling(limit=3, block_ngrams=1), prompt)
    assert all(len(set(row.tolist())) == len(row) for row in drawn)
    assert any(4 in row.tolist() for row in drawn)


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        ({"min_p": 0.25}, 3),
        ({"min_p": 0.2501}, 2),
        ({"min_p": 0.2499}, 3),
        ({"min_p": 1.0}, 1),
        ({"min_p": 0.125}, 5),
        ({"min_p": 0.25, "temperature": 2.0}, 5),  # its square root is what counts then
        ({"min_p": 0.25, "temperature": 0.5}, 2),
        ({"top_p": 0.75}, 2),
        ({"top_p": 0.7501}, 3),
        ({"top_k": 4}, 4),
        ({"top_k": 4, "min_p": 0.125, "top_p": 0.99}, 4),
        ({"top_k": 2, "top_p": 0.6}, 1),  # of the two that are left, not of all
    ],
    ids=str,
)
def test_edges_of_cuts_belong_to_what_is_kept(cut, kept):
    """Halves of halves: each is an edge that a float holds exactly."""
    chance = np.array([0.0, 0.0, 0.5, 0.25, 0.125, 0.0625, 0.0625])
    with np.errstate(divide="ignore"):
        found, chances = truncated_distribution(np.log(chance), Sampling(**cut))
    assert found.tolist() == list(range(2, 2 + kept))
    wanted = chance[found] ** (1 / cut.get("temperature", 1.0))
    np.testing.assert_allclose(chances, wanted / wanted.sum())
