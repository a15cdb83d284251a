"""How symbols come into a network and go out of it: the options all readers share."""

from dataclasses import dataclass

from ..errors import ModelError
from .char_embedding import LettersName


@dataclass(frozen=True, kw_only=True)
class Ends:
    """How symbols come into a network and go out of it.

    Args:
        tie_vectors: Whether the matrix that reads symbols also scores them (Press & Wolf, 2017);
            the width of a symbol's vector must then be that of the state.
        vectors: A text file of vectors to start from, a symbol and its numbers on each line, as
            word2vec and GloVe write it; what it lacks starts at random.
        freeze_vectors: Whether the vectors stay as they are.
        spread: How far from 0 the numbers of vectors start, their standard deviation, as 0.1: small
            ones are soon what training makes of them; 0 leaves it to the model.
        symbol_dropout: The share of kinds of symbols that are read as nothing while training, drawn
            anew for each batch (Gal & Ghahramani, 2016).
        adaptive: Where a large vocabulary is cut into the frequent and the rare, as 2000,10000; the
            rarer, the smaller the matrices that score them (Grave et al., 2017). Empty is one
            matrix for all.
        letters: What reads the letters of a word beside the word itself, where a task gives them: a
            convolution with its largest answers, or an LSTM from both sides.
        letters_width: How many numbers of a word's vector come from its letters.
        feature_width: How many come from each feature that stands beside a word in its file.
        chain: Whether neighbouring labels are scored together, in a conditional random field: with
            a score for each move from one to the next, and none for moves that their scheme bars.
    """

    tie_vectors: bool = False
    vectors: str = ""
    freeze_vectors: bool = False
    spread: float = 0.0
    symbol_dropout: float = 0.0
    adaptive: str = ""
    letters: LettersName = "none"
    letters_width: int = 50
    feature_width: int = 16
    chain: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.symbol_dropout < 1:
            raise ModelError("M124", "symbol_dropout must be at least 0 and below 1")
        if self.spread < 0:
            raise ModelError("M124", "spread must not be negative; 0 leaves it to the model")
        if self.tie_vectors and self.adaptive:
            raise ModelError(
                "M124",
                "tie_vectors and adaptive exclude each other: an adaptive output scores the rare"
                " symbols by smaller vectors than those that are read",
                help=["leave one of the two out"],
            )
        if self.tie_vectors and self.freeze_vectors:
            raise ModelError(
                "M124",
                "tie_vectors and freeze_vectors exclude each other: the output could not learn",
                help=["leave one of the two out"],
            )
        if self.chain and self.adaptive:
            raise ModelError(
                "M303",
                "chain and adaptive exclude each other: all moves between labels are scored",
                help=["leave one of the two out"],
            )
        self.cuts()

    def cuts(self) -> list[int]:
        """Where the vocabulary is cut; none where it is whole."""
        try:
            found = [int(part) for part in self.adaptive.split(",") if part.strip()]
        except ValueError:
            found = [-1]
        if found != sorted(set(found)) or any(cut < 1 for cut in found):
            raise ModelError(
                "M124",
                f"adaptive = {self.adaptive!r}: expected rising numbers of symbols, as 2000,10000",
            )
        return found


PLAIN_ENDS = Ends()
