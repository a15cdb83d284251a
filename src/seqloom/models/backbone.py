"""The shape most neural models share: an input layer, a body, an output layer."""

from abc import ABC
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from ..batch import Batch, Sequences, before_the_first
from ..data.text.word_vectors import read_vectors
from ..decoding import search as find
from ..errors import ModelError
from ..model import Prediction, Search, State
from ..nn.dropout import SequenceDropout
from ..nn.embedding import Embedding, input_layer, tensors, words_of
from ..nn.forecast.distributions import DENSITIES
from ..nn.forecast.heads import AllSteps, NextStep
from ..nn.forecast.options import PLAIN_OUTLOOK, Outlook
from ..nn.forecast.windows import Piece, patched, patches
from ..nn.output.heads import Output, Symbols, output_layer
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.pooling import Body, Ended, Pooling, PoolingName
from ..nn.token_options import PLAIN_ENDS, Ends
from ..prediction import Hypothesis, Odds
from ..signature import WRITTEN, Bits, Form, Labels, Series, Signature
from .forecaster import AtOnce, Forecaster, ForecastStepper, Stepwise, series_of
from .neural import Neural
from .streaming import ReaderStepper, Steps


@runtime_checkable
class Carrying(Protocol):
    """A causal body that can also go on from where it was, to the same result."""

    in_order: bool

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]: ...


class Reader(Neural, ABC):
    """Reads a source with one body; a model of this kind only has to build its body."""

    writes = WRITTEN
    output: Output  # but for forecasts, which have a head of their own

    def __init__(
        self,
        signature: Signature,
        body: Body,
        *,
        width: int,
        hidden: int,
        dropout: float,
        pooling: PoolingName = "mean",
        looks_ahead: bool = False,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
        outlook: Outlook = PLAIN_OUTLOOK,
        context: int = 0,
    ) -> None:
        super().__init__(signature)
        if ends.chain:
            refuse_to_chain(signature)
        self.looks_ahead, self.ends, self.aims, self.hidden = looks_ahead, ends, aims, hidden
        read = patched(signature.source, outlook.patch if signature.form is Form.FORECAST else 1)
        self.input = input_layer(read, width, dropout, ends)
        self.body = body
        self.pooling = Pooling(pooling, hidden) if signature.form is Form.WHOLE else None
        self.dropout = SequenceDropout(dropout)
        self.forecaster: Forecaster | None = None
        if isinstance(signature.target, Series):
            self.forecaster = self._forecaster(signature, outlook, context)
            return
        self.output = output_layer(signature.target, hidden, ends, aims)
        if ends.tie_vectors:
            tie(self.input, self.output, width, hidden)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        if self.forecaster is not None:
            return self.forecaster.log_prob(batch)
        return self.output.log_prob(self._states(batch.source), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        if self.forecaster is not None:
            return self.forecaster.loss(batch)
        states = self._states(batch.source)
        return self.output.loss(states, batch.target, self.aims.smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The best answer for each position or the whole; what follows, where the form is NEXT."""
        if self.forecaster is not None:
            return self.forecaster.predict(source, search)
        if self.signature.form is Form.NEXT:
            refuse_to_search(self.signature)
            return find(self, source, search, prefix=source)
        states = self._states(source)
        lengths = np.minimum(source.lengths, states.shape[1])
        if search.nbest > 1:
            ranked = self.output.ranked(states, lengths, search.nbest)
            return Prediction.of([tuple(Hypothesis(p, s, s) for p, s in few) for few in ranked])
        best, log_probs = self.output.best(states, lengths)
        chances = self.output.chances(states, lengths) if search.chances else None
        return Prediction(Sequences(best.numpy(), lengths), log_probs, chances=chances)

    def log_chances(self, source: Sequences) -> Float[Tensor, "batch place classes"]:
        states = self._states(source)
        return self.output.log_chances(states, np.minimum(source.lengths, states.shape[1]))

    def odds(self, source: Sequences) -> list[Odds]:
        """What it expects of every row of bits, from those before it."""
        found = self.output(self._states(source)).double().numpy()
        lengths = source.lengths.tolist()
        return [Odds(rows[:length]) for rows, length in zip(found, lengths, strict=True)]

    def begin(self, source: Sequences) -> State:
        return self._steps().initial(len(source))

    def step(
        self,
        symbols: Int[np.ndarray, " batch"] | Float[np.ndarray, "batch size"],
        state: State,
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        vector, state = self._steps().step(self.input(torch.from_numpy(symbols)), state)
        return self.output(vector).numpy(), state

    @property
    def in_order(self) -> bool:
        """Whether the body takes its state along from window to window while it learns."""
        return self._carrying().in_order

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[Tensor, "batch time"], State]:
        states, state = self._carried(window, state)
        return self.output.log_probs(states, window.target), state

    def loss_from(self, window: Batch, state: State) -> tuple[Float[Tensor, ""], State]:
        states, state = self._carried(window, state)
        return self.output.loss(states, window.target, self.aims.smoothing), state

    def take_vectors(self, symbols: Sequence[str]) -> str:
        """Start from the vectors of a file, where one is named; says how many symbols it has."""
        return take_vectors(self.input, self.ends, symbols)

    @property
    def look_back(self) -> int:
        """The most steps it reads before those it forecasts."""
        if self.forecaster is None:
            raise AttributeError(f"{type(self).__name__} forecasts nothing here")
        return self.forecaster.look_back

    @property
    def patch(self) -> int:
        """How many steps of a series it reads as one."""
        return 1 if self.forecaster is None else self.forecaster.outlook.patch

    def door(self) -> nn.Module | None:
        """What a forecast reads are the last rows of a past, not all of its places."""
        return super().door() if self.forecaster is None else None

    def tell(self, piece: Piece) -> Float[Tensor, "batch ahead width count"]:
        """All steps of a horizon, from the state after the last row of the past."""
        rows, lengths = piece.read()[:, : int(piece.pasts.max())], piece.pasts
        if self.forecaster is not None and self.patch > 1:
            rows, lengths = patches(rows, lengths, self.forecaster.width, self.patch)
        vectors = self.input(rows)
        if self.looks_ahead and isinstance(self.body, Ended):  # each direction where it ended
            last = self.body.read(vectors, lengths)[1]
        else:
            states = self.body(vectors, lengths)
            last = states[torch.arange(len(states)), lengths - 1]
        told: Tensor = self.head(self.dropout(last[:, None])[:, 0], piece.future(piece.known))
        return told

    def stepper(self) -> ReaderStepper | ForecastStepper:
        """Single steps, in NumPy where the body has a twin."""
        if self.forecaster is not None:
            return ForecastStepper(self, self.forecaster)
        if self.ends.chain:
            raise ModelError(
                "M303",
                "this model scores all labels of a sequence together, so it must have the whole",
                help=["train one that labels each position by itself: model.chain=false"],
            )
        if self.looks_ahead or not isinstance(self.body, Steps):
            raise ModelError(
                "M130",
                "this model reads a sequence from both sides, so it must have the whole of it",
                help=["train one that reads forward: recurrent, with model.directions=forward"],
            )
        return ReaderStepper(self.input, self.body, self.pooling, self.output, self.hidden)

    def _forecaster(self, signature: Signature, outlook: Outlook, context: int) -> Forecaster:
        """What forecasts with this body: all steps at once, or one after another."""
        if self.aims != PLAIN_AIMS:
            raise ModelError(
                "M324",
                "smoothing, balance and max_norm are for symbols and labels, not for series",
                help=["leave them out"],
            )
        source, target = series_of(signature)
        count = DENSITIES[outlook.output].count
        back = outlook.steps_back(target, context)
        if outlook.ahead == "direct":
            self.head: nn.Module = AllSteps(self.hidden, source, target.horizon, count)
            return AtOnce(signature, outlook, back, self)
        if self.looks_ahead:
            raise ModelError(
                "M461",
                "a model that looks to both sides would see the step it must forecast next",
                help=[
                    "--set model.directions=forward",
                    "--set model.ahead=direct   all steps at once, from the whole past",
                ],
            )
        head = self.head = NextStep(self.hidden, target.width, count)
        return Stepwise(signature, outlook, back, self.input, self.body, self.dropout, head)

    def _states(self, source: Sequences) -> Float[Tensor, "batch place hidden"]:
        """A state for each position, or one for the whole."""
        is_next = self.signature.form is Form.NEXT
        read = source.late(before_the_first(self.signature.source)) if is_next else source
        values, lengths = tensors(read)
        vectors = self.input(values)
        if self.pooling is None:
            return self.dropout(self.body(vectors, lengths))
        return self.dropout(self.pooling(self.body, vectors, lengths)[:, None])

    def _carried(
        self, window: Batch, state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """A state for each position of a window, and what the next one goes on from."""
        vectors = self.input(torch.from_numpy(window.source.values))
        states, state = self._carrying().carry(vectors, state)
        return self.dropout(states), state

    def _carrying(self) -> Carrying:
        if not isinstance(self.body, Carrying):
            # An AttributeError, so that `isinstance(model, Carries)` is False and not an error.
            raise AttributeError(f"{type(self).__name__} cannot read window by window")
        return self.body

    def _steps(self) -> Steps:
        if not isinstance(self.body, Steps):
            raise TypeError(f"{type(self).__name__} cannot go one step at a time")
        return self.body


def refuse_to_see_what_is_next(signature: Signature) -> None:
    """A model that looks ahead cannot be asked for the next symbol."""
    if signature.form is Form.NEXT:
        raise ModelError(
            "M121",
            "a model that looks to both sides would see the symbol it must predict",
            help=["--set model.directions=forward"],
        )


def refuse_to_search(signature: Signature) -> None:
    """Rows of bits are no symbols that a beam could rank, and nothing says where they end."""
    if isinstance(signature.target, Bits):
        raise ModelError(
            "M480",
            "how rows of bits go on is drawn, not searched for: there is no best of so many",
            help=["seqloom compose RUN -o piece.mid   draws what follows"],
        )


def refuse_to_chain(signature: Signature) -> None:
    """Only the labels of each position can be scored together."""
    if signature.form is not Form.EACH or not isinstance(signature.target, Labels):
        raise ModelError(
            "M303",
            "chain = true: there is no label at each position whose neighbours could be scored",
            notes=["It is for models that give every position a label, as those of the task tag."],
            help=["--set model.chain=false"],
        )


def tie(read: nn.Module, output: Output, width: int, hidden: int) -> None:
    """Let the matrix that reads symbols score them."""
    if not isinstance(read, Embedding) or not isinstance(output, Symbols):
        raise ModelError("M124", "tie_vectors: what is read and what is written must be symbols")
    if width != hidden:
        raise ModelError(
            "M124",
            f"tie_vectors: symbols are {width} wide and states {hidden}; they must be the same",
            help=[f"--set model.width={hidden}"],
        )
    if is_parametrized(output.scores):
        raise ModelError("M324", "max_norm and tie_vectors exclude each other: leave one out")
    if read.table.num_embeddings != output.scores.out_features:
        raise ModelError("M124", "tie_vectors: what is read and what is written differ")
    output.scores.weight = read.table.weight


def take_vectors(read: nn.Module, ends: Ends, symbols: Sequence[str]) -> str:
    """Fill a table of vectors from the file of `ends`; a sentence if there is one."""
    if not ends.vectors:
        return ""
    if (words := words_of(read)) is None:
        raise ModelError("M124", "vectors = …: this model reads numbers, not symbols")
    path, table = Path(ends.vectors), words.table.weight
    found = read_vectors(path, symbols, table.shape[1])
    with torch.no_grad():
        table[torch.tensor(list(found))] = torch.from_numpy(np.stack(list(found.values())))
    return f"{len(found):,} of {len(symbols):,} symbols start from {path.name}"
