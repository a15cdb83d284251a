"""One step of an LSTM at batch size 1: Seqloom's NumPy step against torch and onnxruntime.

Torch takes part with nn.LSTM and with nn.LSTMCell, both in inference mode; onnxruntime with
`run`, and with inputs and outputs bound once (IO binding), which saves copies in every step.

All have the same weights, and their outputs are compared first. Rounds are interleaved in one
process, so that the load of the machine affects all alike. A time is the median over rounds of the
mean of some steps in a row; a ratio is the median over rounds of the baseline's time over
Seqloom's. Baselines run with one thread and with all, and the faster counts. NumPy's BLAS has one
thread unless OPENBLAS_NUM_THREADS is set: two are faster on an idle machine, far slower on a busy
one.

    python benchmarks/streaming_step.py --rounds 60 --steps 20
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import importlib.util
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from surroundings import arguments, clock, in_words, machine, positive, report, say, table
from torch import nn

from seqloom.inference.stream import Stream
from seqloom.models.recurrent import Recurrent
from seqloom.nn.numpy_steps import NumpyRNN
from seqloom.nn.rnn import RNN
from seqloom.tasks.tag import Tag

OWN, LOOKED_UP, WHOLE = "Seqloom, the cell", "Seqloom, input looked up", "Seqloom, Stream.step"
TORCH, ONNX, BARE = "nn.LSTM", "onnxruntime", "nn.LSTM without oneDNN"
CELL, BOUND = "nn.LSTMCell", "onnxruntime, IO binding"
TARGETS = {TORCH: 5.0, CELL: 2.0, ONNX: 1.3, BOUND: 1.3}
TOLERANCE = 1e-5
VOCABULARY, TAGS, WARM_UP = 1000, 20, 3


@dataclass(frozen=True)
class Contestant:
    """Who takes part: `step` reads one row of numbers and gives the new output."""

    name: str
    group: str
    step: Callable[[np.ndarray], Any]
    threads: int = 1
    onednn: bool = True

    def get_ready(self) -> None:
        """Set what torch has for all at once."""
        torch.set_num_threads(self.threads)
        torch.backends.mkldnn.set_flags(self.onednn)


def main() -> None:
    """Check that all compute the same, let them take turns, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--hidden", type=positive, nargs="+", default=[256, 512])
    parser.add_argument("--rounds", type=positive, default=60, help="(default: %(default)s)")
    parser.add_argument("--steps", type=positive, default=20, help="(default: %(default)s)")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="TF32")  # of graphics cards, when oneDNN is set
    facts = machine(given.threads)
    results = {
        "sizes": [measured(size, given) for size in given.hidden],
        "rounds": given.rounds,
        "steps": given.steps,
        "blas_threads": os.environ["OPENBLAS_NUM_THREADS"],
        "machine": facts,
    }
    report(shown(results), results, given.json)


def measured(hidden: int, given: Any) -> dict[str, Any]:
    """Times and ratios at one size."""
    with torch.inference_mode():
        field = contestants(hidden, given.threads)
        check(field, hidden)
        times = compete(field, hidden, given)
    return {"hidden": hidden, **summary(field, times)}


def contestants(hidden: int, threads: int) -> list[Contestant]:
    """Seqloom and its rivals, with the weights of one recurrence."""
    torch.manual_seed(0)
    body = RNN("lstm", hidden, hidden)
    counts = sorted({1, threads})
    found = own(body, hidden)
    found += [Contestant(f"{TORCH}, {n}", TORCH, by_torch(body, hidden), n) for n in counts]
    found += [Contestant(f"{BARE}, {n}", BARE, by_torch(body, hidden), n, False) for n in counts]
    found += [Contestant(f"{CELL}, {n}", CELL, by_cell(body, hidden), n) for n in counts]
    if all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime")):
        found += [Contestant(f"{ONNX}, {n}", ONNX, by_onnx(body, hidden, n)) for n in counts]
        found += [Contestant(f"{BOUND}, {n}", BOUND, by_binding(body, hidden, n)) for n in counts]
    else:
        say("onnxruntime is left out: pip install onnx onnxruntime")
    return found


def own(body: RNN, hidden: int) -> list[Contestant]:
    """The recurrent step alone, the same from a table, and all from a word to its label."""
    quick = NumpyRNN(body)
    looked_up, states = quick.products(np.zeros(hidden, np.float32)), [quick.begin()] * 2

    def step(x: np.ndarray) -> np.ndarray:
        output, states[0] = quick.step(quick.products(x), states[0])
        return output

    def step_from_table(x: np.ndarray) -> np.ndarray:
        output, states[1] = quick.step(looked_up, states[1])
        return output

    stream, words = whole_stream(hidden), iter(range(1 << 62))
    return [
        Contestant(OWN, OWN, step),
        Contestant(LOOKED_UP, LOOKED_UP, step_from_table),
        Contestant(WHOLE, WHOLE, lambda x: stream.step(f"word{next(words) % 500}").value),
    ]


def whole_stream(hidden: int) -> Stream:
    """A tagger of words as `run.stream()` makes it."""
    task = Tag(min_frequency=1)
    task.words.learn([[f"word{n}" for n in range(VOCABULARY)]])
    task.tags.learn([f"tag{n:02}" for n in range(TAGS)])
    model = Recurrent(task.signature(), cell="lstm", embedding_size=hidden, hidden_size=hidden)
    return Stream(model, task)


def weights_of(body: RNN) -> list[np.ndarray]:
    """W, U and b, the gates in the order i, f, g, o."""
    named = dict(body.named_parameters())
    names = ("read.weight", "recur.weight", "read.bias")
    return [named[f"layers.0.cell.{name}"].detach().numpy() for name in names]


def by_torch(body: RNN, hidden: int) -> Callable[[np.ndarray], np.ndarray]:
    """nn.LSTM, called for one step."""
    net = nn.LSTM(hidden, hidden)
    values = [*weights_of(body), np.zeros(4 * hidden, np.float32)]
    for parameter, value in zip(net.parameters(), values, strict=True):
        parameter.copy_(torch.from_numpy(value))
    net.eval()
    state = [(torch.zeros(1, 1, hidden), torch.zeros(1, 1, hidden))]

    def step(x: np.ndarray) -> np.ndarray:
        output, state[0] = net(torch.from_numpy(x)[None, None], state[0])
        return output[0, 0].numpy()

    return step


def by_cell(body: RNN, hidden: int) -> Callable[[np.ndarray], np.ndarray]:
    """nn.LSTMCell: no sequence around the step."""
    net = nn.LSTMCell(hidden, hidden)
    values = [*weights_of(body), np.zeros(4 * hidden, np.float32)]
    for parameter, value in zip(net.parameters(), values, strict=True):
        parameter.copy_(torch.from_numpy(value))
    net.eval()
    state = [(torch.zeros(1, hidden), torch.zeros(1, hidden))]

    def step(x: np.ndarray) -> np.ndarray:
        state[0] = net(torch.from_numpy(x)[None], state[0])
        return state[0][0][0].numpy()

    return step


def onnx_session(body: RNN, hidden: int, threads: int) -> Any:
    """One LSTM node; ONNX has its gates in the order i, o, f, g."""
    import onnxruntime  # noqa: PLC0415 - it may not be there
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    def turned(array: np.ndarray) -> np.ndarray:
        i, f, g, o = np.split(array, 4)
        return np.concatenate([i, o, f, g])

    w, u, b = (turned(array) for array in weights_of(body))
    arrays = {"W": w[None], "R": u[None], "B": np.concatenate([b, np.zeros_like(b)])[None]}
    node = helper.make_node(
        "LSTM", ["x", "W", "R", "B", "", "h", "c"], ["", "h_new", "c_new"], hidden_size=hidden
    )

    def info(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, hidden])

    graph = helper.make_graph(
        [node],
        "step",
        [info(name) for name in ("x", "h", "c")],
        [info(name) for name in ("h_new", "c_new")],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def by_onnx(body: RNN, hidden: int, threads: int) -> Callable[[np.ndarray], np.ndarray]:
    """`run`, as most call it."""
    session = onnx_session(body, hidden, threads)
    state = [np.zeros((1, 1, hidden), np.float32)] * 2

    def step(x: np.ndarray) -> np.ndarray:
        state[:] = session.run(None, {"x": x[None, None], "h": state[0], "c": state[1]})
        return state[0][0, 0]

    return step


def by_binding(body: RNN, hidden: int, threads: int) -> Callable[[np.ndarray], np.ndarray]:
    """Two bindings by turns: what one writes the other reads, without a copy."""
    session = onnx_session(body, hidden, threads)
    x = np.zeros((1, 1, hidden), np.float32)
    states = [[np.zeros((1, 1, hidden), np.float32) for _ in range(2)] for _ in range(2)]
    bindings = []
    for old, new in (states, states[::-1]):
        binding = session.io_binding()
        for name, array in (("x", x), ("h", old[0]), ("c", old[1])):
            place = array.ctypes.data
            binding.bind_input(name, "cpu", 0, np.float32, array.shape, place)
        for name, array in (("h_new", new[0]), ("c_new", new[1])):
            place = array.ctypes.data
            binding.bind_output(name, "cpu", 0, np.float32, array.shape, place)
        bindings.append((binding, old, new))  # a binding has addresses only: arrays must live on
    turn = [0]

    def step(row: np.ndarray) -> np.ndarray:
        x[0, 0] = row
        binding, _, (output, _) = bindings[turn[0]]
        session.run_with_iobinding(binding)
        turn[0] = 1 - turn[0]
        return output[0, 0]

    return step


def check(field: list[Contestant], hidden: int) -> None:
    """After the same ten steps all have the same output."""
    rows = np.random.default_rng(1).normal(size=(10, hidden)).astype(np.float32)
    same = [contestant for contestant in field if contestant.name not in (LOOKED_UP, WHOLE)]
    outputs = [[contestant.step(row) for row in rows][-1] for contestant in same]
    for contestant, output in zip(same, outputs, strict=True):
        apart = float(np.abs(output - outputs[0]).max())
        if apart > TOLERANCE:
            raise SystemExit(f"{contestant.name} is not the same: {apart:.2g} apart")


def compete(field: list[Contestant], hidden: int, given: Any) -> dict[str, list[float]]:
    """Microseconds a step of each contestant in each round."""
    rounds, steps, now = given.rounds, given.steps, clock(given.threads)
    rows = np.random.default_rng(2).normal(size=(steps, hidden)).astype(np.float32)
    times: dict[str, list[float]] = {contestant.name: [] for contestant in field}
    for _ in range(rounds):
        for contestant in field:
            contestant.get_ready()
            for row in rows[:WARM_UP]:
                contestant.step(row)
            began = now()
            for row in rows:
                contestant.step(row)
            times[contestant.name].append((now() - began) / steps * 1e6)
    say(f"hidden {hidden}: {rounds} rounds done")
    return times


def summary(field: list[Contestant], times: dict[str, list[float]]) -> dict[str, Any]:
    """Medians, minima, and ratios to Seqloom's; the quickest of a group stands for it."""
    rows = []
    for contestant in field:
        found = times[contestant.name]
        row: dict[str, Any] = {"name": contestant.name, "group": contestant.group}
        row |= {"median": statistics.median(found), "minimum": min(found)}
        for name in (OWN, WHOLE):
            ratios = [theirs / ours for theirs, ours in zip(found, times[name], strict=True)]
            row |= {f"ratio to {name}": statistics.median(ratios)}
        rows.append(row | {"times": found})
    best: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["median"]):
        best.setdefault(row["group"], row)
    return {"rows": rows, "best": {group: row["name"] for group, row in best.items()}}


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = ["# One step of an LSTM at batch 1\n"]
    for size in results["sizes"]:
        rows = [
            [
                row["name"],
                f"{row['median']:,.0f}",
                f"{row['minimum']:,.0f}",
                f"{row[f'ratio to {OWN}']:.2f}",
                f"{row[f'ratio to {WHOLE}']:.2f}",
            ]
            for row in size["rows"]
        ]
        head = [
            f"hidden {size['hidden']}",
            "µs median",
            "µs least",
            "of the cell",
            "of Stream.step",
        ]
        lines += [table(head, rows), ""]
        for group, target in TARGETS.items():
            row = next((r for r in size["rows"] if r["name"] == size["best"].get(group)), None)
            if row is not None:
                ratio = row[f"ratio to {OWN}"]
                verdict = "reached" if ratio >= target else "missed"
                lines.append(
                    f"Against {row['name']}: {ratio:.2f} times, aim {target:g}: {verdict}."
                )
        lines.append("")
    lines.append(
        f"Median and least of {results['rounds']} rounds of {results['steps']} steps; the number"
        f" after a rival's name is its threads; NumPy's BLAS has {results['blas_threads']}."
    )
    return "\n".join([*lines, in_words(results["machine"])])


if __name__ == "__main__":
    main()
