"""Tokenizer options of source and target: separate vocabularies, or a joint one."""

from dataclasses import dataclass
from typing import Literal

from ...config import CountOrZero
from ...errors import UsageError
from .tokenizers import TOKENIZERS, Tokenizer, TokenizerName, VocabularyOptions

COPYABLE = ("words", "characters")  # the tokens that can be unknown


@dataclass(frozen=True, kw_only=True)
class TokenizerOptions:
    """Options of the tokenizers of source and target.

    Args:
        source_tokens: The tokens of the source. Bytes are those of UTF-8; subwords are parts of
            words that are learned from the training texts.
        target_tokens: The tokens of the target.
        joint_vocab: Use one vocabulary for both sides, learned from both; they must then have the
            same kind of tokens.
        vocab_size: Maximum vocabulary size. Of words and characters the most frequent are kept, and
            0 keeps all; for subwords 0 is 8,000.
        min_frequency: Minimum frequency of a token in training; rarer ones are unknown. For
            subwords, minimum frequency of a pair to be merged.
        subwords: Subword model: byte-pair encoding (bpe; Sennrich et al., 2016) or a unigram
            language model (unigram; Kudo, 2018).
        tokenizer: A tokenizer.json with subwords, instead of learning them.
        copies: Maximum number of different unknown tokens of a source that get ids of their own, so
            that a copy mechanism can output them; 0 is none. Needs a joint vocabulary of words or
            characters.
    """

    source_tokens: TokenizerName = "words"
    target_tokens: TokenizerName = "words"
    joint_vocab: bool = False
    vocab_size: int = 0
    min_frequency: CountOrZero = 1
    subwords: Literal["bpe", "unigram"] = "bpe"
    tokenizer: str = ""
    copies: int = 0

    def __post_init__(self) -> None:
        if self.joint_vocab and self.source_tokens != self.target_tokens:
            raise UsageError(
                "U082",
                f"a joint vocabulary cannot be of {self.source_tokens} and of {self.target_tokens}",
                help=["give both sides the same tokens, or leave task.joint_vocab out"],
            )
        if self.copies < 0 or (self.copies and not self.joint_vocab):
            raise UsageError(
                "U083",
                f"copies = {self.copies}: copied tokens need a joint vocabulary",
                help=["--set task.joint_vocab=true"],
            )
        if self.copies and self.source_tokens not in COPYABLE:
            raise UsageError(
                "U083",
                f"copies = {self.copies}: none of the {self.source_tokens} is ever unknown",
                help=["leave task.copies out, or choose words or characters"],
            )

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """The unfitted tokenizers of source and target; one for both with a joint vocabulary."""
        source = self._tokenizer(self.source_tokens)
        return source, source if self.joint_vocab else self._tokenizer(self.target_tokens)

    def _tokenizer(self, kind: TokenizerName) -> Tokenizer:
        """The tokenizer of one side.

        Options that only the other side can use are not passed on. Those that neither side can use
        are, so that they are refused.
        """
        kinds = (self.source_tokens, self.target_tokens)
        file = self.tokenizer if kind == "subwords" or "subwords" not in kinds else ""
        size = self.vocab_size if kind != "bytes" or kinds == ("bytes", "bytes") else 0
        return TOKENIZERS[kind](VocabularyOptions(self.min_frequency, size, self.subwords, file))


WORD_TOKENS = TokenizerOptions()
