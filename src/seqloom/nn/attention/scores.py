"""Attentions that differ in their score alone."""

from jaxtyping import Float
from torch import Tensor, nn

from ...errors import ModelError
from .base import Queries, Scored, Scores, Seen
from .options import Attending


class Dot(Scored):
    """The product of state and memory (Luong et al., 2015): e_ts = h_t · m_s."""

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "Dot":
        if memory != query:
            raise ModelError(
                "M200",
                f"{attending.attention!r} multiplies states {query} wide with places {memory} wide",
                help=["--set model.attention=general   has a matrix between them"],
            )
        return cls()

    def scores(self, queries: Queries, seen: Seen) -> Scores:
        return queries @ seen.keys.transpose(1, 2)


class Scaled(Dot):
    """The same, kept small in wide states (Vaswani et al., 2017): e_ts = h_t · m_s / √d."""

    def scores(self, queries: Queries, seen: Seen) -> Scores:
        return super().scores(queries * queries.shape[-1] ** -0.5, seen)


class General(Scored):
    """A matrix between state and memory (Luong et al., 2015): e_ts = h_t · W m_s."""

    def __init__(self, memory: int, query: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory, query, bias=False)

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "General":
        return cls(memory, query)

    def keys(
        self, memory: Float[Tensor, "batch place memory"]
    ) -> Float[Tensor, "batch place query"]:
        """W m for every place of the memory."""
        return self.key(memory)

    def scores(self, queries: Queries, seen: Seen) -> Scores:
        return queries @ seen.keys.transpose(1, 2)


class Additive(Scored):
    """A small network scores every pair (Bahdanau et al., 2015).

    e_ts = v · tanh(W₁ m_s + W₂ h_t)
    """

    takes = frozenset({"attention_width"})

    def __init__(self, memory: int, query: int, hidden: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory, hidden)
        self.query = nn.Linear(query, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "Additive":
        return cls(memory, query, attending.attention_width)

    def keys(
        self, memory: Float[Tensor, "batch place memory"]
    ) -> Float[Tensor, "batch place hidden"]:
        """W₁ m for every place of the memory."""
        return self.key(memory)

    def scores(self, queries: Queries, seen: Seen) -> Scores:
        mixed = seen.keys[:, None] + self.query(queries)[:, :, None]
        found: Tensor = self.score(mixed.tanh_()).squeeze(-1)
        return found
