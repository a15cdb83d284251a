"""seqloom gradient-flow: gradient flow of runs and of untrained cells, gate statistics, errors."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import seqloom

FRESH = ["--hidden", "6", "--length", "12", "--seeds", "1"]


def test_fresh_cells_side_by_side(cli):
    done = cli(
        "gradient-flow", "--cell", "elman", "--cell", "lstm", "--length", "40", "--hidden", "16"
    )
    assert done.code == 0 and not done.err
    assert "elman: below 1 % after" in done.out and "; lstm: below 1 % after" in done.out
    assert "bound of elman" in done.out and "for lstm: gates" in done.out
    assert "truncated BPTT keeps" in done.out and "(clip 1: " in done.out


def test_options_of_the_wiring(cli):
    plain = json.loads(cli("gradient-flow", "--cell", "elman", *FRESH, "--json").out)
    given = ["--set", "skip=5", "--set", "model.start=identity", "--clip", "0.25"]
    found = json.loads(cli("gradient-flow", "--cell", "elman", *FRESH, *given, "--json").out)
    (one,) = found["models"]
    assert one["bound"] is None and plain["models"][0]["bound"] is not None
    assert one["gradient"]["clip"] == 0.25
    named = cli("gradient-flow", "--cell", "elman:activation=relu,start=identity", *FRESH, "--json")
    (one,) = json.loads(named.out)["models"]
    assert one["name"] == "elman:activation=relu,start=identity"
    assert one["stretch"] == pytest.approx(1)


def test_runs_side_by_side(cli):
    done = cli("gradient-flow", "writer", "judge", "--text", "the cat sees a dog", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["view"] == "gradient_flow" and found["model"] == "writer, judge"
    writer, judge = found["models"]
    assert len(writer["state"]) == len(writer["loss"]) == len("the cat sees a dog") + 1
    assert len(judge["state"]) == 6, "five words and the end"
    assert writer["gradient"]["clip"] == 1.0, "as the recipe has it"


@pytest.mark.parametrize("run", ["attentive", "plain", "tagger", "judge", "writer"])
def test_every_recurrent_run_can_be_looked_into(cli, run):
    done = cli("gradient-flow", run, "--text", "the cat sees a dog")
    assert done.code == 0 and f"{run}: state" in done.out


def test_a_file_gives_medians(cli, files):
    done = cli("gradient-flow", "tagger", "--file", str(files / "tags.conll"))
    assert done.code == 0 and "the median of the first 16 sequences" in done.out


def test_pictures_are_saved(cli, tmp_path):
    for suffix in ("svg", "png", "json", "html"):
        path = tmp_path / f"memory.{suffix}"
        done = cli("gradient-flow", "--cell", "gru", *FRESH, "-o", str(path))
        assert done.out == f"{path}\n" and path.stat().st_size > 500
    ElementTree.fromstring((tmp_path / "memory.svg").read_text())
    path = tmp_path / "gates.svg"
    cli("gradient-flow", "tagger", "--gates", "--text", "the cat sees", "-o", str(path))
    ElementTree.fromstring(path.read_text())


def test_gates_are_a_table(cli, files):
    done = cli("gradient-flow", "attentive", "--gates", "--text", "the cat sees a dog")
    heading, *rows = done.out.split("\n\n")[0].splitlines()
    assert heading.split()[:4] == ["layer", "direction", "gate", "mean"]
    assert len(rows) == 3 * 3, "three gates of the encoder's two directions and of the decoder"
    assert rows[0].split()[:4] == ["encoder", "1", "forward", "input"]
    given = ["writer", "writer", "--gates", "--file", str(files / "text.txt"), "--json"]
    found = json.loads(cli("gradient-flow", *given).out)
    assert found["notes"] == ["over 60 sequences"] and len(found["gates"]) == 6
    for gate in found["gates"]:
        assert 0 <= gate["open"] <= 1 and gate["open"] + gate["shut"] <= 1


def test_the_same_in_python(runs, files):
    run = seqloom.load(runs / "writer")
    view = run.gradient_flow(["the cat sees"], clip=0.5).beside(
        seqloom.gradient_flow_of_cells(["elman"], hidden=4, length=6)
    )
    assert [memory.name for memory in view.flows] == ["writer", "elman"]
    assert view.flows[0].clip == 0.5
    assert run.gate_statistics(file=files / "text.txt").to_table()[1][2] == "input"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["counts", "--text", "the cat"], 4, "error[M125]: counts has no recurrent layer"),
        (["counts", "--gates", "--text", "the cat"], 4, "error[M114]: counts has no gates"),
        (["tagger", "--text", "the cat"], 3, "error[D026]: gradient flow needs"),
        (["tagger", "--text", ""], 3, "input 1 is empty"),
        (["--cell", "lsmt"], 2, "did you mean 'lstm'?"),
        (["--cell", "lstm", "--set", "skp=3"], 2, "did you mean 'skip'?"),
        (["--cell", "lstm", "--set", "activation=relu"], 4, "it has no activation"),
        (["tagger", "--cell", "lstm", "--text", "x"], 2, "both runs and --cell: choose one"),
        ([], 2, "neither a run nor --cell"),
        (["tagger"], 2, "no input"),
        (["tagger", "--text", "x", "--file", "y"], 2, "both --text and --file: choose one"),
        (["tagger", "--file", "nothing.conll"], 3, "error[D001]"),
        (["tagger", "--text", "a b c", "--length", "5"], 2, "--length is for untrained cells only"),
        (["--cell", "lstm", "--gates"], 2, "--gates is for runs only"),
        (["--cell", "lstm", "--hidden", "0"], 2, "--hidden 0"),
        (["tagger", "--text", "the cat sees", "--layer", "2"], 2, "layer 2: tagger has 1"),
        (["nobody", "--text", "x"], 2, "error[U008]"),
        (["--cell", "gru", *FRESH, "-o", "x.gif"], 2, "error[U011]"),
    ],
)
def test_what_cannot_be_looked_into(cli, arguments, code, text):
    done = cli("gradient-flow", *arguments)
    assert done.code == code and text in done.err and not done.out


def test_the_help_needs_no_torch():
    program = "import sys; from seqloom.cli.main import main; main(['gradient-flow', '--help']); "
    program += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "--cell" in done.stdout
