"""Keep all that a search looks at, as a tree for each source."""

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
        source: int,
        origin: Int[np.ndarray, " width"],
        symbol: Int[np.ndarray, " width"],
        alive: Bool[np.ndarray, " width"],
        seats: Int[np.ndarray, " width"],
        leaves: bool,
    ) -> None:
        """The candidates that are kept, and the rows in which they go on."""
        seated = np.full(len(seats), -1)
        for place in np.flatnonzero(alive):
            node = self._looked_at[source][int(origin[place]), int(symbol[place])]
            if self._nodes[source][node].fate == "dropped":
                self._become(source, node, "cut" if leaves else "grows")
            seated[seats[place]] = node
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
