"""Options of neural forecasters: distribution, strategy, look-back window, normalisation."""

from dataclasses import dataclass
from typing import Literal

from ...config import StepsOrZero
from ...errors import ModelError
from ...signature import Series

OutputName = Literal["gaussian", "student", "quantile", "squared"]
CenterName = Literal["none", "last", "mean", "standard"]
MIN_LOOK_BACK = 24  # steps, where neither seasons nor the horizon are longer


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """Options of forecasts by neural networks.

    Args:
        output: Predictive distribution of each value: Gaussian, Student's t with learned degrees of
            freedom (heavier tails), or quantiles (pinball loss); squared is a Gaussian whose mean
            is fitted by squared error.
        ahead: Multi-step strategy: recursive, step by step along sample paths (sampled), or one
            output layer for all steps of the horizon (direct).
        look_back: Length of the look-back window, in steps; 0 is the context of a feed-forward
            network, else two seasons or twice the horizon, whichever is longer.
        center: Normalisation of each window, undone in its forecast: none, subtract the last value,
            subtract the mean, or also divide by the standard deviation (standard).
        paths: Number of sample paths of a recursive forecast.
        patch: Patch length (Nie et al., 2023): so many adjacent steps are one input vector, for
            direct forecasts; a long look-back window then costs so many times less.
    """

    output: OutputName = "gaussian"
    ahead: Literal["sampled", "direct"] = "sampled"
    look_back: StepsOrZero = 0
    center: CenterName = "last"
    paths: int = 200
    patch: int = 1

    def __post_init__(self) -> None:
        if self.look_back < 0:
            raise ModelError(
                "M460",
                f"look_back = {self.look_back}: expected 0 or more",
                help=["--set model.look_back=0   two seasons, or twice the horizon"],
            )
        if self.paths < 2:
            raise ModelError(
                "M460",
                f"paths = {self.paths}: expected 2 sample paths or more",
                help=["--set model.paths=200"],
            )
        self._check_patches()

    def look_back_steps(self, space: Series, own: int = 0) -> int:
        """The look-back window; `own` is what the model itself would take."""
        own_steps = own * self.patch
        return (
            self.look_back or own_steps or max(MIN_LOOK_BACK, 2 * space.period, 2 * space.horizon)
        )

    def _check_patches(self) -> None:
        if self.patch < 1:
            raise ModelError(
                "M463",
                f"patch = {self.patch}: expected 1 step or more",
                help=["--set model.patch=1   every step by itself"],
            )
        if self.patch > 1 and self.ahead == "sampled":
            raise ModelError(
                "M463",
                f"patch = {self.patch}: a recursive forecast reads single steps",
                help=["--set model.ahead=direct   all steps at once", "--set model.patch=1"],
            )


DEFAULT_FORECAST_OPTIONS = ForecastOptions()
