"""Hierarchical attention: against one sentence at a time, and its view."""

import json

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.inspection import inspect_model
from seqloom.models.hierarchical_attention import HierarchicalAttention, SentenceSplit
from seqloom.signature import END, Form, Labels, Signature, Tokens
from seqloom.tasks.classify import Classify
from seqloom.trace import watch
from seqloom.views import HierarchyView

SIGNATURE = Signature(Form.WHOLE, Tokens(12), Labels(3))
DOCUMENTS = [  # of several sentences, of empty ones, of one, without END, and of nothing
    [*range(4, 12), *range(4, 12), 5, END, 6, END, 4, 5, 6, END],
    [END, 5, END, END],
    [7, 8, 9, END],
    [7, 8, 9],
    [4, END, 5],
    [END],
]
SOURCE = Sequences.pad([np.array(row) for row in DOCUMENTS])


def made(**options):
    torch.manual_seed(0)
    return HierarchicalAttention(SIGNATURE, embedding_size=6, hidden_size=8, **options).eval()


def sentences(document):
    found = [[]]
    for symbol in document:
        found[-1].append(symbol)
        if symbol == END:
            found.append([])
    return [sentence for sentence in found if sentence]


def one_at_a_time(model, document, word_weights=None, sentence_weights=None):
    """The equations of the docstring, sentence by sentence, without any padding."""
    read = []
    for sentence in sentences(document):
        x = model.input(torch.tensor([sentence]))
        states = model.words(x, torch.tensor([len(sentence)]))[0]
        look = model.word_attention
        u = torch.tanh(states @ look.hide.weight.T + look.hide.bias) @ look.score.weight[0]
        weights = u.softmax(0) if word_weights is None else word_weights(len(sentence))
        read.append(weights @ states)
    states = model.sentences(torch.stack(read)[None], torch.tensor([len(read)]))[0]
    look = model.sentence_attention
    u = torch.tanh(states @ look.hide.weight.T + look.hide.bias) @ look.score.weight[0]
    weights = u.softmax(0) if sentence_weights is None else sentence_weights(len(read))
    return weights @ states


@pytest.mark.parametrize("cell", ["gru", "lstm", "elman"])
def test_all_together_is_one_sentence_at_a_time(cell):
    model = made(cell=cell)
    with torch.no_grad():
        expected = torch.stack([one_at_a_time(model, document) for document in DOCUMENTS])
        torch.testing.assert_close(model.encode(SOURCE), expected, rtol=1e-4, atol=1e-5)


def test_attention_that_favours_nothing_is_a_mean():
    model = made()
    for attention in (model.word_attention, model.sentence_attention):
        torch.nn.init.zeros_(attention.score.weight)
    with torch.no_grad():
        even = [one_at_a_time(model, d, lambda n: torch.full((n,), 1 / n), lambda n: torch.full((n,), 1 / n)) for d in DOCUMENTS]  # fmt: skip
        torch.testing.assert_close(model.encode(SOURCE), torch.stack(even), rtol=1e-4, atol=1e-5)


def test_sentences_are_cut_after_each_end():
    cut = SentenceSplit(SOURCE)
    expected = [sentences(document) for document in DOCUMENTS]
    assert cut.counts.tolist() == [len(found) for found in expected]
    assert cut.lengths.tolist() == [len(sentence) for found in expected for sentence in found]
    flat = SOURCE.values.ravel()
    found = [flat[s : s + n].tolist() for s, n in zip(cut.starts, cut.lengths, strict=True)]
    assert found == [sentence for document in expected for sentence in document]
    buckets = cut.buckets()
    assert sorted(np.concatenate(buckets).tolist()) == list(range(len(found)))
    assert len(buckets) == 2 and max(cut.lengths[buckets[0]]) <= 8


def test_what_is_recorded_sums_to_one():
    model = made()
    with torch.no_grad(), watch(model) as trace:
        model.encode(SOURCE)
    (words,) = trace.of_kind("hierarchy.words")
    (weights,) = trace.of_kind("hierarchy.sentences")
    (numbers,) = trace.of_kind("hierarchy.numbers")
    (every,) = trace.of_kind("attention")
    np.testing.assert_allclose(weights.value.sum(1), 1, atol=1e-6)
    for row, document in enumerate(DOCUMENTS):
        for number, sentence in enumerate(sentences(document)):
            places = np.flatnonzero(numbers.value[row, : len(document)] == number)
            assert len(places) == len(sentence)
            assert words.value[row, places].sum() == pytest.approx(1, abs=1e-5)
            share = every.value[row, 0, places].sum()
            assert share == pytest.approx(weights.value[row, number], abs=1e-5)


def test_a_picture_of_a_document(tmp_path):
    task = Classify(min_frequency=1)
    task.prepare([task.question("a good film but a long one")._replace(labels=(x,)) for x in "pn"])
    torch.manual_seed(0)
    model = HierarchicalAttention(task.signature(), embedding_size=6, hidden_size=8)
    question = task.question("a long film")
    view = inspect_model(model, task, question, "p", "mine")
    assert isinstance(view, HierarchyView)
    assert view.sentences == [["a", "long", "film", "</s>"]]
    assert view.sentence_weights.tolist() == [1.0]
    assert inspect_model(
        model, task, question, "p", "mine", "attention"
    ).weights.sum() == pytest.approx(1)


def test_the_picture_says_what_counts(tmp_path):
    read = [["it", "rains", "."], ["a", "wonderful", "film"]]
    view = HierarchyView(read, [0.2, 0.8], [[0.3, 0.3, 0.4], [0.1, 0.85, 0.05]], "mine")
    assert (
        view.caption == 'Sentence 2 of 2 has the largest weight (0.80), in it "wonderful" (0.85).'
    )
    lines = view.to_text(width=30, ascii=True).split("\n")
    assert lines[0].startswith(" 20 %") and lines[1].startswith(" 80 %")
    assert "%wonderful" in lines[1] and all(len(line) <= 30 for line in lines)
    assert "█wonderful" in view.to_text() or "▇wonderful" in view.to_text()
    svg = view.to_svg()
    assert "wonderful: 0.850, sentence: 0.800" in svg and ">sentence: 0.800<" in svg
    found = json.loads(view.save(tmp_path / "seen.json").read_text())
    assert found["sentences"][1] == {
        "weight": 0.8, "words": ["a", "wonderful", "film"], "weights": [0.1, 0.85, 0.05],
    }  # fmt: skip
    assert view.to_table()[4] == ["a", "0.10", "0.80"]
    with pytest.raises(ValueError, match="expected 3 weights"):
        HierarchyView(read, [0.2, 0.8], [[0.3, 0.7], [0.1, 0.85, 0.05]], "mine")


def test_every_word_is_learned_from():
    model = made(dropout=0.2).train()
    labels = Sequences.pad([np.array([n % 3]) for n in range(len(DOCUMENTS))])
    model.loss(Batch(SOURCE, labels)).backward()
    read = sorted({symbol for document in DOCUMENTS for symbol in document})
    assert (model.input.table.weight.grad[read].abs().sum(1) > 0).all()
