"""Keep all that a search looks at, as a tree for each source."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from ..search import Fate, Hypothesis, Node, Tree


class Recorder:
    """Grows a tree for each source beside the beam."""

    def __init__(self, sources: int, width: int) -> None:
        self._nodes: list[list[Node]] = [[] for _ in range(sources)]
        self._ends: list[list[tuple[Hypothesis, int]]] = [[] for _ in range(sources)]
        self._seated = np.full((sources, width), -1)  # the nodes that grow, by source and row
        self._looked_at: list[dict[tuple[int, int], int]] = [{} for _ in range(sources)]

    def step(
        self,
        time: int,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources count"],
        symbol: Int[np.ndarray, "sources count"],
        total: Float[np.ndarray, "sources count"],
    ) -> None:
        """Candidates as they are looked at; all are dropped until more is said of them."""
        for place, source in enumerate(sources.tolist()):
            nodes, seen = self._nodes[source], {}
            rows = zip(origin[place], symbol[place], total[place], strict=True)
            for row, number, log_prob in rows:
                if log_prob > -np.inf:
                    parent = int(self._seated[source, row])
                    seen[int(row), int(number)] = len(nodes)
                    nodes.append(Node(parent, time, int(number), float(log_prob), "dropped"))
            self._looked_at[source] = seen

    def ended(self, source: int, row: int, symbol: int, hypothesis: Hypothesis) -> None:
        """A candidate became an answer, by its end or because it was cut off."""
        node = self._looked_at[source][row, symbol]
        self._become(source, node, "ended" if hypothesis.ended else "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def stuck(self, source: int, row: int, hypothesis: Hypothesis) -> None:
        """Nothing can follow what stands in this row."""
        node = int(self._seated[source, row])
        if node >= 0:
            self._become(source, node, "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def grow(
        self,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources width"],
        symbol: Int[np.ndarray, "sources width"],
        alive: Bool[np.ndarray, "sources width"],
        seats: Int[np.ndarray, "sources width"],
        leaving: Sequence[bool],
    ) -> None:
        """The candidates that are kept, and the rows of their sources in which they go on."""
        for place, source in enumerate(sources.tolist()):
            seated = np.full(seats.shape[1], -1)
            for rank in np.flatnonzero(alive[place]):
                seen = int(origin[place, rank]), int(symbol[place, rank])
                node = self._looked_at[source][seen]
                if self._nodes[source][node].fate == "dropped":
                    self._become(source, node, "cut" if leaving[place] else "grows")
                seated[seats[place, rank]] = node
            self._seated[source] = seated

    def trees(self, ranked: list[tuple[Hypothesis, ...]]) -> tuple[Tree, ...]:
        """All of it, with the nodes of the answers."""
        found = []
        for nodes, ends, answers in zip(self._nodes, self._ends, ranked, strict=True):
            places = [next(node for other, node in ends if other is one) for one in answers]
            found.append(Tree(tuple(nodes), tuple(places)))
        return tuple(found)

    def _become(self, source: int, node: int, fate: Fate, score: float | None = None) -> None:
        old = self._nodes[source][node]
        self._nodes[source][node] = Node(
            old.parent, old.step, old.symbol, old.log_prob, fate, score
        )
