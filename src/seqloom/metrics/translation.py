"""How near translations come to their references: BLEU and chrF, counted by sacrebleu.

BLEU   e^min(0, 1 - r/c) · (p₁ p₂ p₃ p₄)^¼          (Papineni et al., 2002)
       pₙ: the share of n-grams that the references have too; c, r: lengths of answers, references
chrF   5 P R / (4 P + R), by n-grams of characters   (Popović, 2015)

Counts of examples add up, so both are functions of sums (Post, 2018). BLEU depends on what is
taken for a word. Three names tell which it is:

bleu            sacrebleu's own words, 13a: comparable wherever its signature is the same
tokenised_bleu  what stands between blanks, as given, without smoothing: that of multi-bleu.perl
                and most papers, comparable only where texts are tokenised in the same way
chrf            no words at all
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from .bootstrap import Tally

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


def tally(name: str, guess: str, references: Sequence[str], lowercase: bool = False) -> Tally:
    """The counts of one answer beside its references."""
    counts = _scorer(name, lowercase)._extract_corpus_statistics([guess], [[r] for r in references])
    return tuple(map(float, counts[0]))


def bleu(sums: Sequence[float]) -> float:
    """BLEU of summed counts."""
    return _value("bleu", sums)


def tokenised_bleu(sums: Sequence[float]) -> float:
    """BLEU on given tokens, of summed counts."""
    return _value("tokenised_bleu", sums)


def chrf(sums: Sequence[float]) -> float:
    """ChrF of summed counts."""
    return _value("chrf", sums)


def signature(name: str, references: set[int], lowercase: bool = False) -> str:
    """What sacrebleu says of how a metric was taken; `references`: how many an answer had."""
    scorer = _scorer(name, lowercase)
    scorer.num_refs = next(iter(references)) if len(references) == 1 else -1
    return str(scorer.get_signature())


def _value(name: str, sums: Sequence[float]) -> float:
    return float(_scorer(name)._compute_score_from_stats(list(map(int, sums))).score)


@cache
def _scorer(name: str, lowercase: bool = False) -> "Scorer":
    # It is imported only where it is needed.
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    if name == "chrf":
        return CHRF(lowercase=lowercase)
    if name == "bleu":
        return BLEU(lowercase=lowercase, tokenize="13a")
    return BLEU(lowercase=lowercase, tokenize="none", smooth_method="none")
