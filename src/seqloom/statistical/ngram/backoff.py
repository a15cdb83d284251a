"""A back-off model in arrays: the probability of what follows, for whole texts or step by step.

Grams of one length lie sorted by context and symbol, so that what can follow a context is one
slice. `links` tell which context a gram becomes when it has been read: one look-up for each length
and symbol is enough to read a text.

From smoothed levels to a back-off model: grams that are not kept go, the rest is linked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from .index import Index
from .levels import NEVER, Level
from .smoothing import Smoothed

UNSEEN, NONE_YET = -1, -2  # contexts: never seen in training; longer than what was read so far
Nodes = Int[np.ndarray, "rows depths"]


@dataclass(frozen=True)
class Table:
    """The grams of one length of two or more, and the contexts they have."""

    words: Int[np.ndarray, " grams"]
    starts: Int[np.ndarray, " contexts_and_one"]  # where the grams of each context begin
    log_probs: Float[np.ndarray, " grams"]
    back_offs: Float[np.ndarray, " contexts"]  # natural logarithms, as log_probs are

    @cached_property
    def contexts(self) -> Int[np.ndarray, " grams"]:
        """The context of each gram."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True)
class BackOff:
    """log p(w | context), for contexts of up to order - 1 symbols."""

    first: Float[np.ndarray, " symbols"]  # log-probabilities without a context
    tables: tuple[Table, ...]
    links: tuple[Int[np.ndarray, " _"], ...]  # from a gram to the context it is, or UNSEEN
    is_flat: bool = False
    _indices: dict[int, Index] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def even(cls, size: int, order: int, is_flat: bool) -> "BackOff":
        """What a model says that has counted nothing yet: all symbols are even."""
        none, no_logs = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        table = Table(none, np.zeros(1, dtype=np.int64), no_logs, no_logs)
        links = [np.full(size, UNSEEN, dtype=np.int32), *[none] * (order - 2)][: order - 1]
        return cls(_evenly(size).astype(np.float32), (table,) * (order - 1), tuple(links), is_flat)

    @property
    def order(self) -> int:
        """How many symbols the longest grams have."""
        return len(self.tables) + 1

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.first)

    def count(self) -> int:
        """How many grams of all lengths there are."""
        return self.size - 1 + sum(len(table.words) for table in self.tables)

    def begin(self, rows: int) -> Nodes:
        """The contexts before anything was read, the shortest first."""
        return np.full((rows, self.order - 1), NONE_YET if self.is_flat else UNSEEN)

    def read(self, symbols: Int[np.ndarray, " rows"], nodes: Nodes) -> Nodes:
        """The contexts once each row has read one more symbol."""
        after = self.begin(len(symbols))
        if self.order > 1:
            after[:, 0] = self.links[0][symbols]
        for depth in range(1, self.order - 1):
            before = nodes[:, depth - 1]
            after[:, depth] = self._linked(depth, before, self.find(depth, before, symbols))
        return after

    def find(
        self, depth: int, context: Int[np.ndarray, " n"], word: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """Which gram a context and a symbol are; UNSEEN where they are none."""
        found = np.full(len(word), UNSEEN)
        alive = np.flatnonzero(context >= 0)
        wanted = context[alive] * self.size + word[alive]
        found[alive] = self._index(depth).find(wanted)
        return found

    def score(
        self,
        source: Int[np.ndarray, " rows"],
        target: Int[np.ndarray, " n"],
        first: Int[np.ndarray, " rows"],
        nodes: Nodes,
    ) -> tuple[Float[np.ndarray, " n"], list[Int[np.ndarray, " n"]]]:
        """The log-probability of every symbol of some texts laid end to end, and its contexts.

        `first` says where in `target` each text begins, `source` which symbol was read before,
        and `nodes` what had been read before that.
        """
        log_probs = self.first[target].astype(np.float64)
        entry = self.read(source, nodes)
        contexts = []
        gram = target
        context = np.zeros(len(target), dtype=np.int64)
        for depth in range(1, self.order):
            linked = self._linked(depth - 1, context, gram)
            context = np.empty(len(target), dtype=np.int64)  # a code of it is beyond 32 bits
            context[1:] = linked[:-1]
            context[first] = entry[:, depth - 1]
            gram = self.find(depth, context, target)
            self._back_off(depth, context, gram, log_probs)
            contexts.append(context)
        return log_probs, contexts

    def following(self, nodes: Int[np.ndarray, " depths"]) -> Float[np.ndarray, " symbols"]:
        """Log-probabilities of all symbols after the contexts of one row."""
        log_probs = self.first.astype(np.float64)
        for table, node in zip(self.tables, nodes.tolist(), strict=True):
            if self.is_flat and node != NONE_YET:
                log_probs = _evenly(self.size)
            if node >= 0:
                log_probs += table.back_offs[node]
                there = slice(table.starts[node], table.starts[node + 1])
                log_probs[table.words[there]] = table.log_probs[there]
        return log_probs

    def _back_off(
        self, depth: int, context: np.ndarray, gram: np.ndarray, log_probs: np.ndarray
    ) -> None:
        """One length further: what was not seen costs the weight of its context."""
        table = self.tables[depth - 1]
        if self.is_flat:  # what is there without a context is even, or impossible
            log_probs[(context != NONE_YET) & (log_probs > -np.inf)] = _evenly(self.size).max()
        seen = np.flatnonzero(gram >= 0)
        missed = np.flatnonzero((gram < 0) & (context >= 0))
        log_probs[seen] = table.log_probs[gram[seen]]
        log_probs[missed] += table.back_offs[context[missed]]

    def _linked(self, depth: int, context: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """The context each gram is once it is read."""
        after = np.full(len(gram), UNSEEN)
        seen = np.flatnonzero(gram >= 0)
        after[seen] = self.links[depth][gram[seen]]
        return np.where(context == NONE_YET, NONE_YET, after) if self.is_flat else after

    def _index(self, depth: int) -> Index:
        """Grams by context and symbol as one number."""
        if depth not in self._indices:
            table = self.tables[depth - 1]
            self._indices[depth] = Index(table.contexts * self.size + table.words)
        return self._indices[depth]

    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers by name."""
        found = {"log_probs.1": self.first}
        for length, table in enumerate(self.tables, start=2):
            found |= {f"words.{length}": table.words, f"starts.{length}": table.starts}
            found |= {
                f"log_probs.{length}": table.log_probs,
                f"back_offs.{length}": table.back_offs,
            }
        return found | {f"links.{n}": link for n, link in enumerate(self.links, start=1)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], order: int, is_flat: bool) -> "BackOff":
        """What `arrays` gave."""
        names = ("words", "starts", "log_probs", "back_offs")
        tables = [
            Table(*(arrays[f"{n}.{length}"] for n in names)) for length in range(2, order + 1)
        ]
        links = [arrays[f"links.{length}"] for length in range(1, order)]
        return cls(arrays["log_probs.1"], tuple(tables), tuple(links), is_flat)


def _evenly(size: int) -> Float[np.ndarray, " {size}"]:
    """The logarithms of one over the number of symbols, for all that can follow."""
    even = np.full(size, -np.log(size - len(NEVER)))
    even[NEVER] = -np.inf
    return even


def linked(levels: Sequence[Level], smoothed: Sequence[Smoothed], is_flat: bool) -> BackOff:
    """The model of some smoothed levels."""
    kept = [_Kept.of(level, one) for level, one in zip(levels, smoothed, strict=True)]
    tables = [
        _table(level, one, some)
        for level, one, some in list(zip(levels, smoothed, kept, strict=True))[1:]
    ]
    links = _links(levels, kept)
    return BackOff(_logs(smoothed[0].chance), tuple(tables), tuple(links), is_flat)


@dataclass(frozen=True)
class _Kept:
    """What is left of a level once grams have gone: the new numbers of grams and contexts."""

    grams: Int[np.ndarray, " grams"]  # UNSEEN where one has gone
    contexts: Int[np.ndarray, " contexts"]

    @classmethod
    def of(cls, level: Level, smoothed: Smoothed) -> "_Kept":
        has_any = np.zeros(level.contexts, dtype=bool)
        has_any[level.context[smoothed.kept]] = True
        return cls(_numbered(smoothed.kept), _numbered(has_any))


def _numbered(kept: np.ndarray) -> Int[np.ndarray, " _"]:
    return np.where(kept, np.cumsum(kept) - 1, UNSEEN)


def _table(level: Level, smoothed: Smoothed, kept: _Kept) -> Table:
    context = kept.contexts[level.context[smoothed.kept]]
    some = kept.contexts >= 0
    return Table(
        level.word[smoothed.kept].astype(np.int32),
        np.searchsorted(context, np.arange(some.sum() + 1)),
        _logs(smoothed.chance[smoothed.kept]),
        _logs(smoothed.weight[some]),
    )


def _links(levels: Sequence[Level], kept: Sequence[_Kept]) -> list[Int[np.ndarray, " _"]]:
    """For the grams of each length but the longest, which context each of them is.

    A context is found from the contexts one shorter: without its nearest symbol it is the one its
    parent is without it, and the farthest symbol before that.
    """
    size = len(levels[0].word)
    links = []
    without = nearest = np.zeros(1, dtype=np.int64)  # of each context: without its nearest; that
    for depth in range(1, len(levels)):
        level, shorter = levels[depth], levels[depth - 1]
        if depth == 1:
            without, nearest = np.zeros(level.contexts, dtype=np.int64), level.farthest
        else:
            parents = Index(shorter.parent * size + shorter.farthest)
            without = parents.find(without[level.parent] * size + level.farthest)
            nearest = nearest[level.parent]
        some = np.flatnonzero(kept[depth].contexts >= 0)
        every = Index(shorter.context * size + shorter.word)
        grams = every.find(without[some] * size + nearest[some])
        link = np.full(int(kept[depth - 1].grams.max(initial=-1)) + 1, UNSEEN, dtype=np.int32)
        new = np.where(grams >= 0, kept[depth - 1].grams[grams], UNSEEN)
        link[new[new >= 0]] = kept[depth].contexts[some[new >= 0]]
        links.append(link)
    return links


def _logs(chances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(chances).astype(np.float32)
