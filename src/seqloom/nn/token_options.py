"""Options of token embeddings and of the output layer, shared by most neural models."""

from dataclasses import dataclass

from ..config import Size
from ..errors import ModelError
from .char_embedding import CharEncoderName


@dataclass(frozen=True, kw_only=True)
class TokenOptions:
    """Options of token embeddings and of the output layer.

    Args:
        tie_embeddings: Weight tying: the output layer has the embedding matrix as its weights
            (Press & Wolf, 2017); the embedding size must then be the hidden size.
        pretrained_embeddings: A text file of pretrained embeddings to start from, a token and its
            vector on each line, as word2vec and GloVe write it; tokens it lacks start at random.
        freeze_embeddings: Keep the embeddings fixed in training.
        spread: Standard deviation of the initial embeddings, as 0.1; 0 is the default of the
            model.
        unknown_rate: Probability that a token which training has only once is read as unknown, in
            training, so that the embedding of unknown tokens is trained (Dyer et al., 2015). It
            counts where no other training token is unknown, as with min_frequency = 1.
        word_dropout: Word dropout rate: the fraction of the vocabulary whose embeddings are zero
            in training, sampled for each batch (Gal & Ghahramani, 2016).
        adaptive_softmax: Adaptive softmax (Grave et al., 2017) for large vocabularies: the cutoffs
            between frequent and rarer tokens, as [2000, 10000]; rarer ones have smaller matrices.
            Empty is an ordinary softmax.
        letters: Character encoder: word embeddings also from characters, where the task has them,
            by a convolution with max pooling or a BiLSTM.
        letters_width: Size of the character-level part of a word embedding.
        feature_width: Embedding size of each additional feature column of a word.
        crf: Use a linear-chain CRF output layer: neighbouring labels are scored together, by a
            transition matrix, and transitions that the tag scheme forbids are impossible.
    """

    tie_embeddings: bool = False
    pretrained_embeddings: str = ""
    freeze_embeddings: bool = False
    spread: float = 0.0
    unknown_rate: float = 0.25
    word_dropout: float = 0.0
    adaptive_softmax: tuple[int, ...] = ()
    letters: CharEncoderName = "none"
    letters_width: Size = 50
    feature_width: Size = 16
    crf: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.word_dropout < 1:
            raise ModelError("M124", f"word_dropout must be in [0, 1) (got {self.word_dropout:g})")
        if not 0 <= self.unknown_rate <= 1:
            raise ModelError(
                "M124",
                f"unknown_rate must be in [0, 1] (got {self.unknown_rate:g})",
                help=["--set model.unknown_rate=0   leaves the unknown embedding as it starts"],
            )
        if self.spread < 0:
            raise ModelError("M124", f"spread must not be negative (got {self.spread:g})")
        if self.tie_embeddings and self.adaptive_softmax:
            raise ModelError(
                "M124",
                "tie_embeddings and adaptive_softmax exclude each other: the output weights of rare"
                " tokens are smaller than their embeddings",
                help=["leave one of the two out"],
            )
        if self.tie_embeddings and self.freeze_embeddings:
            raise ModelError(
                "M124",
                "tie_embeddings and freeze_embeddings exclude each other: the output layer could"
                " not learn",
                help=["leave one of the two out"],
            )
        if self.crf and self.adaptive_softmax:
            raise ModelError(
                "M303",
                "crf and adaptive_softmax exclude each other: a CRF scores all pairs of labels",
                help=["leave one of the two out"],
            )
        self.cuts()

    def cuts(self) -> list[int]:
        """The cutoffs of the adaptive softmax; empty for an ordinary softmax."""
        cuts = list(self.adaptive_softmax)
        if cuts != sorted(set(cuts)) or any(cut < 1 for cut in cuts):
            raise ModelError(
                "M124",
                f"adaptive_softmax = {cuts}: expected rising numbers of tokens, as [2000, 10000]",
            )
        return cuts


DEFAULT_TOKEN_OPTIONS = TokenOptions()
