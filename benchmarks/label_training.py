"""Training throughput of classifiers and taggers, against a plain PyTorch loop, in one run.

Two comparisons: the CNN of Kim (2014) on the questions of TREC, and a BiLSTM tagger on the
sentences of UD English EWT. Two baselines: a common training loop, a `DataLoader` that shuffles and
pads, `nn.Conv1d` or `nn.LSTM` with packed sequences, `cross_entropy`, gradient clipping, and
`torch.optim.Adam`; and the same at its best, over batches of like lengths, with
Adam's fused step. Seqloom runs its whole training step (`GradientDescent`). Rounds
are interleaved in one process, on the same examples with the same sizes; first it is checked that
all compute the same loss with the same weights. The ratio is the median over rounds.

    python benchmarks/label_training.py
"""

import copy
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from surroundings import arguments, clock, data_set, in_words, machine, positive, report, say, table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

from seqloom.batch import Item, collate
from seqloom.config import constructor_arguments
from seqloom.data.loading.batching import BucketLoader
from seqloom.data.text.vocabulary import LabelSet, Vocabulary
from seqloom.models import MODELS
from seqloom.signature import PAD, Form, Signature
from seqloom.training.gradient_descent import GradientDescent
from seqloom.training.options import Training

AIM, TOLERANCE, WARM_UP_STEPS = 1.5, 1e-4, 3
WIDTH, HIDDEN, DROPOUT, BATCH = 300, 300, 0.5, 50
TAGGER_WIDTH, TAGGER_HIDDEN, TAGGER_BATCH = 100, 200, 32
LONGEST = 5  # width of the widest filter, in words
NOTHING = -100  # ignore_index of `cross_entropy`
RIVALS = {"own": "Seqloom", "plain": "plain loop", "best": "buckets, fused Adam"}


@dataclass(frozen=True)
class Contest:
    """Examples, Seqloom's model, and a baseline of the same architecture."""

    name: str
    items: list[Item]
    own: Any
    rival: "Kim | Tagger"
    batch: int


class Kim(nn.Module):
    """CNN of Kim (2014): three widths of `nn.Conv1d`, max pooling, dropout, linear output layer."""

    def __init__(self, symbols: int, labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, WIDTH, padding_idx=PAD)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(WIDTH, HIDDEN // 3, size) for size in (3, 4, LONGEST)
        )
        self.dropout, self.scores = nn.Dropout(DROPOUT), nn.Linear(HIDDEN, labels)

    def loss(self, ids: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """Mean surprise of a batch."""
        ids = pad(ids, (0, max(0, LONGEST - ids.shape[1])))
        x = self.dropout(self.embedding(ids)).transpose(1, 2)
        found = [torch.relu(one(x)).max(2).values for one in self.convolutions]
        return cross_entropy(self.scores(self.dropout(torch.cat(found, 1))), labels[:, 0])

    def take(self, own: Any) -> None:
        """The weights of Seqloom's model."""
        self.embedding.weight.copy_(own.input.table.weight)
        self.scores.load_state_dict(own.output.scores.state_dict())
        for one, stack in zip(self.convolutions, own.body.stacks, strict=True):
            mix = stack.filters[0].mix
            size = one.kernel_size[0]
            one.weight.copy_(mix.weight.unflatten(1, (size, WIDTH)).transpose(1, 2))
            one.bias.copy_(mix.bias)


class Tagger(nn.Module):
    """`nn.LSTM` in both directions over packed sentences, dropout, scores."""

    def __init__(self, symbols: int, labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, TAGGER_WIDTH, padding_idx=PAD)
        half = TAGGER_HIDDEN // 2
        self.lstm = nn.LSTM(TAGGER_WIDTH, half, batch_first=True, bidirectional=True)
        self.dropout, self.scores = nn.Dropout(DROPOUT), nn.Linear(TAGGER_HIDDEN, labels)

    def loss(self, ids: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """Mean surprise of a batch."""
        x = self.dropout(self.embedding(ids))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.scores(self.dropout(states))
        return cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=NOTHING)

    def take(self, own: Any) -> None:
        """The weights of Seqloom's model, by the names that both cells share."""
        self.embedding.weight.copy_(own.input.table.weight)
        self.scores.load_state_dict(own.output.scores.state_dict())
        sides = (("", own.body.layers[0]), ("_reverse", own.body.backward_layers[0]))
        for end, layer in sides:
            getattr(self.lstm, f"weight_ih_l0{end}").copy_(layer.cell.read.weight)
            getattr(self.lstm, f"bias_ih_l0{end}").copy_(layer.cell.read.bias)
            getattr(self.lstm, f"weight_hh_l0{end}").copy_(layer.cell.recur.weight)
            getattr(self.lstm, f"bias_hh_l0{end}").zero_()


def questions() -> tuple[list[list[str]], list[list[str]]]:
    """The words and the label of each question of TREC."""
    (path,) = data_set("trec/TREC.train.all")
    lines = path.read_text(encoding="latin-1").split("\n")
    rows = [line.split() for line in lines if line.strip()]
    return [row[1:] for row in rows], [row[:1] for row in rows]


def sentences() -> tuple[list[list[str]], list[list[str]]]:
    """The words and the parts of speech of each sentence of UD English EWT."""
    (path,) = data_set("ud-en-ewt/en_ewt-ud-train.conllu")
    blocks = Path(path).read_text(encoding="utf-8").strip().split("\n\n")
    words, tags = [], []
    for block in blocks:
        rows = [line.split("\t") for line in block.split("\n") if line[:1].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]
        words.append([row[1] for row in rows])
        tags.append([row[3] for row in rows])
    return words, tags


def contest(name: str, read: Any, form: Form, options: dict[str, Any], rival: Any) -> Contest:
    """Numbers for words and labels, and two models of the same sizes."""
    texts, labels = read()
    vocabulary, known = Vocabulary(), LabelSet()
    vocabulary.learn(texts, 2)
    known.learn(label for row in labels for label in row)
    pairs = zip(texts, labels, strict=True)
    items = [Item(vocabulary.encode(text), known.encode(right)) for text, right in pairs]
    kind, batch = MODELS[options.pop("model")], options.pop("batch")
    signature = Signature(form, vocabulary.space, known.space)
    kind.seed(1)
    own = kind(signature, **constructor_arguments(kind, options))
    other = rival(vocabulary.space.size, known.space.size)
    return Contest(name, items, own, other, batch)


def contests() -> Iterator[Contest]:
    """Both comparisons."""
    kim = {"model": "convolutional", "filters": (3, 4, LONGEST), "num_layers": 1}
    kim |= {"padding": "valid", "bidirectional": True, "pooling": "max"}
    kim |= {"embedding_size": WIDTH, "hidden_size": HIDDEN, "dropout": DROPOUT, "batch": BATCH}
    yield contest("convolutional, TREC", questions, Form.WHOLE, kim, Kim)
    both = {"model": "recurrent", "cell": "lstm", "bidirectional": True, "dropout": DROPOUT}
    both |= {"embedding_size": TAGGER_WIDTH, "hidden_size": TAGGER_HIDDEN, "batch": TAGGER_BATCH}
    yield contest("BiLSTM, UD EWT", sentences, Form.EACH, both, Tagger)


def check(found: Contest) -> None:
    """Check that with the same weights the losses of single examples are equal."""
    rival, own = found.rival.eval(), found.own
    with torch.no_grad(), own.inference_mode():
        rival.take(own)
        for item in [one for one in found.items if len(one.source) >= LONGEST][:20]:
            ids, labels = torch.from_numpy(item.source), torch.from_numpy(item.target)
            one = rival.loss(ids[None], torch.tensor([len(ids)]), labels[None]).item()
            other = own.loss(collate([item])).item()
            if abs(one - other) > TOLERANCE:
                raise SystemExit(f"{found.name}: losses differ, {one} and {other}")


def own_step(found: Contest) -> Callable[[], int]:
    """One training step of Seqloom, which returns its number of words."""
    settings = Training(
        batch_size=found.batch, epochs=10**6, learning_rate=0.001, max_grad_norm=1.0
    )
    batches = BucketLoader(found.items, found.batch, 0, settings.seed)
    steps = GradientDescent(found.own, batches, settings).steps()
    counts, batch_of = Counter[str](), batches.batch

    def counted(which: Any) -> Any:
        batch = batch_of(which)
        counts["words"] = int(batch.source.lengths.sum())
        return batch

    batches.batch = counted  # type: ignore[method-assign]

    def step() -> int:
        next(steps)
        return counts["words"]

    return step


Padded = tuple[Tensor, Tensor, Tensor]


def padded(items: list[Item]) -> Padded:
    """Ids, lengths and labels of a batch."""
    ids = [torch.from_numpy(item.source) for item in items]
    labels = [torch.from_numpy(item.target) for item in items]
    lengths = torch.tensor([len(row) for row in ids])
    return (
        pad_sequence(ids, batch_first=True, padding_value=PAD),
        lengths,
        pad_sequence(labels, batch_first=True, padding_value=NOTHING),
    )


def plain_step(found: Contest) -> Callable[[], int]:
    """One step of the plain loop."""
    loader = DataLoader(found.items, found.batch, shuffle=True, collate_fn=padded)  # type: ignore[arg-type]
    batches = (batch for _ in iter(int, 1) for batch in loader)
    return rival_step(found, batches, fused=False)


def bucket_step(found: Contest) -> Callable[[], int]:
    """One step over batches of like lengths, with a fused optimizer."""

    def batches() -> Iterator[Padded]:
        loader = BucketLoader(found.items, found.batch, 0, 1)
        for epoch in count():
            for which in loader.epoch(epoch):
                yield padded([found.items[place] for place in which])

    return rival_step(found, batches(), fused=True)


def rival_step(found: Contest, batches: Iterator[Padded], fused: bool) -> Callable[[], int]:
    """One step of a loop of torch's parts."""
    model = copy.deepcopy(found.rival).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=fused)

    def step() -> int:
        ids, lengths, labels = next(batches)
        optimizer.zero_grad()
        model.loss(ids, lengths, labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return int(lengths.sum())

    return step


def speed(step: Callable[[], int], seconds: float) -> float:
    """Words per second over about so many seconds."""
    now, words = clock(torch.get_num_threads()), 0
    began = now()
    while (taken_so_far := now() - began) < seconds:
        words += step()
    return words / taken_so_far


def measure(found: Contest, rounds: int, seconds: float) -> dict[str, Any]:
    """All by turns; a ratio is the median of the rounds'."""
    check(found)
    steps = {"own": own_step(found), "plain": plain_step(found), "best": bucket_step(found)}
    for step in steps.values():
        for _ in range(WARM_UP_STEPS):
            step()
    speeds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name in list(steps)[:: 1 if number % 2 else -1]:
            speeds[name].append(speed(steps[name], seconds))
        told = ", ".join(f"{name} {rates[-1]:,.0f}" for name, rates in speeds.items())
        say(f"{found.name}: {told} words per second")
    ratios = {
        name: statistics.median(
            one / other for one, other in zip(speeds["own"], theirs, strict=True)
        )
        for name, theirs in speeds.items()
    }
    return {"contest": found.name, "speeds": speeds, "ratios": ratios}


def main() -> None:
    """Both contests, and a table."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=positive, default=6, metavar="N")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="for each turn")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    np.random.seed(1)
    torch.manual_seed(1)
    facts = machine(given.threads)
    found = [measure(one, given.rounds, given.seconds) for one in contests()]
    rows = [
        [one["contest"], *(f"{statistics.median(one['speeds'][n]):,.0f}" for n in RIVALS)]
        + [f"{one['ratios'][n]:.2f}" for n in ("plain", "best")]
        for one in found
    ]
    head = ["model and data", *(f"{n}, words/s" for n in RIVALS.values()), "to plain", "to buckets"]
    text = f"{table(head, rows)}\n\nAim: {AIM} of the plain loop. {in_words(facts)}"
    report(text, {"machine": facts, "results": found, "aim": AIM}, given.json)


if __name__ == "__main__":
    main()
