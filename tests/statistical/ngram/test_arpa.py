"""ARPA files: KenLM gives the same probabilities, and damaged files are errors with their line."""

import io

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.data.text.vocabulary import Vocabulary
from seqloom.errors import DataError, ModelError
from seqloom.models.ngram import NGram
from seqloom.signature import Form, Signature
from seqloom.statistical.ngram.arpa import format_arpa, read_arpa

SMOOTHINGS = ["modified-kneser-ney", "kneser-ney", "katz", "witten-bell"]
GOOD = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-99\t<s>\t-0.5
-0.5\t</s>
-0.7\t<unk>
-0.4\ta\t-0.2

\\2-grams:
-0.1\t<s> a
-0.3\ta </s>

\\end\\
"""


def texts(seed, count, kinds=30):
    chance = np.random.default_rng(seed)
    rows = [chance.zipf(1.4, chance.integers(1, 12)) % kinds for _ in range(count)]
    return [[f"w{n}" for n in row] for row in rows]


def made(training, **options):
    vocabulary = Vocabulary()
    vocabulary.learn(training, min_frequency=2)
    model = NGram(Signature(Form.NEXT, vocabulary.space, vocabulary.space), **options)
    target = Sequences.pad([vocabulary.encode(text, end=True) for text in training])
    model.update(model.statistics(Batch(target, target)))
    return model, vocabulary


def written(model, vocabulary):
    return "".join(format_arpa(model.grams, vocabulary.tokens))


def grams_in(text):
    return sorted(line.split("\t")[1] for line in text.split("\n") if "\t" in line)


def scores(model, vocabulary, held_out):
    target = Sequences.pad([vocabulary.encode(text, end=True) for text in held_out])
    return model.log_prob(Batch(target, target)) / np.log(10)


def read(text):
    grams, symbols = read_arpa(io.StringIO(text), "some.arpa")
    vocabulary = Vocabulary()
    vocabulary.restore(symbols)
    model = NGram(Signature(Form.NEXT, vocabulary.space, vocabulary.space), order=grams.order)
    model.restore(grams.arrays())
    return model, vocabulary


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("min_frequency", [(), (1, 2, 2)])
def test_kenlm_gives_the_same(tmp_path, smoothing, order, min_frequency):
    kenlm = pytest.importorskip("kenlm")
    training, held_out = texts(1, 300), texts(2, 80, kinds=40)
    model, vocabulary = made(
        training, smoothing=smoothing, order=order, min_frequency=min_frequency
    )
    path = tmp_path / "model.arpa"
    path.write_text(written(model, vocabulary))
    settings = kenlm.Config()
    settings.show_progress = False
    oracle = kenlm.Model(str(path), settings)
    expected = [oracle.score(" ".join(text)) for text in held_out]
    np.testing.assert_allclose(scores(model, vocabulary, held_out), expected, atol=1e-4)


@pytest.mark.parametrize("smoothing", [*SMOOTHINGS, "maximum-likelihood"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_there_and_back(smoothing, order):
    training, held_out = texts(1, 200), texts(2, 50, kinds=40)
    model, vocabulary = made(training, smoothing=smoothing, order=order)
    text = written(model, vocabulary)
    again, symbols = read(text)
    assert symbols.tokens == vocabulary.tokens
    before, after = (scores(m, vocabulary, held_out) for m in (model, again))
    np.testing.assert_allclose(after, before, atol=1e-4)
    assert grams_in(written(again, symbols)) == grams_in(text)


@pytest.mark.parametrize("order", [3, 4, 6])
def test_there_and_back_with_sections_that_have_no_ngrams(order):
    training = [["a"], ["b"], ["a"]]  # no n-gram is longer than <s> a </s>
    model, vocabulary = made(training, order=order)
    text = written(model, vocabulary)
    assert [f"ngram {n}=0\n" in text for n in range(4, order + 1)] == [True] * (order - 3)
    again, symbols = read(text)
    assert again.grams.order == order and written(again, symbols) == text
    before, after = (scores(m, vocabulary, [["b"], ["a", "b"]]) for m in (model, again))
    np.testing.assert_allclose(after, before, atol=1e-4)


def test_words_alone_leave_the_other_sections_empty():
    text = GOOD.replace("ngram 2=2", "ngram 2=0").replace("-0.1\t<s> a\n-0.3\ta </s>\n", "")
    (log_prob,) = scores(*read(text), [["a"]])
    assert log_prob == pytest.approx(-0.5 - 0.4 - 0.2 - 0.5, abs=1e-4)  # every word backs off


def test_white_space_within_tokens():
    training = [list("a b\tc"), list("b a\u00a0\u2028")] * 3
    model, vocabulary = made(training, order=3)
    text = written(model, vocabulary)
    assert "<U+0020>" in text and "<U+2028>" in text
    again, symbols = read(text)
    assert symbols.tokens == vocabulary.tokens
    np.testing.assert_allclose(
        scores(again, vocabulary, training), scores(model, vocabulary, training), atol=1e-4
    )


def test_add_k_has_no_arpa_form():
    with pytest.raises(ModelError, match="M151") as raised:
        written(*made(texts(1, 50), smoothing="add-k", order=2))
    assert "add-k" in raised.value.problem
    assert "\\end\\" in written(*made(texts(1, 50), smoothing="add-k", order=1))


def test_weights_without_longer_grams_count():
    """Other tools leave weights where they have pruned what followed."""
    model, vocabulary = read(GOOD)
    # p(a | <s>) is there; <unk> after a is backed off to, and </s> after <unk> has no context.
    expected = -0.1 + (-0.2 - 0.7) - 0.5
    assert scores(model, vocabulary, [["a", "b"]])[0] == pytest.approx(expected, abs=1e-5)


def test_text_before_the_header_is_skipped():
    model, _ = read("made by hand\n\n" + GOOD)
    assert model.order == 2


@pytest.mark.parametrize(
    "wrong, code, line",
    [
        ("", "D080", 0),
        ("a text\nof two lines\n", "D080", 2),
        (GOOD.removesuffix("\n\\end\\\n"), "D080", 13),
        (GOOD[: GOOD.index("-0.3\ta")], "D080", 12),
        (GOOD[: GOOD.index("\\2-grams")], "D080", 10),
        (GOOD.replace("\\data\\\n", ""), "D081", 4),
        (GOOD.replace("ngram 2=2", "ngram 3=2"), "D081", 3),
        (GOOD.replace("ngram 1=4", "ngram 1=four"), "D081", 2),
        (GOOD.replace("ngram 1=4\nngram 2=2\n", ""), "D081", 3),
        (GOOD.replace("ngram 2=2", "ngram 2=3"), "D082", 15),
        (GOOD.replace("ngram 1=4", "ngram 1=3"), "D082", 11),
        (GOOD.replace("\\2-grams:", "\\3-grams:"), "D082", 11),
        (GOOD.replace("\\end\\", "\\3-grams:"), "D082", 15),
        (GOOD.replace("a </s>", "b </s>"), "D083", 13),
        (GOOD.replace("-0.3\ta </s>", "-0.3\ta"), "D084", 13),
        (GOOD.replace("-0.3\ta </s>", "x\ta </s>"), "D084", 13),
        (GOOD.replace("-0.3\ta </s>", "0.3\ta </s>"), "D084", 13),
        (GOOD.replace("-0.3\ta </s>", "nan\ta </s>"), "D084", 13),
        (GOOD.replace("-0.3\ta </s>", "-0.3\t<s> a"), "D085", 13),
    ],
)
def test_damage_is_an_error_with_its_line(wrong, code, line):
    with pytest.raises(DataError) as raised:
        read(wrong)
    assert (raised.value.code, raised.value.place.line) == (code, line)
    assert raised.value.place.file == "some.arpa"


def test_a_gram_without_its_beginning():
    longer = GOOD.replace("ngram 2=2\n", "ngram 2=2\nngram 3=1\n")
    longer = longer.replace("\n\\end\\", "\n\\3-grams:\n-0.2\ta a </s>\n\n\\end\\")
    with pytest.raises(DataError, match="first 2 tokens") as raised:
        read(longer)
    assert (raised.value.code, raised.value.place.line) == ("D085", 17)
