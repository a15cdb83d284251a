"""Forecasts in the units of the file, each step with its date."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data.series.scaling import Scale
from ..prediction import LEVELS, QuantileForecast


@dataclass(frozen=True, eq=False)
class ForecastAnswer:
    """The mean and the quantiles at LEVELS of each step; sample paths where they were drawn.

    Steps are named as the dates of the file go on. Where numbers were read as logarithms or roots,
    what is expected is the median.
    """

    mean: Float[np.ndarray, "time width"]
    quantiles: Float[np.ndarray, "time width levels"]
    times: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    series: str = ""
    paths: Float[np.ndarray, "samples time width"] | None = None

    @classmethod
    def of(cls, found: Any, scale: Scale, **about: Any) -> "ForecastAnswer":
        """From what a model foresaw in its own numbers, or from the numbers themselves."""
        if not isinstance(found, QuantileForecast):
            rows = np.asarray(found, dtype=np.float64).reshape(-1, len(scale.shift))
            found = QuantileForecast(rows, np.repeat(rows[..., None], len(LEVELS), axis=-1))
        paths = None if found.paths is None else scale.invert(found.paths)
        quantiles = scale.invert(found.quantiles, levels=True)
        return cls(scale.invert(found.mean), quantiles, paths=paths, **about)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForecastAnswer) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.mean)

    def interval(
        self, share: float
    ) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width"]]:
        """The central prediction interval of that probability."""
        return QuantileForecast(self.mean, self.quantiles).interval(share)

    def as_dict(self) -> dict[str, Any]:
        """The same for machines; of one number at each step there are plain lists."""
        narrow = self.mean.shape[1] == 1

        def plain(rows: np.ndarray) -> Any:
            return (rows[..., 0] if narrow else rows).tolist()

        quantiles = {str(level): plain(self.quantiles[..., i]) for i, level in enumerate(LEVELS)}
        found = {"series": self.series, "times": list(self.times), "names": list(self.names)}
        drawn = {} if self.paths is None else {"paths": plain(self.paths)}
        return {**found, "mean": plain(self.mean), "quantiles": quantiles, **drawn}

    def __str__(self) -> str:
        return written(self.mean)


def written(rows: Float[np.ndarray, "time width"], *, exact: bool = False) -> str:
    """Numbers in one line, of six digits or exact: blanks between steps; of several semicolons."""
    show = _shortest if exact else "{:.6g}".format
    steps = [" ".join(map(show, row)) for row in rows.tolist()]
    return (" " if rows.shape[1] == 1 else "; ").join(steps)


def _shortest(number: float) -> str:
    """A number with as few digits as it takes to read it again: 19.7, not 19.699999999999999."""
    texts = [f"{number:.{digits}g}" for digits in (15, 16, 17)]
    return next((text for text in texts if float(text) == number), texts[-1])
