"""How symbols come into a reader and go out of it."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.cli.main import main
from seqloom.errors import ModelError
from seqloom.models.recurrent import Recurrent
from seqloom.nn.embedding import words_of
from seqloom.nn.token_options import Ends
from seqloom.runs.run import load
from seqloom.runs.train import train
from seqloom.signature import Form, Signature, Tokens

SIGNATURE = Signature(Form.NEXT, Tokens(30), Tokens(30))
TEXT = Sequences.pad([np.random.default_rng(1).integers(4, 30, n) for n in (9, 5)])


def reader(**ends):
    torch.manual_seed(0)
    return Recurrent(SIGNATURE, width=8, hidden=8, ends=Ends(**ends))


def test_tied_vectors_are_one_matrix_which_learns_from_both_sides():
    model, plain = reader(tie_vectors=True), reader()
    assert model.output.scores.weight is model.input.table.weight
    assert plain.size() - model.size() == 30 * 8
    model.loss(Batch(TEXT, TEXT)).backward()
    unread = sorted(set(range(4, 30)) - set(TEXT.values.ravel().tolist()))
    assert (model.input.table.weight.grad[unread].abs().sum(1) > 0).all()
    again = reader(tie_vectors=True)
    again.restore(model.weights())
    assert again.output.scores.weight is again.input.table.weight


def test_adaptive_probabilities_sum_to_one_and_agree_with_each_target():
    torch.manual_seed(0)
    model = Recurrent(SIGNATURE, width=8, hidden=16, ends=Ends(adaptive="8,16"))
    batch = Batch(TEXT, TEXT)
    with model.at_rest():
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
    model = reader(symbol_dropout=0.5)
    vectors = model.input(torch.tensor([[4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9]]))
    is_zero = (vectors[0] == 0).all(1)
    assert 0 < is_zero.sum() < 12
    torch.testing.assert_close(vectors[0, :6], vectors[0, 6:])
    model.eval()
    assert not (model.input(torch.tensor([[4, 5, 6]]))[0] == 0).all(1).any()


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ({"tie_vectors": True, "adaptive": "8"}, "exclude each other"),
        ({"tie_vectors": True, "freeze_vectors": True}, "could not learn"),
        ({"adaptive": "8,4"}, "expected rising numbers"),
        ({"adaptive": "many"}, "expected rising numbers"),
        ({"adaptive": "29"}, "there are only 30 symbols"),
        ({"adaptive": "8,16"}, "must be at least 16 wide"),
        ({"symbol_dropout": 1.0}, "below 1"),
        ({"spread": -0.1}, "spread must not be negative"),
    ],
)
def test_impossible_ends_are_refused(ends, says):
    with pytest.raises(ModelError, match=says):
        reader(**ends)


def test_tied_vectors_must_be_as_wide_as_states():
    with pytest.raises(ModelError, match="symbols are 6 wide and states 8"):
        Recurrent(SIGNATURE, width=6, hidden=8, ends=Ends(tie_vectors=True))


def test_training_starts_from_given_vectors_and_leaves_frozen_ones_alone(tmp_path):
    (tmp_path / "text.txt").write_text("the cat sat\non the mat\n" * 30)
    (tmp_path / "vectors.txt").write_text("cat 1 2 3 4\nmat 5 6 7 8\nzebra 0 0 0 0\n")
    settings = {
        "task.symbols": "words",
        "task.layout": "stream",
        "model.vectors": str(tmp_path / "vectors.txt"),
        "model.freeze_vectors": True,
        "model.width": 4,
        "training.epochs": 1,
        "training.batch_size": 2,
        "training.window": 8,
    }
    run = train(
        "language",
        tmp_path / "text.txt",
        model="recurrent",
        settings=settings,
        name="given",
        runs=tmp_path,
    )
    table = dict(zip(run.task.read_symbols(), run.model.input.table.weight.tolist(), strict=True))
    assert table["cat"] == [1, 2, 3, 4] and table["mat"] == [5, 6, 7, 8]
    assert "2 of 9 symbols start from vectors.txt" in run.events()[0]["notes"]
    (tmp_path / "vectors.txt").unlink()
    assert load(run.folder).model.input.table.weight.tolist() == list(table.values())


TAG, CLASSIFY = ("tag", "tags.conll"), ("classify", "labels.csv")
WITH_VECTORS = [(*TAG, "recurrent"), (*TAG, "convolutional"), (*CLASSIFY, "recurrent")]
WITH_VECTORS += [(*CLASSIFY, "hierarchical-attention"), (*CLASSIFY, "bag")]


@pytest.mark.parametrize("task, file, model", WITH_VECTORS)
def test_labels_start_from_given_vectors_by_the_command_line(task, file, model, data, capsys):
    """Whoever has vectors of words takes those of a file: beside letters, in a bag, in sentences."""
    (data / "vectors.txt").write_text("cat 1 2 3 4\nsees 5 6 7 8\nzebra 0 0 0 0\n")
    given = ["train", task, str(data / file), "-m", model, "--name", "given", "--quiet"]
    given += ["--runs-dir", str(data / "runs")]
    settings = {"model.vectors": data / "vectors.txt", "model.freeze_vectors": "true"}
    settings |= {"model.width": 4, "training.steps": 2, "data.valid_fraction": 0.2}
    settings |= {"model.features": "vectors"} if model == "bag" else {"model.hidden": 6}
    for name, value in settings.items():
        given += ["--set", f"{name}={value}"]
    assert main(given) == 0, capsys.readouterr().err
    run = load(data / "runs" / "given")
    table = words_of(run.model.input).table.weight.tolist()
    found = dict(zip(run.task.read_symbols(), table, strict=True))
    assert found["cat"] == [1, 2, 3, 4] and found["sees"] == [5, 6, 7, 8]
    assert any("start from vectors.txt" in note for note in run.events()[0]["notes"])


def test_vectors_start_as_far_apart_as_they_are_told():
    small, usual = reader(spread=0.1), reader()
    assert small.input.table.weight[1:].std().item() == pytest.approx(0.1, rel=0.2)
    assert usual.input.table.weight[1:].std().item() == pytest.approx(1, rel=0.2)
    assert not small.input.table.weight[0].any()
