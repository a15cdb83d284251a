"""seqloom stream: a prediction for every line before the next is written."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.errors import DataError, ModelError
from seqloom.inference.stream import StreamState
from seqloom.signature import Labels, Signature

SENTENCE = ["the", "cat", "sees", "a", "dog"]


class Live:
    """A real process that is written to and read from by turns."""

    def __init__(self, runs, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "seqloom", "stream", *arguments, "--runs-dir", str(runs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )

    def ask(self, line):
        """Write one line, wait for one line."""
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        assert ready, f"no answer to {line!r} while the input is still open"
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self, number=None):
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        code = self.process.wait(60)
        printed = self.process.stderr.read().decode()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        return code, printed


def test_a_live_pipe_is_answered_line_by_line(runs):
    run = seqloom.load(runs / "tagger")
    live = Live(runs, "tagger")
    tags = [live.ask(word) for word in SENTENCE]
    assert live.ask("") == "", "a blank line begins a new sentence"
    again = [live.ask(word) for word in SENTENCE]
    assert live.end() == (0, "")
    assert tags == again == run.predict([" ".join(SENTENCE)])[0]


@pytest.mark.parametrize("number, code", [(None, 0), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stop_and_go_on_exactly(runs, tmp_path, number, code):
    """Whatever ends it, the state is saved, and what follows is as if it had never ended."""
    state = tmp_path / "here.safetensors"
    text = "the cat sees"
    stream = seqloom.load(runs / "writer").stream()
    whole = [stream.step(symbol).log_prob for symbol in text]
    live = Live(runs, "writer", "--json", "--state", str(state))
    first = [json.loads(live.ask(symbol))["log_prob"] for symbol in text[:5]]
    assert live.end(number)[0] == code
    live = Live(runs, "writer", "--json", "--state", str(state))
    rest = [json.loads(live.ask(symbol))["log_prob"] for symbol in text[5:]]
    ended, printed = live.end()
    assert ended == 0 and "state of 5 steps restored" in printed
    assert first + rest == whole


def typed_in(tmp_path, text):
    file = tmp_path / "typed"
    file.write_text(text, encoding="utf-8")
    return ["-f", str(file)]


def test_json_is_one_object_a_line(cli, tmp_path):
    done = cli("stream", "judge", "--json", *typed_in(tmp_path, "the\nzebra\n\ncat\n"))
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one.get("input") for one in found] == ["the", "zebra", None, "cat"]
    assert found[2] == {"reset": True}
    assert [one["known"] for one in found if "known" in one] == [True, False, True]
    for one in (found[0], found[3]):
        assert one["output"] in ("long", "short") and one["top"][0][0] == one["output"]
        assert sum(chance for _, chance in one["top"]) == pytest.approx(1, abs=1e-5)
        assert one["top"][0][1] == pytest.approx(one["probability"])
    done = cli("stream", "judge", "--json", "--top", "1", *typed_in(tmp_path, "the\n"))
    assert len(json.loads(done.out)["top"]) == 1


def test_an_unknown_symbol_is_told_once(cli, tmp_path):
    typed = typed_in(tmp_path, "the\nzebra\ngnu\nzebra\n")
    done = cli("stream", "tagger", *typed)
    assert done.code == 0 and len(done.out.splitlines()) == 4
    assert done.err == "note: 'zebra' is unknown and read as <unk>; further ones are not reported\n"
    assert not cli("stream", "tagger", "--quiet", *typed).err


def test_a_space_is_a_character_and_no_word(cli, tmp_path):
    typed = typed_in(tmp_path, "t\n \n\n")
    found = cli("stream", "counts", "--json", *typed).out.splitlines()
    assert [json.loads(line).get("reset", False) for line in found] == [False, False, True]
    found = cli("stream", "tagger", "--json", *typed).out.splitlines()
    assert [json.loads(line).get("reset", False) for line in found] == [False, True, True]


@pytest.mark.parametrize(
    ("arguments", "typed", "code", "text"),
    [
        (["attentive"], "the\n", 4, "error[M130]: this model cannot stream"),
        (["writer"], "t\nhe\n", 3, "'he' is 2 symbols; a stream takes one at a time"),
        (["writer"], "t\nhe\n", 3, "typed:2"),
        (["tagger"], "the cat\n", 3, "error[D050]: 'the cat' is 2 symbols"),
        (["tagger", "--top", "0"], "the\n", 2, "--top 0"),
        (["taggr"], "the\n", 2, "did you mean 'tagger'?"),
    ],
)
def test_what_cannot_be_streamed(cli, tmp_path, arguments, typed, code, text):
    done = cli("stream", *arguments, *typed_in(tmp_path, typed))
    assert done.code == code and text in done.err


def test_states_of_something_else_are_refused(cli, runs, tmp_path):
    state, typed = str(tmp_path / "s.safetensors"), typed_in(tmp_path, "t\n")
    assert cli("stream", "writer", "--state", state, *typed).code == 0
    before = Path(state).read_bytes()
    for other in ("counts", "tagger"):
        done = cli("stream", other, "--state", state, *typed)
        assert done.code == 4 and "error[M131]: the state is of another model" in done.err
    done = cli("stream", "writer", "--state", str(runs / "writer" / "weights.safetensors"), *typed)
    assert done.code == 4 and "does not hold the state of a stream" in done.err
    assert Path(state).read_bytes() == before, "a state that is refused is left alone"
    (tmp_path / "cut.safetensors").write_bytes(before[:40])
    done = cli("stream", "writer", "--state", str(tmp_path / "cut.safetensors"), *typed)
    assert done.code == 4 and "error[M113]" in done.err


def test_a_state_of_the_same_shape_but_other_weights_is_refused(runs, tmp_path):
    run, other = (seqloom.load(runs / "writer") for _ in range(2))
    stream = run.stream()
    stream.step("t")
    with other.model.inference_mode():
        next(iter(other.model.parameters())).add_(1)
    with pytest.raises(ModelError) as told:
        other.stream().state = stream.state
    assert told.value.code == "M131"


@pytest.mark.parametrize("name", ["writer", "counts", "tagger", "judge"])
def test_save_restore_and_reset(runs, tmp_path, name):
    stream = seqloom.load(runs / name).stream()
    symbols = SENTENCE if name in ("tagger", "judge") else list("the cat")
    first = [stream.step(symbol).log_probs for symbol in symbols[:2]]
    stream.state.save(tmp_path / "s.safetensors")
    rest = [stream.step(symbol).log_probs for symbol in symbols[2:]]
    stream.state = StreamState.load(tmp_path / "s.safetensors")
    assert stream.steps == 2
    again = [stream.step(symbol).log_probs for symbol in symbols[2:]]
    assert all(np.array_equal(a, b) for a, b in zip(rest, again, strict=True))
    stream.reset()
    assert np.array_equal(stream.step(symbols[0]).log_probs, first[0])
    assert not np.array_equal(stream.step(symbols[0]).log_probs, first[0])


def test_a_saved_state_does_not_move_on(runs):
    stream = seqloom.load(runs / "writer").stream()
    stream.step("t")
    saved = stream.state
    before = {name: array.copy() for name, array in saved.arrays.items()}
    stream.step("h")
    assert all(np.array_equal(before[name], array) for name, array in saved.arrays.items())


def test_a_file_with_arrays_missing_is_refused(runs, tmp_path):
    stream = seqloom.load(runs / "writer").stream()
    stream.step("t")
    stream.state.save(tmp_path / "s.safetensors")
    state = StreamState.load(tmp_path / "s.safetensors")
    fewer = dict(list(state.arrays.items())[1:])
    with pytest.raises(ModelError, match="another model"):
        stream.state = StreamState(fewer, 1, state.model)


def test_a_label_so_far_is_the_label_of_the_text_so_far(runs):
    """A classifier reads an end after every text, so its running answer reads one too."""
    run = seqloom.load(runs / "judge")
    stream = run.stream()
    for length, word in enumerate(SENTENCE, start=1):
        reply = stream.step(word)
        (answer,) = run.predictions([" ".join(SENTENCE[:length])], seqloom.Search())
        assert reply.value == answer.value
        assert reply.log_prob == pytest.approx(answer.log_prob, abs=1e-6)


def test_replies_name_what_they_stand_for(runs):
    reply = seqloom.load(runs / "counts").stream().step("t")
    assert reply.value == "h" and reply.top(2)[0][0] == "h"
    names = [name for name, _ in reply.top(100)]
    assert "</s>" in names and len(names) == len(reply.log_probs)
    chances = [chance for _, chance in reply.top(100)]
    assert chances == sorted(chances, reverse=True) and sum(chances) == pytest.approx(1)


@pytest.fixture(scope="module")
def adder(tmp_path_factory):
    """A run that reads pairs of numbers and answers with a number."""
    settings = {
        "task.length": 6,
        "task.examples": 60,
        "training.epochs": 1,
        "model.pooling": "last",
    }
    return seqloom.train("algorithms", runs=tmp_path_factory.mktemp("runs"), settings=settings)


def test_rows_of_numbers_are_read_and_those_of_another_width_refused(adder):
    stream = adder.stream()
    for number, text in enumerate(("0.3:0", "0.7:1", "0.2:1"), start=1):
        reply = stream.step(text)
        whole = adder.predict(["0.3:0 0.7:1 0.2:1"[: 6 * number]])[0]
        assert reply.numbers[0] == pytest.approx(whole, abs=1e-6)
        assert reply.value == f"{whole:.4f}"
    stream.reset()
    assert stream.step([0.3, 0.0]).numbers == adder.stream().step("0.3:0").numbers
    with pytest.raises(DataError, match="3 numbers; this model reads 2") as told:
        stream.step([1.0, 2.0, 3.0])
    assert stream.steps == 1
    assert told.value.code == "D050"
    with pytest.raises(DataError, match="is not a value and a mark"):
        stream.step("0.3")


def test_symbols_that_have_no_number_are_refused(runs, monkeypatch):
    """Among labels there is none that stands for the unknown."""
    run = seqloom.load(runs / "tagger")
    stream = run.stream()
    form, target = run.task.form, run.model.signature.target
    monkeypatch.setattr(run.model, "signature", Signature(form, Labels(9), target))
    with pytest.raises(DataError, match="'zebra' was not in the training data"):
        stream.step("zebra")


def test_an_ngram_streams_without_torch(runs):
    code = (
        "import sys, seqloom; stream = seqloom.load(sys.argv[1]).stream(); stream.step('t');"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, str(runs / "counts")], capture_output=True)
    assert done.returncode == 0, done.stderr
