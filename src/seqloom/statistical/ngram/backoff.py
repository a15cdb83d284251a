"""Back-off n-gram model (Katz, 1987) in arrays: scoring of whole texts, and token by token.

N-grams of one order lie sorted by context and token, so that what can follow a context is one
slice. `links` say which context an n-gram becomes when it has been read: one look-up for each order
and token is enough to read a text. `build_backoff` makes the model of smoothed levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from .index import HashIndex
from .levels import NEVER, Level
from .smoothing import SmoothedLevel

# Contexts that are no number: one that was never seen in training, and one that is longer than the
# text so far. Only add-k treats them differently, as it does not back off from unseen contexts.
UNSEEN, NOT_READ = -1, -2
Contexts = Int[np.ndarray, "rows depths"]


@dataclass(frozen=True)
class NGramTable:
    """The n-grams of one order of two or more, and the contexts they have."""

    tokens: Int[np.ndarray, " grams"]
    starts: Int[np.ndarray, " contexts_and_one"]  # where the n-grams of each context begin
    log_probs: Float[np.ndarray, " grams"]
    backoffs: Float[np.ndarray, " contexts"]  # natural logarithms, as log_probs are

    @cached_property
    def contexts(self) -> Int[np.ndarray, " grams"]:
        """The context of each n-gram."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True)
class BackoffModel:
    """log p(w | context), for contexts of up to order - 1 tokens.

    p(w | u) = P(u w)              if u w is among the n-grams
               B(u) p(w | u')      else; u' is u without its first token
    """

    unigrams: Float[np.ndarray, " tokens"]  # log-probabilities without a context
    tables: tuple[NGramTable, ...]
    links: tuple[Int[np.ndarray, " _"], ...]  # from an n-gram to the context it is, or UNSEEN
    is_uniform: bool = False  # unseen n-grams are uniform and do not back off (add-k)
    _indices: dict[int, HashIndex] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def uniform(cls, size: int, order: int, is_uniform: bool) -> "BackoffModel":
        """A model before training: all tokens have the same probability."""
        none, no_logs = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        table = NGramTable(none, np.zeros(1, dtype=np.int64), no_logs, no_logs)
        links = [np.full(size, UNSEEN, dtype=np.int32), *[none] * (order - 2)][: order - 1]
        unigrams = _uniform_log_probs(size).astype(np.float32)
        return cls(unigrams, (table,) * (order - 1), tuple(links), is_uniform)

    @property
    def order(self) -> int:
        """The highest order of its n-grams."""
        return len(self.tables) + 1

    @property
    def size(self) -> int:
        """The size of the vocabulary."""
        return len(self.unigrams)

    def count(self) -> int:
        """How many n-grams of all orders there are."""
        return self.size - 1 + sum(len(table.tokens) for table in self.tables)

    def begin(self, rows: int) -> Contexts:
        """The contexts before anything was read, the shortest first."""
        return np.full((rows, self.order - 1), NOT_READ if self.is_uniform else UNSEEN)

    def read(self, tokens: Int[np.ndarray, " rows"], contexts: Contexts) -> Contexts:
        """The contexts once each row has read one more token."""
        after = self.begin(len(tokens))
        if self.order > 1:
            after[:, 0] = self.links[0][tokens]
        for depth in range(1, self.order - 1):
            before = contexts[:, depth - 1]
            after[:, depth] = self._linked(depth, before, self.find(depth, before, tokens))
        return after

    def find(
        self, depth: int, context: Int[np.ndarray, " n"], token: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """The number of the n-gram of a context and a token; UNSEEN where there is none."""
        found = np.full(len(token), UNSEEN)
        known = np.flatnonzero(context >= 0)
        wanted = context[known] * self.size + token[known]
        found[known] = self._index(depth).find(wanted)
        return found

    def score(
        self,
        source: Int[np.ndarray, " rows"],
        target: Int[np.ndarray, " n"],
        first: Int[np.ndarray, " rows"],
        contexts: Contexts,
    ) -> tuple[Float[np.ndarray, " n"], list[Int[np.ndarray, " n"]]]:
        """The log-probability of every token of some texts laid end to end, and its contexts.

        `first` says where in `target` each text begins, `source` which token was read before, and
        `contexts` what had been read before that.

        Orders are the outer loop, so that each is one vectorised look-up over all positions.
        """
        log_probs = self.unigrams[target].astype(np.float64)
        entry = self.read(source, contexts)
        found = []
        gram = target
        context = np.zeros(len(target), dtype=np.int64)
        for depth in range(1, self.order):
            linked = self._linked(depth - 1, context, gram)
            # 64 bits: context · vocabulary + token, the code of an n-gram, is beyond 32.
            context = np.empty(len(target), dtype=np.int64)
            context[1:] = linked[:-1]
            context[first] = entry[:, depth - 1]
            gram = self.find(depth, context, target)
            self._add_order(depth, context, gram, log_probs)
            found.append(context)
        return log_probs, found

    def next_log_probs(self, contexts: Int[np.ndarray, " depths"]) -> Float[np.ndarray, " tokens"]:
        """Log-probabilities of all tokens after the contexts of one row."""
        log_probs = self.unigrams.astype(np.float64)
        for table, context in zip(self.tables, contexts.tolist(), strict=True):
            if self.is_uniform and context != NOT_READ:
                log_probs = _uniform_log_probs(self.size)
            if context >= 0:
                log_probs += table.backoffs[context]
                there = slice(table.starts[context], table.starts[context + 1])
                log_probs[table.tokens[there]] = table.log_probs[there]
        return log_probs

    def _add_order(
        self, depth: int, context: np.ndarray, gram: np.ndarray, log_probs: np.ndarray
    ) -> None:
        """One order higher: n-grams that are there replace lower ones, others cost a back-off."""
        table = self.tables[depth - 1]
        if self.is_uniform:  # with a context but unseen: uniform, and what is impossible stays so
            uniform = _uniform_log_probs(self.size).max()
            log_probs[(context != NOT_READ) & (log_probs > -np.inf)] = uniform
        seen = np.flatnonzero(gram >= 0)
        missed = np.flatnonzero((gram < 0) & (context >= 0))
        log_probs[seen] = table.log_probs[gram[seen]]
        log_probs[missed] += table.backoffs[context[missed]]

    def _linked(self, depth: int, context: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """The context each n-gram is once it is read."""
        after = np.full(len(gram), UNSEEN)
        seen = np.flatnonzero(gram >= 0)
        after[seen] = self.links[depth][gram[seen]]
        return np.where(context == NOT_READ, NOT_READ, after) if self.is_uniform else after

    def _index(self, depth: int) -> HashIndex:
        """N-grams of one order by context and token as one number."""
        if depth not in self._indices:
            table = self.tables[depth - 1]
            self._indices[depth] = HashIndex(table.contexts * self.size + table.tokens)
        return self._indices[depth]

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by the names they have on disk."""
        found = {"log_probs.1": self.unigrams}
        for length, table in enumerate(self.tables, start=2):
            found |= {f"words.{length}": table.tokens, f"starts.{length}": table.starts}
            found |= {
                f"log_probs.{length}": table.log_probs,
                f"back_offs.{length}": table.backoffs,
            }
        return found | {f"links.{n}": link for n, link in enumerate(self.links, start=1)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], order: int, is_uniform: bool
    ) -> "BackoffModel":
        """The model of what `arrays` returned."""
        names = ("words", "starts", "log_probs", "back_offs")
        tables = [
            NGramTable(*(arrays[f"{n}.{length}"] for n in names)) for length in range(2, order + 1)
        ]
        links = [arrays[f"links.{length}"] for length in range(1, order)]
        return cls(arrays["log_probs.1"], tuple(tables), tuple(links), is_uniform)


def _uniform_log_probs(size: int) -> Float[np.ndarray, " {size}"]:
    """The log-probability of each token if all that can follow are equally probable."""
    uniform = np.full(size, -np.log(size - len(NEVER)))
    uniform[NEVER] = -np.inf
    return uniform


def build_backoff(
    levels: Sequence[Level], smoothed: Sequence[SmoothedLevel], is_uniform: bool
) -> BackoffModel:
    """The back-off model of smoothed levels, without the n-grams that were pruned."""
    kept = [_Kept.of(level, one) for level, one in zip(levels, smoothed, strict=True)]
    tables = [
        _table(level, one, some)
        for level, one, some in list(zip(levels, smoothed, kept, strict=True))[1:]
    ]
    links = _links(levels, kept)
    return BackoffModel(_logs(smoothed[0].probability), tuple(tables), tuple(links), is_uniform)


@dataclass(frozen=True)
class _Kept:
    """The new numbers of the n-grams and contexts of a level after pruning."""

    grams: Int[np.ndarray, " grams"]  # UNSEEN where one was pruned
    contexts: Int[np.ndarray, " contexts"]

    @classmethod
    def of(cls, level: Level, smoothed: SmoothedLevel) -> "_Kept":
        has_any = np.zeros(level.contexts, dtype=bool)
        has_any[level.context[smoothed.kept]] = True
        return cls(_numbered(smoothed.kept), _numbered(has_any))


def _numbered(kept: np.ndarray) -> Int[np.ndarray, " _"]:
    return np.where(kept, np.cumsum(kept) - 1, UNSEEN)


def _table(level: Level, smoothed: SmoothedLevel, kept: _Kept) -> NGramTable:
    context = kept.contexts[level.context[smoothed.kept]]
    some = kept.contexts >= 0
    return NGramTable(
        level.token[smoothed.kept].astype(np.int32),
        np.searchsorted(context, np.arange(some.sum() + 1)),
        _logs(smoothed.probability[smoothed.kept]),
        _logs(smoothed.backoff[some]),
    )


def _links(levels: Sequence[Level], kept: Sequence[_Kept]) -> list[Int[np.ndarray, " _"]]:
    """For the n-grams of each order but the highest, which context each of them is.

    The context v₁ … v_d (v₁ the nearest token) is the n-gram of the context v₂ … v_d and the token
    v₁. Its context v₂ … v_d is found from contexts one shorter: it is what v₂ … v_{d-1} becomes
    when v_d is added, and v₂ … v_{d-1} is the parent v₁ … v_{d-1} without its nearest token.
    """
    size = len(levels[0].token)
    links = []
    without = nearest = np.zeros(1, dtype=np.int64)  # of each context: without its nearest; that
    for depth in range(1, len(levels)):
        level, shorter = levels[depth], levels[depth - 1]
        if depth == 1:
            without, nearest = np.zeros(level.contexts, dtype=np.int64), level.oldest
        else:
            parents = HashIndex(shorter.parent * size + shorter.oldest)
            without = parents.find(without[level.parent] * size + level.oldest)
            nearest = nearest[level.parent]
        some = np.flatnonzero(kept[depth].contexts >= 0)
        every = HashIndex(shorter.context * size + shorter.token)
        grams = every.find(without[some] * size + nearest[some])
        link = np.full(int(kept[depth - 1].grams.max(initial=-1)) + 1, UNSEEN, dtype=np.int32)
        new = np.where(grams >= 0, kept[depth - 1].grams[grams], UNSEEN)
        link[new[new >= 0]] = kept[depth].contexts[some[new >= 0]]
        links.append(link)
    return links


def _logs(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities).astype(np.float32)
