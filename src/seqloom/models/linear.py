"""NLinear and DLinear: linear forecasting models, strong baselines for neural networks."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d, pad

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Prediction, Search
from ..nn.forecast.distributions import DISTRIBUTIONS
from ..nn.forecast.options import ForecastOptions
from ..nn.forecast.windows import ForecastBatch
from ..signature import Form, Series, Signature
from .forecaster import DirectForecaster, ForecastStepper, series_spaces
from .neural import Neural

DIRECT = ForecastOptions(output="squared", ahead="direct", center="none")


class LinearForecaster(Neural, ABC):
    """Direct linear forecasts: each step of the horizon is a weighted sum of the last L steps.

    x are the last L steps, ŷ all steps of the horizon at once. Missing values are forward filled.
    Known inputs u_k of a future step add U u_k. The other parameters of the predictive
    distribution around ŷ, such as its scale, are learned for each step and variable, and do not
    depend on x.
    """

    forms = frozenset({Form.FORECAST})
    source_spaces = frozenset({Series})
    target_spaces = frozenset({Series})

    def __init__(
        self,
        signature: Signature,
        individual: bool,
        forecast_options: ForecastOptions,
        *,
        with_trend: bool,
    ) -> None:
        super().__init__(signature)
        _check_options(forecast_options)
        source, target = series_spaces(signature)
        look_back = forecast_options.look_back_steps(target)
        shape = (target.width if individual else 1, look_back, target.horizon)
        self.swing = PerVariableLinear(*shape)
        self.trend = PerVariableLinear(*shape) if with_trend else None
        self.inputs = nn.Linear(source.known, target.width, bias=False) if source.known else None
        others = DISTRIBUTIONS[forecast_options.output].num_parameters - 1
        self.shape = nn.Parameter(torch.zeros(target.horizon, target.width, others))
        self.forecaster = DirectForecaster(signature, forecast_options, look_back, self)

    @property
    def look_back(self) -> int:
        """Length of the look-back window, in steps."""
        return self.forecaster.look_back

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.forecaster.log_prob(batch)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.forecaster.loss(batch)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return self.forecaster.predict(source, search)

    def stepper(self) -> ForecastStepper:
        """Streaming forecasts of the next step."""
        return ForecastStepper(self, self.forecaster)

    def distribution_parameters(
        self, window: ForecastBatch
    ) -> Float[Tensor, "batch ahead width count"]:
        """Location and shape of the predictive distributions of all steps of the horizon."""
        ahead = int(window.horizons.max())
        x = forward_filled(window, self.look_back)
        location = self._location(x).transpose(1, 2)[:, :ahead]
        if self.inputs is not None:
            location = location + self.inputs(window.future(window.covariates))
        shape = self.shape[:ahead].expand(len(location), -1, -1, -1)
        return torch.cat([location[..., None], shape], dim=-1)

    @abstractmethod
    def _location(
        self, x: Float[Tensor, "batch width back"]
    ) -> Float[Tensor, "batch width horizon"]:
        """ŷ."""


class NLinear(LinearForecaster):
    """NLinear: a linear layer on the look-back window minus its last value (Zeng et al., 2023).

    ŷ = x_L + W (x - x_L) + b

    Args:
        individual: Whether each variable has its own weights; else all share them.
        forecast_options: Options of forecasts.
    """

    def __init__(
        self,
        signature: Signature,
        *,
        individual: bool = False,
        forecast_options: ForecastOptions = DIRECT,
    ) -> None:
        super().__init__(signature, individual, forecast_options, with_trend=False)

    def _location(
        self, x: Float[Tensor, "batch width back"]
    ) -> Float[Tensor, "batch width horizon"]:
        last = x[..., -1:]
        return last + self.swing(x - last)


class DLinear(LinearForecaster):
    """DLinear: linear layers on trend (moving average) and remainder (Zeng et al., 2023).

    t = moving average of x
    ŷ = W (x - t) + b + V t + c

    Args:
        average: Window of the moving average, in steps; an odd number.
        individual: Whether each variable has its own weights; else all share them.
        forecast_options: Options of forecasts.
    """

    trend: "PerVariableLinear"

    def __init__(
        self,
        signature: Signature,
        *,
        average: int = 25,
        individual: bool = False,
        forecast_options: ForecastOptions = DIRECT,
    ) -> None:
        if average < 1 or average % 2 == 0:
            raise ModelError(
                "M462",
                f"average = {average}: a centred moving average needs an odd number of steps",
                help=[f"--set model.average={max(1, average + 1)}"],
            )
        super().__init__(signature, individual, forecast_options, with_trend=True)
        self.average = average

    def _location(
        self, x: Float[Tensor, "batch width back"]
    ) -> Float[Tensor, "batch width horizon"]:
        half = self.average // 2
        trend = avg_pool1d(pad(x, (half, half), mode="replicate"), self.average, stride=1)
        return self.swing(x - trend) + self.trend(trend)


class PerVariableLinear(nn.Module):
    """W x + b over time, with weights shared by all variables or separate for each."""

    def __init__(self, kinds: int, back: int, ahead: int) -> None:
        super().__init__()
        bound = back**-0.5
        self.weight = nn.Parameter(torch.empty(kinds, back, ahead).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(kinds, 1, ahead).uniform_(-bound, bound))

    def forward(self, x: Float[Tensor, "batch width back"]) -> Float[Tensor, "batch width ahead"]:
        if len(self.weight) == 1:
            return x @ self.weight[0] + self.bias[0]
        return torch.baddbmm(self.bias, x.transpose(0, 1), self.weight).transpose(0, 1)


def forward_filled(window: ForecastBatch, back: int) -> Float[Tensor, "batch width back"]:
    """The look-back window of each variable, exactly `back` steps, missing values filled.

    A missing value takes the last observed one before it, else the first after it, else 0. Steps
    before the series begins repeat its first step.
    """
    past = int(window.pasts.min())
    if past == back and not bool(window.values[:, :past].isnan().any()):
        return window.values[:, :past].transpose(1, 2)
    positions = (window.pasts[:, None] - back + torch.arange(back)).clamp(min=0)
    x = window.values[torch.arange(len(positions))[:, None], positions].transpose(1, 2)
    is_observed = ~x.isnan()
    order = torch.arange(back)
    # The running maximum of observed positions is the last one observed so far, -1 before any.
    before = torch.where(is_observed, order, -1).cummax(-1).values
    first = is_observed.int().argmax(-1, keepdim=True)
    chosen = torch.where(before < 0, first, before)
    return x.gather(-1, chosen).nan_to_num()


def _check_options(forecast_options: ForecastOptions) -> None:
    if forecast_options.ahead != "direct":
        raise ModelError(
            "M462",
            "ahead = sampled: this model forecasts all steps of the horizon at once (direct)",
            help=["--set model.ahead=direct"],
        )
    if forecast_options.patch != 1:
        raise ModelError(
            "M462",
            f"patch = {forecast_options.patch}: this model has a weight for every single step",
            help=["--set model.patch=1"],
        )
