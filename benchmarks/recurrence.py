"""Training steps of one recurrent layer against torch.nn, packed or padded, and the eager loop.

A step is forward and backward, with the gradients of all weights and of the input. On every line
Seqloom and its baselines are interleaved in one process, so that the load of the machine affects
all alike; of several baselines the fastest is compared. The ratio is the median over repetitions of
one time over the other in the same repetition; the ratio of the shortest times is reported, too.

    python benchmarks/recurrence.py --only lstm/50-32-128-256 --only context --repeats 9
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from surroundings import arguments, clock, in_words, machine, positive, report, say, table
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.batch import Item
from seqloom.data.loading.batching import BucketLoader
from seqloom.nn.cells import CELLS
from seqloom.nn.cells.options import DEFAULT_RNN_OPTIONS, RNNOptions
from seqloom.nn.rnn import RNN

TORCH = {"lstm": nn.LSTM, "gru": nn.GRU, "elman": nn.RNN}
WARM_UP_STEPS = 2
TURN_SECONDS = 0.05  # a turn is repeated until it took so long, that the clock does not matter


class Size(NamedTuple):
    """How many steps, sequences, numbers of an input and numbers of a state."""

    time: int
    batch: int
    inputs: int
    hidden: int

    def __str__(self) -> str:
        return "-".join(map(str, self))


SIZES = [
    Size(50, 32, 128, 256),
    Size(50, 32, 512, 512),
    Size(35, 20, 650, 650),
    Size(100, 64, 256, 256),
    Size(200, 1, 128, 256),
]
MIXED = Size(50, 32, 128, 256)  # lengths from SHORTEST to its time
LONG = Size(1000, 32, 128, 256)
SHORTEST, SEQUENCES = 5, 256
MANY = 20  # batches of so many and more are held to nn.LSTM, a single sequence to the eager loop


@dataclass(frozen=True)
class Variant:
    """A cell, with an option that makes another computation of it."""

    cell: str
    option: str = ""
    rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS

    @property
    def name(self) -> str:
        return f"{self.cell} {self.option}".strip()

    def multiplications(self, size: Size) -> int:
        """How many numbers are multiplied in matrix products, for one sequence at one step."""
        kind = CELLS[self.cell]
        recurrent = kind.products if kind.recurrent is None else kind.recurrent
        square = size.hidden**2
        found = kind.products * size.inputs * size.hidden + recurrent * square
        if self.cell == "context":
            found += 2 * square  # what is made of h and c
        if self.cell == "lstm-peephole":
            found += 3 * (square if self.rnn_options.peepholes == "full" else size.hidden)
        return found


PLAIN_LSTM = Variant("lstm")
OTHERS = [
    Variant("elman", "sigmoid", RNNOptions(activation="sigmoid")),
    Variant("context"),
    Variant("carousel"),
    Variant("lstm-simple"),
    Variant("lstm-peephole"),
    Variant("lstm-peephole", "diagonal", RNNOptions(peepholes="diagonal")),
    Variant("gru-simple"),
    Variant("gru", "reset before", RNNOptions(reset="before")),
    Variant("mingru"),
    Variant("minlstm"),
]

Step = Callable[[], object]


@dataclass(frozen=True)
class Aim:
    """What is wanted: at most so much of the rival's time, or at least so much of its speed."""

    number: float
    of_time: bool
    scale: float = 1.0  # Seqloom's multiplications over the rival's

    def ratio(self, own: float, rival: float) -> float:
        return own / rival / self.scale if self.of_time else rival / own

    def met(self, ratio: float) -> bool:
        return ratio <= self.number if self.of_time else ratio >= self.number

    def __str__(self) -> str:
        return f"{'time ≤' if self.of_time else 'speed ≥'} {self.number:g} ×"


@dataclass(frozen=True)
class Line:
    """One line of the table: who against whom over what, and what is wanted."""

    cell: str
    data: str
    rival: str
    aim: Aim
    make: Callable[[], tuple[Step, list[Step]]]  # Seqloom's step, and the rival's in every setting

    @property
    def name(self) -> str:
        return f"{self.cell}/{self.data}"


def main() -> None:
    """Measure the chosen lines and report."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=positive, default=15, help="turns (default: %(default)s)")
    parser.add_argument(
        "--only", action="append", metavar="CELL/SIZE", help="lines that begin so; can be repeated"
    )
    given = parser.parse_args()
    facts = machine(given.threads)
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    chosen = tuple(given.only or [""])
    rows = [measured(line, given.repeats) for line in lines() if line.name.startswith(chosen)]
    results = {"rows": rows, "repeats": given.repeats, "machine": facts}
    report(shown(results), results, given.json)


def lines() -> Iterator[Line]:
    """All lines of the table."""
    for cell in TORCH:
        for size in SIZES:
            quick_one = cell == "gru" and size.batch == 1
            aim = Aim(2.0, of_time=False) if quick_one else Aim(1.03, of_time=True)
            yield Line(cell, str(size), f"nn.{TORCH[cell].__name__}", aim, full(cell, size))
        for both in (False, True):
            data, aim = "mixed, both ways" if both else "mixed", 1.1 if cell == "lstm" else 1.5
            aim_of_speed = Aim(aim, of_time=False)
            yield Line(cell, data, "packed, padded", aim_of_speed, mixed(cell, both))
    for variant in OTHERS:
        for size in SIZES:
            if size.batch >= MANY:
                scale = variant.multiplications(size) / PLAIN_LSTM.multiplications(size)
                aim = Aim(1.3 if size.hidden >= 512 else 1.5, of_time=True, scale=scale)
                make = against_torch(variant, size, nn.LSTM)
                yield Line(variant.name, str(size), "nn.LSTM, scaled", aim, make)
            else:
                aim = Aim(1.5, of_time=False)
                yield Line(variant.name, str(size), "eager loop", aim, against_loop(variant, size))
    make = against_torch(Variant("mingru"), LONG, nn.GRU)
    yield Line("mingru", str(LONG), "nn.GRU", Aim(3.0, of_time=False), make)


def full(cell: str, size: Size) -> Callable[[], tuple[Step, list[Step]]]:
    """Batches without padding."""
    return against_torch(Variant(cell), size, TORCH[cell])


def against_torch(
    variant: Variant, size: Size, kind: type[nn.RNNBase]
) -> Callable[[], tuple[Step, list[Step]]]:
    """A rival of torch's, with time first and with the batch first."""

    def make() -> tuple[Step, list[Step]]:
        return own_step(variant, size), [torch_step(kind, size, first) for first in (False, True)]

    return make


def against_loop(variant: Variant, size: Size) -> Callable[[], tuple[Step, list[Step]]]:
    """The cell's equation, step by step."""

    def make() -> tuple[Step, list[Step]]:
        recurrence = RNN(variant.cell, size.inputs, size.hidden, rnn_options=variant.rnn_options)
        cell = recurrence.layers[0].cell

        def loop(x: Tensor) -> Tensor:
            return cell.unroll_reference(cell.read(x), cell.initial(len(x)))[0]

        return own_step(variant, size), [training_step(loop, recurrence, full_batch(size))]

    return make


def mixed(cell: str, both: bool) -> Callable[[], tuple[Step, list[Step]]]:
    """Sequences of many lengths, in the batches that training makes; one step is all batches.

    Torch's layer reads them packed, and as they are: in buckets of like lengths little is padding,
    and forwards the outputs at padding are just not used. Backwards a second layer reads each
    sequence reversed up to its own length.
    """

    def make() -> tuple[Step, list[Step]]:
        batches = buckets()
        size = MIXED
        width = size.hidden // 2 if both else size.hidden
        ours = RNN(cell, size.inputs, size.hidden, bidirectional=both)
        theirs = TORCH[cell](size.inputs, width, batch_first=True, bidirectional=both)

        def own(x: Tensor, lengths: Tensor) -> Tensor:
            return ours(x, lengths)

        def packed(x: Tensor, lengths: Tensor) -> Tensor:
            bundle = pack_padded_sequence(x, lengths, batch_first=True)
            return pad_packed_sequence(theirs(bundle)[0], batch_first=True)[0]

        rivals = [over_batches(packed, theirs, batches)]
        if both:
            twice = BothWays(cell, size.inputs, width)
            rivals.append(over_batches(twice, twice, batches))
        else:
            rivals.append(over_batches(lambda x, lengths: theirs(x)[0], theirs, batches))
        return over_batches(own, ours, batches), rivals

    return make


class BothWays(nn.Module):
    """Two layers of torch's over padded sequences, one of them reversed: no packing."""

    def __init__(self, cell: str, inputs: int, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(TORCH[cell](inputs, width, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        turned = lengths[:, None] - 1 - places
        turned = torch.where(turned >= 0, turned, places)[..., None]
        forwards, backwards = self.layers
        reverse = backwards(x.gather(1, turned.expand_as(x)))[0]
        return torch.cat([forwards(x)[0], reverse.gather(1, turned.expand_as(reverse))], -1)


def buckets() -> list[tuple[Tensor, Tensor]]:
    """Inputs and lengths, longest first, as packing likes it best."""
    chance = np.random.default_rng(1)
    wanted = chance.integers(SHORTEST, MIXED.time + 1, SEQUENCES)
    items = [Item(np.zeros(length, int), np.zeros(length, int)) for length in wanted]
    found = []
    for which in BucketLoader(items, MIXED.batch, 0, 1).epoch(0):
        lengths = torch.from_numpy(wanted[which]).sort(descending=True).values
        found.append((full_batch(MIXED._replace(time=int(lengths[0]))), lengths))
    return found


def over_batches(
    run: Callable[[Tensor, Tensor], Tensor], module: nn.Module, batches: list[tuple[Tensor, Tensor]]
) -> Step:
    """A training step on every batch."""
    steps = [
        training_step(lambda x, lengths=lengths: run(x, lengths), module, x)
        for x, lengths in batches
    ]
    return lambda: [step() for step in steps]


def own_step(variant: Variant, size: Size) -> Step:
    """Seqloom's layer over a full batch."""
    recurrence = RNN(variant.cell, size.inputs, size.hidden, rnn_options=variant.rnn_options)
    lengths = torch.full((size.batch,), size.time)
    return training_step(lambda x: recurrence(x, lengths), recurrence, full_batch(size))


def torch_step(kind: type[nn.RNNBase], size: Size, batch_first: bool) -> Step:
    """Torch's layer over a full batch."""
    module = kind(size.inputs, size.hidden, batch_first=batch_first)
    x = full_batch(size)
    x = x if batch_first else x.detach().transpose(0, 1).contiguous().requires_grad_()
    return training_step(lambda x: module(x)[0], module, x)


def full_batch(size: Size) -> Tensor:
    return torch.randn(size.batch, size.time, size.inputs, requires_grad=True)


def training_step(run: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor) -> Step:
    """Forward, and backward to all weights and the input."""
    wanted = [x, *module.parameters()]
    with torch.no_grad():
        grad = torch.randn_like(run(x).contiguous())

    def step() -> object:
        return torch.autograd.grad(run(x), wanted, grad)

    return step


def measured(line: Line, repeats: int) -> dict[str, Any]:
    """Seqloom and its rivals by turns."""
    own, rivals = line.make()
    times = by_turns([own, *rivals], repeats)
    best = min(times[1:], key=statistics.median)
    ratio = statistics.median(map(line.aim.ratio, times[0], best))
    shortest = line.aim.ratio(min(times[0]), min(best))
    row = {
        "cell": line.cell,
        "data": line.data,
        "rival": line.rival,
        "ratio": ratio,
        "ratio_of_shortest": shortest,
        "aim": str(line.aim),
        "scale": line.aim.scale,
        "met": line.aim.met(ratio),
        "seconds": {"own": times[0], "rivals": times[1:]},
    }
    say(f"{line.name}: {ratio:.2f} ({shortest:.2f}), {line.aim}: {in_a_word(row)}")
    return row


def by_turns(steps: Sequence[Step], repeats: int) -> list[list[float]]:
    """Seconds of one step of each, in every turn."""
    counts = []
    for step in steps:
        for _ in range(WARM_UP_STEPS):
            step()
        counts.append(max(1, round(TURN_SECONDS / seconds(step, 1))))
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(repeats):
        for place, (step, count) in enumerate(zip(steps, counts, strict=True)):
            times[place].append(seconds(step, count))
    return times


def seconds(step: Step, count: int) -> float:
    """What one step took, of so many."""
    now = clock(torch.get_num_threads())
    begin = now()
    for _ in range(count):
        step()
    return (now() - begin) / count


def in_a_word(row: dict[str, Any]) -> str:
    return "met" if row["met"] else "MISSED"


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        [
            row["cell"],
            row["data"],
            row["rival"],
            f"{row['ratio']:.2f}",
            f"{row['ratio_of_shortest']:.2f}",
            row["aim"],
            in_a_word(row),
        ]
        for row in results["rows"]
    ]
    head = ["cell", "T-B-I-H", "rival", "ratio", "of shortest", "aim", "met"]
    met = sum(row["met"] for row in results["rows"])
    return "\n\n".join(
        [
            "# Training steps of one recurrent layer",
            table(head, rows, words=3),
            f"{met} of {len(rows)} aims met. `time` is Seqloom's time over the rival's (scaled: "
            "also over the ratio of their multiplications), `speed` the rival's time over "
            f"Seqloom's; medians of {results['repeats']} turns.",
            in_words(results["machine"]),
        ]
    )


if __name__ == "__main__":
    main()
