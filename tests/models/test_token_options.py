"""Embedding and output options: tying, pretrained embeddings, word dropout, adaptive softmax."""

import numpy as np
import pytest
import torch

import seqloom
from seqloom.batch import Batch, Sequences
from seqloom.cli.main import main
from seqloom.errors import ModelError
from seqloom.models import MODELS
from seqloom.models.recurrent import Recurrent
from seqloom.nn.embedding import word_embedding
from seqloom.nn.token_options import TokenOptions
from seqloom.runs.run import load
from seqloom.runs.train import train
from seqloom.signature import UNKNOWN, Columns, Form, Labels, Letters, Signature, Tokens

SIGNATURE = Signature(Form.NEXT, Tokens(30), Tokens(30))
TEXT = Sequences.pad([np.random.default_rng(1).integers(4, 30, n) for n in (9, 5)])


def reader(**token_options):
    torch.manual_seed(0)
    return Recurrent(
        SIGNATURE, embedding_size=8, hidden_size=8, token_options=TokenOptions(**token_options)
    )


def test_tied_vectors_are_one_matrix_which_learns_from_both_sides():
    model, plain = reader(tie_embeddings=True), reader()
    assert model.output.scores.weight is model.input.table.weight
    assert plain.num_parameters() - model.num_parameters() == 30 * 8
    model.loss(Batch(TEXT, TEXT)).backward()
    unread = sorted(set(range(4, 30)) - set(TEXT.values.ravel().tolist()))
    assert (model.input.table.weight.grad[unread].abs().sum(1) > 0).all()
    again = reader(tie_embeddings=True)
    again.restore(model.weights())
    assert again.output.scores.weight is again.input.table.weight


def test_adaptive_probabilities_sum_to_one_and_agree_with_each_target():
    torch.manual_seed(0)
    model = Recurrent(
        SIGNATURE,
        embedding_size=8,
        hidden_size=16,
        token_options=TokenOptions(adaptive_softmax=(8, 16)),
    )
    batch = Batch(TEXT, TEXT)
    with model.inference_mode():
        state = model.begin(TEXT)
        by_step = torch.zeros(2)
        symbols = np.full(2, 1)
        for place in range(5):
            log_probs, state = model.step(symbols, state)
            assert np.exp(log_probs).sum(1) == pytest.approx([1, 1], abs=1e-5)
            symbols = TEXT.values[:, place]
            by_step += torch.from_numpy(log_probs[[0, 1], symbols])
        torch.testing.assert_close(model.log_prob(batch)[1], by_step[1])
        stepper = model.stepper()
        first, _ = stepper.step(1, stepper.begin())
        np.testing.assert_allclose(
            first, model.step(np.array([1, 1]), model.begin(TEXT))[0][0], atol=1e-5
        )
    loss = model.loss(batch)
    torch.testing.assert_close(loss, -model.log_prob(batch).sum() / 14)
    loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_symbol_dropout_drops_kinds_not_places():
    model = reader(word_dropout=0.5)
    vectors = model.input(torch.tensor([[4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9]]))
    is_zero = (vectors[0] == 0).all(1)
    assert 0 < is_zero.sum() < 12
    torch.testing.assert_close(vectors[0, :6], vectors[0, 6:])
    model.eval()
    assert not (model.input(torch.tensor([[4, 5, 6]]))[0] == 0).all(1).any()


SINGLETONS = [np.array([4, 5, 5, 7]), np.array([6, 2, 4, 9])]  # 6, 7 and 9 are there once; 2 is END


def trained_rows(layer, tokens):
    """The rows of the embedding that have a gradient after reading these tokens."""
    layer.table.weight.grad = None
    layer(torch.tensor([tokens])).sum().backward()
    return layer.table.weight.grad.abs().sum(1).nonzero()[:, 0].tolist()


def test_what_training_has_once_is_read_as_unknown():
    model = reader(unknown_rate=1.0)
    assert trained_rows(model.input, [4, 5, 6, 7, 9, 2]) == [2, 4, 5, 6, 7, 9]
    model.find_singletons(SINGLETONS)
    assert trained_rows(model.input, [4, 5, 6, 7, 9, 2]) == [2, UNKNOWN, 4, 5]
    model.eval()
    assert trained_rows(model.input, [4, 5, 6, 7, 9, 2]) == [2, 4, 5, 6, 7, 9]


def test_a_singleton_is_read_as_unknown_at_the_rate():
    model = reader(unknown_rate=0.25)
    model.find_singletons(SINGLETONS)
    vectors = model.input(torch.full((100, 40), 7))
    is_unknown = (vectors == model.input.table.weight[UNKNOWN]).all(-1)
    assert is_unknown.float().mean().item() == pytest.approx(0.25, abs=0.03)  # 4 deviations


@pytest.mark.parametrize(
    ("token_options", "sources"),
    [
        ({"unknown_rate": 0.0}, SINGLETONS),
        ({"freeze_embeddings": True}, SINGLETONS),  # an unknown embedding that cannot learn
        ({}, [*SINGLETONS, np.array([UNKNOWN])]),  # one that learns anyhow
        ({}, [np.array([4, 4, 2])]),
    ],
)
def test_singletons_are_read_as_they_are_where_it_has_no_use(token_options, sources):
    model = reader(**token_options)
    model.find_singletons(sources)
    assert model.input.singletons is None


def test_numbered_unknown_tokens_are_unknown_ones_that_train():
    signature = Signature(Form.TRANSDUCE, Tokens(10, 3), Tokens(10, 3))
    model = MODELS["encoder-decoder"](signature, embedding_size=8, hidden_size=8)
    model.find_singletons(SINGLETONS)
    assert model.source_input.singletons.nonzero()[:, 0].tolist() == [6, 7, 9]
    model.find_singletons([*SINGLETONS, np.array([11])])
    assert model.source_input.singletons is None


def test_singletons_of_the_word_column_count():
    """Beside the word there are its characters and features."""
    space = Columns((Tokens(10), Letters(6, 2)))
    model = Recurrent(Signature(Form.EACH, space, Labels(3)), embedding_size=8, hidden_size=8)
    model.find_singletons([np.stack([row, row % 6, row % 5], axis=1) for row in SINGLETONS])
    assert model.input.words.singletons.nonzero()[:, 0].tolist() == [6, 7, 9]


def test_training_trains_the_embedding_of_unknown_words(tmp_path):
    """Without an option: a new word is no noise afterwards."""
    rows = [f"word{row} {'good' if row % 2 else 'bad'},{row % 2}" for row in range(40)]
    (tmp_path / "rare.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    settings = {"task.min_frequency": 1, "training.max_steps": 3, "model.embedding_size": 4}
    settings |= {"model.hidden_size": 4, "training.probes": 0}
    last = {}
    for rate in (0.0, 0.5):
        settings["model.unknown_rate"] = rate
        run = seqloom.train(
            "classify",
            tmp_path / "rare.csv",
            model="recurrent",
            runs=tmp_path,
            name=f"rate-{int(10 * rate)}",
            settings=settings,
        )
        last[rate] = run.model.input.table.weight[UNKNOWN].detach().clone()
    assert not torch.equal(last[0.0], last[0.5])


@pytest.mark.parametrize(
    ("token_options", "says"),
    [
        ({"tie_embeddings": True, "adaptive_softmax": (8,)}, "exclude each other"),
        ({"tie_embeddings": True, "freeze_embeddings": True}, "could not learn"),
        ({"adaptive_softmax": (8, 4)}, "expected"),
        ({"adaptive_softmax": (0,)}, "expected"),
        ({"adaptive_softmax": (29,)}, "30 tokens"),
        ({"adaptive_softmax": (8, 16)}, "at least 16"),
        ({"word_dropout": 1.0}, "word_dropout must be in"),
        ({"unknown_rate": 1.5}, r"unknown_rate must be in \[0, 1\]"),
        ({"unknown_rate": float("nan")}, r"unknown_rate must be in \[0, 1\]"),
        ({"spread": -0.1}, "spread must not be negative"),
    ],
)
def test_impossible_ends_are_refused(token_options, says):
    with pytest.raises(ModelError, match=says):
        reader(**token_options)


def test_tied_vectors_must_be_as_wide_as_states():
    with pytest.raises(ModelError, match="embedding_size is 6 and hidden_size 8"):
        Recurrent(
            SIGNATURE,
            embedding_size=6,
            hidden_size=8,
            token_options=TokenOptions(tie_embeddings=True),
        )


def test_training_starts_from_given_vectors_and_leaves_frozen_ones_alone(tmp_path):
    (tmp_path / "text.txt").write_text("the cat sat\non the mat\n" * 30)
    (tmp_path / "vectors.txt").write_text("cat 1 2 3 4\nmat 5 6 7 8\nzebra 0 0 0 0\n")
    settings = {
        "task.tokens": "words",
        "task.layout": "stream",
        "model.pretrained_embeddings": str(tmp_path / "vectors.txt"),
        "model.freeze_embeddings": True,
        "model.embedding_size": 4,
        "training.epochs": 1,
        "training.batch_size": 2,
        "training.bptt": 8,
    }
    run = train(
        "language",
        tmp_path / "text.txt",
        model="recurrent",
        settings=settings,
        name="given",
        runs=tmp_path,
    )
    table = dict(
        zip(run.task.input_vocabulary(), run.model.input.table.weight.tolist(), strict=True)
    )
    assert table["cat"] == [1, 2, 3, 4] and table["mat"] == [5, 6, 7, 8]
    assert "2 of 9 tokens start from vectors.txt" in run.events()[0]["notes"]
    (tmp_path / "vectors.txt").unlink()
    assert load(run.folder).model.input.table.weight.tolist() == list(table.values())


TAG, CLASSIFY = ("tag", "tags.conll"), ("classify", "labels.csv")
WITH_VECTORS = [(*TAG, "recurrent"), (*TAG, "convolutional"), (*CLASSIFY, "recurrent")]
WITH_VECTORS += [(*CLASSIFY, "hierarchical-attention"), (*CLASSIFY, "bag-of-words")]


@pytest.mark.parametrize("task, file, model", WITH_VECTORS)
def test_labels_start_from_given_vectors_by_the_command_line(task, file, model, data, capsys):
    """Whoever has vectors of words takes those of a file: beside letters, in a bag, in sentences."""
    (data / "vectors.txt").write_text("cat 1 2 3 4\nsees 5 6 7 8\nzebra 0 0 0 0\n")
    given = ["train", task, str(data / file), "-m", model, "--name", "given", "--quiet"]
    given += ["--runs-dir", str(data / "runs")]
    settings = {
        "model.pretrained_embeddings": data / "vectors.txt",
        "model.freeze_embeddings": "true",
    }
    settings |= {"model.embedding_size": 4, "training.max_steps": 2, "data.valid_fraction": 0.2}
    settings |= (
        {"model.features": "vectors"} if model == "bag-of-words" else {"model.hidden_size": 6}
    )
    for name, value in settings.items():
        given += ["--set", f"{name}={value}"]
    assert main(given) == 0, capsys.readouterr().err
    run = load(data / "runs" / "given")
    table = word_embedding(run.model.input).table.weight.tolist()
    found = dict(zip(run.task.input_vocabulary(), table, strict=True))
    assert found["cat"] == [1, 2, 3, 4] and found["sees"] == [5, 6, 7, 8]
    assert any("start from vectors.txt" in note for note in run.events()[0]["notes"])


def test_vectors_start_as_far_apart_as_they_are_told():
    small, usual = reader(spread=0.1), reader()
    assert small.input.table.weight[1:].std().item() == pytest.approx(0.1, rel=0.2)
    assert usual.input.table.weight[1:].std().item() == pytest.approx(1, rel=0.2)
    assert not small.input.table.weight[0].any()
