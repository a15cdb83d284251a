"""Translation metrics: BLEU and chrF, computed by sacrebleu.

BLEU   e^min(0, 1 - r/c) · (p₁ p₂ p₃ p₄)^¼          (Papineni et al., 2002)
       pₙ: n-gram precision; c, r: lengths of hypotheses and references
chrF   5 P R / (4 P + R), of character n-grams       (Popović, 2015)

Statistics of examples add up, so both are functions of sums (Post, 2018). BLEU depends on the
tokenisation. The names of the metrics tell which it is:

bleu            sacrebleu's tokeniser 13a: comparable wherever the signature is the same
tokenised_bleu  texts as they are, split at spaces, without smoothing: as multi-bleu.perl and most
                papers, comparable only where texts are tokenised in the same way
chrf            needs no tokenisation
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from .tallies import Tally

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


def tally(name: str, hypothesis: str, references: Sequence[str], lowercase: bool = False) -> Tally:
    """The sufficient statistics of one hypothesis and its references."""
    scorer = _scorer(name, lowercase)
    statistics = scorer._extract_corpus_statistics([hypothesis], [[r] for r in references])
    return tuple(map(float, statistics[0]))


def bleu(sums: Sequence[float]) -> float:
    """BLEU of summed statistics."""
    return _value("bleu", sums)


def tokenised_bleu(sums: Sequence[float]) -> float:
    """BLEU on given tokens, of summed statistics."""
    return _value("tokenised_bleu", sums)


def chrf(sums: Sequence[float]) -> float:
    """ChrF of summed statistics."""
    return _value("chrf", sums)


def signature(name: str, references: set[int], lowercase: bool = False) -> str:
    """The sacrebleu signature of a metric; `references`: how many references examples have."""
    scorer = _scorer(name, lowercase)
    scorer.num_refs = next(iter(references)) if len(references) == 1 else -1
    return str(scorer.get_signature())


def _value(name: str, sums: Sequence[float]) -> float:
    return float(_scorer(name)._compute_score_from_stats(list(map(int, sums))).score)


@cache
def _scorer(name: str, lowercase: bool = False) -> "Scorer":
    # Imported late: most commands need no sacrebleu.
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    if name == "chrf":
        return CHRF(lowercase=lowercase)
    if name == "bleu":
        return BLEU(lowercase=lowercase, tokenize="13a")
    return BLEU(lowercase=lowercase, tokenize="none", smooth_method="none")
