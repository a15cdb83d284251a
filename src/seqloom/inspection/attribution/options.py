"""Options of attribution: the method and its variants."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import UsageError, unknown

VARIANTS = {"leave_out": "occlusion", "integrated": "gradient", "rollout": "attention"}


@dataclass(frozen=True, kw_only=True)
class AttributionOptions:
    """Attribution method and its variant.

    Args:
        by: Attribution method: occlusion, gradient, attention or posterior; empty takes the best
            that applies.
        leave_out: For occlusion: remove tokens one after another, instead of replacing them by
            the unknown token.
        integrated: For gradient: integrated gradients from embeddings of 0 to the actual ones
            (Sundararajan et al., 2017), which sum to the difference of the two predictions.
        rollout: For attention: attention rollout through the layers of self-attention (Abnar &
            Zuidema, 2020).
    """

    by: str = ""
    leave_out: bool = False
    integrated: bool = False
    rollout: bool = False

    def __post_init__(self) -> None:
        for name, method in VARIANTS.items():
            other = self.by or self.implied()
            if getattr(self, name) and other != method:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    "U122",
                    f"{option} is for {method}, not for {other}",
                    help=[f"--by {method} {option}", f"leave {option} out"],
                )

    def implied(self) -> str:
        """The method that a variant belongs to, where one is set."""
        return next((method for name, method in VARIANTS.items() if getattr(self, name)), "")

    def check_method(self, methods: Iterable[str]) -> None:
        """Raise an error for an unknown method."""
        if self.by not in (known := list(methods)):
            raise unknown("attribution method", self.by, known)
