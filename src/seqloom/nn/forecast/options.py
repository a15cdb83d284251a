"""How a network looks ahead: the options that all who forecast series share."""

from dataclasses import dataclass
from typing import Literal

from ...errors import ModelError
from ...signature import Series

OutputName = Literal["gaussian", "student", "quantile", "squared"]
CenterName = Literal["none", "last", "mean", "standard"]
FEWEST = 24  # steps that are read where neither seasons nor the horizon are longer


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """How a series is forecast.

    Args:
        output: What is said of each number of the future: a Normal distribution, Student's with
            heavier tails and degrees of freedom that are learned, or quantiles; squared is a Normal
            one whose mean is fitted by squared error, and its deviation apart from it.
        ahead: Whether a forecast goes on step by step, through futures that are drawn at random
            (sampled), or one layer tells all steps of the horizon at once (direct).
        look_back: How many steps are read before those that are forecast; 0 is the context of a
            window, else two seasons or twice the horizon, whichever is more.
        center: What is taken off every piece of a series before it is read, and put back onto its
            forecast: nothing, its last value, its mean, or its mean and deviation (standard).
        paths: How many futures are drawn where a forecast goes on step by step.
        patch: How many steps next to each other are read as one vector, where all steps of the
            horizon are told at once; a long look back then costs so many times less.
    """

    output: OutputName = "gaussian"
    ahead: Literal["sampled", "direct"] = "sampled"
    look_back: int = 0
    center: CenterName = "none"
    paths: int = 200
    patch: int = 1

    def __post_init__(self) -> None:
        if self.look_back < 0:
            raise ModelError(
                "M460",
                f"look_back = {self.look_back}: a forecast must read at least one step",
                help=["--set model.look_back=0   two seasons, or twice the horizon"],
            )
        if self.paths < 2:
            raise ModelError(
                "M460",
                f"paths = {self.paths}: two futures or more show how far they may be apart",
                help=["--set model.paths=200"],
            )
        self._refuse_patches()

    def steps_back(self, space: Series, own: int = 0) -> int:
        """The most steps read before a forecast; `own` is what the model itself would take."""
        several = own * self.patch
        return self.look_back or several or max(FEWEST, 2 * space.period, 2 * space.horizon)

    def _refuse_patches(self) -> None:
        if self.patch < 1:
            raise ModelError(
                "M463",
                f"patch = {self.patch}: a vector stands for one step at least",
                help=["--set model.patch=1   every step by itself"],
            )
        if self.patch > 1 and self.ahead == "sampled":
            raise ModelError(
                "M463",
                f"patch = {self.patch}: a forecast that goes on step by step reads single steps",
                help=["--set model.ahead=direct   all steps at once", "--set model.patch=1"],
            )


PLAIN_OUTLOOK = Outlook()
