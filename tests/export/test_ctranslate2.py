"""What is exported translates as the run does; what cannot be exported is told in a sentence."""

import sys

import numpy as np
import pytest
import torch

from seqloom.batch import Sequences
from seqloom.cli.main import main
from seqloom.config import constructor_arguments
from seqloom.errors import ModelError
from seqloom.export.ctranslate2 import require_exportable, specification
from seqloom.model import Search
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.transformer_encoder_decoder import TransformerEncoderDecoder as Model
from seqloom.signature import BEGIN, PAD, Form, Signature, Tokens, Vectors

NAMES = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{n}" for n in range(30))]
SIGNATURE = Signature(Form.TRANSDUCE, Tokens(34), Tokens(34))
KINDS = [
    {},
    {"norm": "before", "activation": "gelu"},
    {"positions": "learned", "num_heads": 2, "tie_embeddings": False},
    {"share_embeddings": True, "encoder_layers": 1},
    {"biases": True, "num_heads": 2},
    {"biases": True, "norm": "before"},
]


def made(signature=SIGNATURE, **settings):
    torch.manual_seed(2)
    model = Model(
        signature, **constructor_arguments(Model, {"hidden_size": 32, "context": 64} | settings)
    ).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.15)
    return model


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))
@pytest.mark.parametrize("beam", [1, 4])
def test_ctranslate2_gives_the_same_answers(kind, beam, tmp_path):
    """Symbols and log-probabilities, greedily and by a beam, for sources of many lengths."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    model, chance = made(**kind), np.random.default_rng(0)
    with torch.no_grad():  # what neither side may write has no share of the probability
        model.output.scores.bias[[PAD, BEGIN]] = -1e9
    sources = [chance.integers(4, 34, n) for n in (1, 3, 7, 12, 20)]
    specification(model, NAMES, NAMES).save(str(tmp_path))
    engine = ctranslate2.Translator(str(tmp_path), compute_type="float32", intra_threads=1)
    theirs = engine.translate_batch(
        [[NAMES[i] for i in source] for source in sources],
        beam_size=beam,
        max_decoding_length=12,
        min_decoding_length=0,
        return_scores=True,
        return_end_token=True,
        length_penalty=0.0,  # where beams end otherwise is each search's own affair
    )
    read = Sequences.pad([np.append(source, 2) for source in sources])
    with model.inference_mode():
        ours = model.predict(read, Search(beam=beam, limit=12, length_penalty=0.0))
    found = [[NAMES[i] for i in row] for row in ours.target.rows()]
    assert found == [answer.hypotheses[0] for answer in theirs]
    scores = [answer.scores[0] for answer in theirs]
    np.testing.assert_allclose(scores, ours.log_prob, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "model, told",
    [
        (
            lambda: EncoderDecoder(SIGNATURE, embedding_size=4, hidden_size=4),
            "not a Transformer encoder-decoder",
        ),
        (lambda: made(positions="rotary"), "positions = rotary"),
        (lambda: made(attention_window=3), "attention_window = 3"),
        (lambda: made(tie_embeddings=False, adaptive_softmax=(10,)), r"adaptive_softmax = \[10\]"),
        (lambda: made(Signature(Form.TRANSDUCE, Vectors(3), Tokens(34))), "numbers or labels"),
    ],
)
def test_what_cannot_be_exported_is_told(model, told):
    with pytest.raises(ModelError, match=told) as error:
        require_exportable(model(), "my-run")
    assert error.value.code == "M181"


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.tsv").write_text("".join(f"a{n} b\tx y{n % 3}\n" for n in range(20)))
    command = ["train", "translate", "pairs.tsv", "-m", "transformer-encoder-decoder", "--quiet"]
    for setting in ("model.hidden_size=8", "model.encoder_layers=1", "model.decoder_layers=1"):
        command += ["--set", setting]
    assert main([*command, "--set", "training.epochs=1", "--name", "small"]) == 0
    return tmp_path


def test_the_command(small, capsys):
    command = ["export", "small", "--to", "ctranslate2", "-o", "out"]
    if "ctranslate2" not in sys.modules and not _is_there():
        assert main(command) == 2
        assert "U050" in capsys.readouterr().err and not (small / "out").exists()
        return
    assert main(command) == 0
    assert capsys.readouterr().out.strip().endswith("out")
    assert (small / "out" / "model.bin").exists()
    assert main(command) == 2
    assert "U051" in capsys.readouterr().err
    assert main([*command, "--force", "--json"]) == 0
    assert main(["export", "small", "--to", "ctranslate2"]) == 0
    assert (small / "small-ctranslate2" / "model.bin").exists(), "it has a name of its own"


def test_a_run_is_packed_under_its_own_name(small, capsys):
    assert main(["export", "small"]) == 0
    assert capsys.readouterr().out.strip() == "small.zip" and (small / "small.zip").exists()
    assert main(["export", "small"]) == 2 and "U051" in capsys.readouterr().err


def test_int8_translates_too(tmp_path):
    """Of few bits, so not to the last digit: the same first symbols, nearly as likely."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    model, chance = made(), np.random.default_rng(1)
    with torch.no_grad():
        model.output.scores.bias[[PAD, BEGIN]] = -1e9
    sources = [[NAMES[i] for i in chance.integers(4, 34, n)] for n in (2, 5, 9)]
    specification(model, NAMES, NAMES).save(str(tmp_path))
    found = {}
    for kind in ("float32", "int8"):
        engine = ctranslate2.Translator(str(tmp_path), compute_type=kind, intra_threads=1)
        assert engine.compute_type.startswith(kind)
        found[kind] = engine.translate_batch(
            sources, beam_size=1, max_decoding_length=4, return_scores=True
        )
    for exact, rough in zip(found["float32"], found["int8"], strict=True):
        assert rough.hypotheses[0][:1] == exact.hypotheses[0][:1]
        assert rough.scores[0] == pytest.approx(exact.scores[0], abs=0.5)


def test_without_the_package_there_is_a_sentence(small, capsys, monkeypatch):
    monkeypatch.setattr("seqloom.export.ctranslate2.find_spec", lambda name: None)
    assert main(["export", "small", "--to", "ctranslate2", "-o", "out"]) == 2
    told = capsys.readouterr().err
    assert "U050" in told and "pip install 'seqloom[ctranslate2]'" in told


def _is_there():
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        return False
    return True
