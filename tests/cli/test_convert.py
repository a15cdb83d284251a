"""seqloom convert: weights between runs and torch modules, through real files."""

import json
import pickle
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import seqloom
from seqloom.cli.main import main
from seqloom.export.torch_names import to_torch
from seqloom.export.torch_weights import read_recurrence, save_seqloom, save_torch
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.rnn import RNN

LENGTHS = torch.tensor([5, 5])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own(runs, here):
    """A runs folder that a test may change, with a tagger and an encoder-decoder."""
    for name in ("tagger", "attentive"):
        shutil.copytree(runs / name, here / "runs" / name)
    return here / "runs"


@pytest.fixture
def type_(capsys, own):
    """A command in a folder of its own: exit code, stdout, stderr."""

    def typed(*arguments):
        code = main([*arguments])
        return code, *capsys.readouterr()

    return typed


def metadata(path):
    with safe_open(path, framework="numpy") as file:
        return file.metadata()


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_becomes_what_torch_loads_by_the_line_that_is_told(type_, own):
    code, out, err = type_("convert", "tagger", "-o", "lstm.safetensors")
    assert (code, out) == (0, "lstm.safetensors\n")
    assert "nn.LSTM(8, 8, batch_first=True)" in err
    line = err.strip().splitlines()[-1]
    names = {}
    exec(line, names)
    body = seqloom.load("tagger").model.body
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(names["lstm"](x)[0], body(x, LENGTHS), rtol=0, atol=1e-6)
    told = metadata("lstm.safetensors")
    assert told["load"] == line
    assert [told[key] for key in ("kind", "input_size", "hidden_size", "num_layers")] == [
        "LSTM", "8", "8", "1"]  # fmt: skip


def test_a_part_is_chosen_where_there_are_several(type_):
    code, _, err = type_("convert", "attentive", "-o", "a.safetensors")
    assert code == 2 and "error[U020]" in err
    assert "--part encoder" in err and "--part decoder" in err
    code, out, err = type_(
        "convert", "attentive", "--part", "encoder", "-o", "a.safetensors", "--json"
    )
    found = json.loads(out)
    assert code == 0 and not err
    assert found["part"] == "encoder" and found["bidirectional"] and found["hidden_size"] == 4
    theirs = nn.LSTM(8, 4, bidirectional=True)
    theirs.load_state_dict(load_file("a.safetensors"), strict=True)
    code, _, err = type_("convert", "attentive", "--part", "middle", "-o", "b.safetensors")
    assert code == 2 and "no part called 'middle'" in err and not Path("b.safetensors").exists()


def test_weights_of_torch_go_into_a_copy_of_a_run(type_, own):
    before = contents(own)
    theirs = nn.LSTM(8, 8, batch_first=True)
    save_file({f"net.lstm.{k}": v for k, v in theirs.state_dict().items()}
              | {"net.head.weight": torch.ones(3)}, "model.safetensors")  # fmt: skip
    code, out, err = type_(
        "convert", "model.safetensors", "--into", "tagger", "--name", "given", "-q"
    )
    assert (code, out, err) == (0, "runs/given\n", "")
    new, old = seqloom.load("given"), seqloom.load("tagger")
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(new.model.body(x, LENGTHS), theirs(x)[0], rtol=0, atol=1e-6)
    assert not torch.allclose(old.model.body(x, LENGTHS), theirs(x)[0], atol=1e-3)
    kept = [name for name in old.model.state_dict() if not name.startswith("body.")]
    assert kept, "the layers around the recurrence"
    weights = new.model.state_dict()
    assert all(torch.equal(weights[name], old.model.state_dict()[name]) for name in kept)
    assert new.recipe == old.recipe and new.predict(["the cat sees a dog"])
    assert {path: after for path, after in contents(own).items() if path in before} == before
    code, out, _ = type_("show", "given", "--json")
    shown = json.loads(out)
    assert shown["state"] == "finished" and Path(shown["card"]).read_text().startswith("# given")
    assert type_("convert", "model.safetensors", "--into", "tagger", "--name", "given")[0] == 2


def test_training_goes_on_from_the_weights_that_were_given(type_, own):
    theirs = nn.LSTM(8, 8)
    save_file(theirs.state_dict(), "lstm.safetensors")
    code, _, err = type_("convert", "lstm.safetensors", "--into", "tagger", "--name", "given")
    assert code == 0 and "seqloom train --resume given" in err
    settings = ["--set", "training.learning_rate=1e-9", "--set", "training.epochs=1"]
    code, _, err = type_("train", "--resume", "given", *settings)
    assert code == 0, err
    trained = to_torch(seqloom.load("given").model.body)["weight_ih_l0"]
    torch.testing.assert_close(trained, theirs.weight_ih_l0, rtol=0, atol=1e-4)


def test_between_files_there_and_back(type_):
    theirs = nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True, batch_first=True)
    save_file(theirs.state_dict(), "rnn.safetensors")
    code, _, err = type_(
        "convert", "rnn.safetensors", "--activation", "relu", "-o", "o.safetensors"
    )
    assert code == 0 and "read_recurrence('o.safetensors')" in err
    x = torch.randn(2, 5, 3)
    for file in ("o.safetensors", "back.safetensors"):
        ours = read_recurrence(file)
        torch.testing.assert_close(ours(x, LENGTHS), theirs(x)[0], rtol=0, atol=1e-6)
        code, _, err = type_("convert", "o.safetensors", "-o", "back.safetensors", "--force")
        assert code == 0 and "nonlinearity='relu'" in err
    again = nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True, batch_first=True)
    again.load_state_dict(load_file("back.safetensors"), strict=True)
    torch.testing.assert_close(again(x)[0], theirs(x)[0], rtol=0, atol=1e-6)
    found = json.loads(type_("convert", "rnn.safetensors", "-o", "p.safetensors", "--json")[1])
    assert found["kind"] == "RNN" and found["num_layers"] == 2


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman"])
def test_our_own_names_from_python(here, cell):
    ours = RNN(cell, 3, 8, num_layers=2, bidirectional=True)
    save_seqloom(here / "ours.safetensors", ours)
    save_torch(here / "torch.safetensors", ours)
    for name in ("ours", "torch"):
        found = read_recurrence(here / f"{name}.safetensors").state_dict()
        assert found.keys() == ours.state_dict().keys()
        assert all(torch.equal(found[key], value) for key, value in ours.state_dict().items())


def test_nothing_is_replaced_unless_asked(type_):
    Path("there.safetensors").write_text("precious")
    code, _, err = type_("convert", "tagger", "-o", "there.safetensors")
    assert code == 2 and "error[U021]" in err and "--force" in err
    assert Path("there.safetensors").read_text() == "precious"
    assert type_("convert", "tagger", "-o", "there.safetensors", "--force")[0] == 0
    assert load_file("there.safetensors")
    assert not list(Path().glob(".*.part"))


def save_lstm(name="lstm.safetensors", **changes):
    weights = dict(nn.LSTM(8, 8).state_dict()) | changes
    save_file(weights, name)
    return Path(name)


def test_a_pickle_is_never_opened(type_):
    class Bad:
        def __reduce__(self):
            return (Path("opened").touch, ())

    for name, content in (("p.pt", pickle.dumps(Bad())), ("p.safetensors", pickle.dumps(Bad()))):
        Path(name).write_bytes(content)
        code, _, err = type_("convert", name, "-o", "o.safetensors")
        assert code == 4 and "error[M112]" in err and "save_file(model.state_dict()" in err
    torch.save(nn.LSTM(8, 8).state_dict(), "lstm.pt")
    code, _, err = type_("convert", "lstm.pt", "--into", "tagger")
    assert code == 4 and "error[M112]" in err and "'lstm.safetensors')" in err
    assert not Path("opened").exists() and not Path("o.safetensors").exists()


def header(length, text=b"{}"):
    return struct.pack("<Q", length) + text


DAMAGED = {
    "cut short": lambda whole: whole[:-10],
    "cut in the header": lambda whole: whole[:50],
    "empty": lambda whole: b"",
    "a huge header": lambda whole: header(2**62, whole[8:]),
    "a header as long as memory": lambda whole: header(200_000_000, b"{" + b" " * 1000),
    "text": lambda whole: b"name,value\n" * 20,
    "no tensor is so large": lambda whole: header(
        90, b'{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}'.ljust(90)
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files(type_, case):
    path = save_lstm()
    path.write_bytes(DAMAGED[case](path.read_bytes()))
    code, out, err = type_("convert", str(path), "-o", "o.safetensors")
    assert (code, out) == (4, "") and "error[M113]" in err and "damaged" in err, err
    assert "Traceback" not in err and not Path("o.safetensors").exists()


def several():
    save_file({f"{side}.{k}": v for side in ("encoder", "decoder")
               for k, v in nn.GRU(2, 2).state_dict().items()}, "two.safetensors")  # fmt: skip


# what is made first, the arguments, what the message says, exit code
WRONG = {
    "not a number": (
        lambda: save_lstm(bias_ih_l0=torch.full((32,), torch.nan)),
        ["lstm.safetensors", "--into", "tagger"],
        ["M141", "bias_ih_l0 holds NaN"],
        4,
    ),
    "unknown key": (
        lambda: save_lstm(weight_xx_l0=torch.ones(2)),
        ["lstm.safetensors", "--into", "tagger"],
        ["M141", "'weight_xx_l0' is not a tensor of"],
        4,
    ),
    "another shape": (
        lambda: save_file(nn.LSTM(8, 16, 2).state_dict(), "w.safetensors"),
        ["w.safetensors", "--into", "tagger"],
        ["M142", "(64, 8)", "(32, 8)", "nn.LSTM(8, 16, num_layers=2", "nn.LSTM(8, 8,"],
        4,
    ),
    "several modules": (
        several,
        ["two.safetensors", "-o", "o.safetensors"],
        ["U020", "2 recurrent modules", "--prefix 'decoder'", "--prefix 'encoder'"],
        2,
    ),
    "other weights": (
        lambda: save_file({"head.weight": torch.ones(2)}, "h.safetensors"),
        ["h.safetensors", "-o", "o.safetensors"],
        ["M141", "the file has no nn.LSTM", "'head.weight'"],
        4,
    ),
    "no file": (None, ["gone.safetensors", "-o", "o.safetensors"], ["D001", "gone.safetensors"], 3),
    "no run": (None, ["taggre", "-o", "o.safetensors"], ["U008", "did you mean 'tagger'?"], 2),
    "nowhere": (None, ["tagger"], ["U001", "no output file", "-o FILE"], 2),
    "no folder": (None, ["tagger", "-o", "no/o.safetensors"], ["E320", "mkdir -p 'no'"], 6),
    "a folder": (None, ["tagger", "-o", "runs"], ["U010", "is a folder"], 2),
    "a run into a run": (None, ["tagger", "--into", "attentive"], ["U001", "needs a file"], 2),
    "both": (
        save_lstm,
        ["lstm.safetensors", "--into", "tagger", "-o", "x"],
        ["U001", "-o does not apply here", "--name NAME"],
        2,
    ),
    "a name for a file": (
        save_lstm,
        ["lstm.safetensors", "-o", "x", "--name", "y"],
        ["U001", "--name does not apply here"],
        2,
    ),
    "a bend for an LSTM": (
        save_lstm,
        ["lstm.safetensors", "-o", "x", "--activation", "relu"],
        ["U010", "nn.LSTM has no such option"],
        2,
    ),
    "a name that is none": (
        save_lstm,
        ["lstm.safetensors", "--into", "tagger", "--name", "../x"],
        ["U009", "cannot name a run"],
        2,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes(type_, own, case):
    make, arguments, words, expected = WRONG[case]
    if make:
        make()
    before = contents(own)
    code, out, err = type_("convert", *arguments)
    assert (code, out) == (expected, ""), err
    assert err.startswith(f"error[{words[0]}]") and "Traceback" not in err
    assert all(word in err for word in words), err
    assert len(err.strip().splitlines()) <= 8
    assert contents(own) == before and not Path("o.safetensors").exists()


def test_a_run_that_torch_has_no_module_for(cli, tmp_path):
    done = cli("convert", "counts", "-o", str(tmp_path / "o.safetensors"))
    assert done.code == 4 and "error[M140]" in done.err and "no recurrent layers" in done.err
    wired = RNN("lstm", 3, 4, rnn_options=RNNOptions(zoneout=0.1))
    with pytest.raises(seqloom.errors.ModelError, match="do not support zoneout = 0.1"):
        save_torch(tmp_path / "o.safetensors", wired)
    assert not (tmp_path / "o.safetensors").exists()


def test_help_needs_no_torch():
    code = "import sys; from seqloom.cli.main import main; main(['convert', '--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "--into" in done.stdout
