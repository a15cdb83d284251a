"""Forecasts by one product: the strong simple rival of all networks."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d, pad

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Prediction, Search
from ..nn.forecast.distributions import DENSITIES
from ..nn.forecast.options import Outlook
from ..nn.forecast.windows import Piece
from ..signature import Form, Series, Signature
from .forecaster import AtOnce, ForecastStepper, series_of
from .neural import Neural

AT_ONCE = Outlook(output="squared", ahead="direct", look_back=336)  # two weeks of hours


class Linear(Neural):
    """Every step ahead is a weighted sum of the steps read (Zeng et al., 2023).

    nlinear   ŷ = x_L + W (x - x_L) + b              what comes after the last value
    dlinear   t = moving average of x
              ŷ = W (x - t) + b + V t + c            what swings, and where it goes

    x are the last L steps, ŷ all steps of the horizon at once. A number that is missing is read as
    the one before it. Inputs u_k of a step ahead add U u_k. The shape of the distribution around ŷ,
    as its deviation, is learned for each step and each number of a row, and is always the same.

    Args:
        variety: Subtract the last value, or tell a moving average from what swings around it.
        average: Over how many steps the moving average of dlinear goes; an odd number.
        individual: Whether each number of a row has weights of its own; else all share them.
        outlook: How a series is forecast.
    """

    forms = frozenset({Form.FORECAST})
    reads = frozenset({Series})
    writes = frozenset({Series})

    def __init__(
        self,
        signature: Signature,
        *,
        variety: Literal["nlinear", "dlinear"] = "nlinear",
        average: int = 25,
        individual: bool = False,
        outlook: Outlook = AT_ONCE,
    ) -> None:
        super().__init__(signature)
        _refuse_impossible(variety, average, outlook)
        source, target = series_of(signature)
        self.variety, self.average = variety, average
        back = outlook.steps_back(target)
        shape = (target.width if individual else 1, back, target.horizon)
        self.swing = Products(*shape)
        self.trend = Products(*shape) if variety == "dlinear" else None
        self.inputs = nn.Linear(source.known, target.width, bias=False) if source.known else None
        others = DENSITIES[outlook.output].count - 1
        self.shape = nn.Parameter(torch.zeros(target.horizon, target.width, others))
        self.forecaster = AtOnce(signature, outlook, back, self)

    @property
    def look_back(self) -> int:
        """The most steps it reads before those it forecasts."""
        return self.forecaster.look_back

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.forecaster.log_prob(batch)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.forecaster.loss(batch)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return self.forecaster.predict(source, search)

    def stepper(self) -> ForecastStepper:
        """Single steps, each answered by the first of the steps ahead."""
        return ForecastStepper(self, self.forecaster)

    def tell(self, piece: Piece) -> Float[Tensor, "batch ahead width count"]:
        """The distributions of all steps ahead."""
        ahead = int(piece.aheads.max())
        x = filled(piece, self.look_back)
        place = self._place(x).transpose(1, 2)[:, :ahead]
        if self.inputs is not None:
            place = place + self.inputs(piece.future(piece.known))
        shape = self.shape[:ahead].expand(len(place), -1, -1, -1)
        return torch.cat([place[..., None], shape], dim=-1)

    def _place(self, x: Float[Tensor, "batch width back"]) -> Float[Tensor, "batch width horizon"]:
        """ŷ."""
        if self.trend is None:
            last = x[..., -1:]
            return last + self.swing(x - last)
        half = self.average // 2
        trend = avg_pool1d(pad(x, (half, half), mode="replicate"), self.average, stride=1)
        return self.swing(x - trend) + self.trend(trend)


class Products(nn.Module):
    """W x + b, with the same weights for every number of a row or others for each."""

    def __init__(self, kinds: int, back: int, ahead: int) -> None:
        super().__init__()
        bound = back**-0.5
        self.weight = nn.Parameter(torch.empty(kinds, back, ahead).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(kinds, 1, ahead).uniform_(-bound, bound))

    def forward(self, x: Float[Tensor, "batch width back"]) -> Float[Tensor, "batch width ahead"]:
        if len(self.weight) == 1:
            return x @ self.weight[0] + self.bias[0]
        return torch.baddbmm(self.bias, x.transpose(0, 1), self.weight).transpose(0, 1)


def filled(piece: Piece, back: int) -> Float[Tensor, "batch width back"]:
    """The last steps before a forecast, exactly so many, each number in a row of its own.

    What is missing is as the last that was seen before it, or the first after it; where nothing was
    seen at all, it is 0. Before the beginning it is as at the beginning.
    """
    past = int(piece.pasts.min())
    if past == back and not bool(piece.seen[:, :past].isnan().any()):
        return piece.seen[:, :past].transpose(1, 2)
    places = (piece.pasts[:, None] - back + torch.arange(back)).clamp(min=0)
    x = piece.seen[torch.arange(len(places))[:, None], places].transpose(1, 2)
    told = ~x.isnan()
    order = torch.arange(back)
    before = torch.where(told, order, -1).cummax(-1).values
    first = told.int().argmax(-1, keepdim=True)
    chosen = torch.where(before < 0, first, before)
    return x.gather(-1, chosen).nan_to_num()


def _refuse_impossible(variety: str, average: int, outlook: Outlook) -> None:
    if outlook.ahead != "direct":
        raise ModelError(
            "M462",
            "ahead = sampled: this model tells all steps of the horizon at once",
            help=["--set model.ahead=direct"],
        )
    if outlook.patch != 1:
        raise ModelError(
            "M462",
            f"patch = {outlook.patch}: this model has a weight for every single step it reads",
            help=["--set model.patch=1"],
        )
    if average < 1 or average % 2 == 0:
        raise ModelError(
            "M462",
            f"average = {average}: a moving average reaches as far to both sides of a step",
            help=[f"--set model.average={max(1, average + 1)}   an odd number"],
        )
