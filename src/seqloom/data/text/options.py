"""What the symbols of two sides are: each side for itself, or one set for both."""

from dataclasses import dataclass
from typing import Literal

from ...errors import UsageError
from .tokenizers import KINDS, Choice, Kind, Symbols

COPIED = ("words", "characters")  # the kinds of symbols among which some are unknown


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """What the symbols of two sides are.

    Args:
        source_symbols: What a symbol of the source is. Bytes are those of UTF-8; subwords are
            pieces of words that are learned from the training texts.
        target_symbols: What a symbol of the target is.
        joint: Whether both sides have one set of symbols, learned from both; then both must have
            the same kind.
        vocabulary: How many symbols a set has at most. Of words and characters the most frequent
            are kept and 0 keeps all; 0 subwords are 8,000.
        at_least: How often a symbol must be seen in training not to be read as unknown; of
            subwords, how often a pair must be seen to be joined.
        subwords: How subwords are learned: bpe joins frequent pairs (Sennrich et al., 2016),
            unigram keeps likely pieces (Kudo, 2018).
        tokenizer: A tokenizer.json to take subwords from, instead of learning them.
        copies: How many different unknown symbols of a source keep a number of their own, so that
            a model that can copy may answer with them; 0 is none. Needs joint words or characters.
    """

    source_symbols: Kind = "words"
    target_symbols: Kind = "words"
    joint: bool = False
    vocabulary: int = 0
    at_least: int = 1
    subwords: Literal["bpe", "unigram"] = "bpe"
    tokenizer: str = ""
    copies: int = 0

    def __post_init__(self) -> None:
        if self.joint and self.source_symbols != self.target_symbols:
            raise UsageError(
                "U082",
                f"one set of symbols for both sides cannot be {self.source_symbols} and"
                f" {self.target_symbols}",
                help=["give both sides the same symbols, or leave task.joint out"],
            )
        if self.copies < 0 or (self.copies and not self.joint):
            raise UsageError(
                "U083",
                f"copies = {self.copies}: what is copied must be a symbol of both sides",
                help=["--set task.joint=true"],
            )
        if self.copies and self.source_symbols not in COPIED:
            raise UsageError(
                "U083",
                f"copies = {self.copies}: none of the {self.source_symbols} is ever unknown",
                help=["leave task.copies out, or choose words or characters"],
            )

    def sides(self) -> tuple[Symbols, Symbols]:
        """The symbols of source and target, which know nothing yet; joint ones are the same."""
        source = self._symbols(self.source_symbols)
        return source, source if self.joint else self._symbols(self.target_symbols)

    def _symbols(self, kind: Kind) -> Symbols:
        """One side; what does not concern it is for the other, unless it concerns neither."""
        kinds = (self.source_symbols, self.target_symbols)
        tokenizer = self.tokenizer if kind == "subwords" or "subwords" not in kinds else ""
        most = self.vocabulary if kind != "bytes" or kinds == ("bytes", "bytes") else 0
        return KINDS[kind](Choice(self.at_least, most, self.subwords, tokenizer))


WORDS = Cutting()
