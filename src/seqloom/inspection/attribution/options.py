"""How to find out what moved an answer."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import UsageError, unknown

OPTIONS = {"leave_out": "occlusion", "integrated": "gradient", "rollout": "attention"}


@dataclass(frozen=True, kw_only=True)
class How:
    """How to find out what moved an answer.

    Args:
        by: occlusion, gradient, attention or posterior; empty takes the best there is.
        leave_out: For occlusion: symbols are left out, one after another, not read as unknown.
        integrated: For gradient: slopes all along the way from no vectors to these are added up
            (Sundararajan et al., 2017), so that they sum to the difference it makes.
        rollout: For attention: where the last layer looked is followed down to what was read
            (Abnar & Zuidema, 2020).
    """

    by: str = ""
    leave_out: bool = False
    integrated: bool = False
    rollout: bool = False

    def __post_init__(self) -> None:
        for name, probe in OPTIONS.items():
            other = self.by or self.implied()
            if getattr(self, name) and other != probe:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    "U122",
                    f"{option} is for {probe}, not for {other}",
                    help=[f"--by {probe} {option}", f"leave {option} out"],
                )

    def implied(self) -> str:
        """The probe that an option is for, where one is given."""
        return next((probe for name, probe in OPTIONS.items() if getattr(self, name)), "")

    def must_be_one_of(self, probes: Iterable[str]) -> None:
        """Refuse a probe that there is not."""
        if self.by not in (known := list(probes)):
            raise unknown("probe", self.by, known)
