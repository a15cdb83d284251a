"""What is known of a file of series beside its numbers: a codec."""

from typing import Any

from ..errors import DataError, Place
from .recorded import Recording

USUAL_HORIZON = 10  # where no season says how far to look
SEASONS_NEEDED = 2  # a series shorter than that shows no season


class Outline:
    """The columns, the step, the season and how far forecasts look.

    A period or horizon of 0 is chosen by the step: a season is a day of hours, a week of days, a
    year of months; and a forecast is as long as a season, or 10 steps where there is none.
    """

    def __init__(self, period: int = 0, horizon: int = 0) -> None:
        self.period, self.horizon = period, horizon
        self.width, self.step, self.is_learned = 1, "", False
        self.names: tuple[str, ...] = ()
        self.known: tuple[str, ...] = ()

    def learn(self, recording: Recording, width: int, path: str) -> list[str]:
        """From the training file; what was chosen is told, a sentence each."""
        longest = max(len(one) for one in recording.series)
        self.names, self.known, self.step = recording.names, recording.known, recording.step
        self.width, said = width, []
        if self.period >= longest:
            raise DataError(
                "D221",
                f"a season of {self.period:,} steps is longer than the longest series"
                f" ({longest:,} steps)",
                place=Place(path),
                help=[f"--set task.period=1   no season, or one of less than {longest:,} steps"],
            )
        if not self.period:
            has_season = longest >= SEASONS_NEEDED * recording.period
            self.period = recording.period if has_season else 1
            if self.period > 1:
                said.append(f"a season has {self.period} steps, by the dates (--set task.period)")
        if not self.horizon:
            usual = self.period if self.period > 1 else USUAL_HORIZON
            self.horizon = max(1, min(usual, longest // 4))
            ahead = "one step is" if self.horizon == 1 else f"{self.horizon} steps are"
            said.append(f"{ahead} forecast (--set task.horizon)")
        self.is_learned = True
        return said

    def must_match(self, recording: Recording, width: int, path: str) -> None:
        """Refuse a file that has other columns than that of training."""
        if len(recording.known) != len(self.known):
            raise DataError(
                "D223",
                f"the file has {_named(recording.known)} as inputs, and training had"
                f" {_named(self.known)}",
                place=Place(path),
                help=["--columns known=COLUMN+COLUMN   the inputs, in the same order"],
            )
        if width != self.width:
            raise DataError(
                "D223",
                f"a step has {width} numbers here, and in training it had {self.width}",
                place=Place(path),
                help=[f"--columns value={'+'.join(self.names)}"] if self.width > 1 else [],
            )

    def state(self) -> Any:
        return dict(vars(self))

    def restore(self, state: Any) -> None:
        for name, value in state.items():
            setattr(self, name, tuple(value) if isinstance(value, list) else value)


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
