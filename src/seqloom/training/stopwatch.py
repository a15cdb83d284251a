"""The time that a training has taken: by the clock on the wall, or in processor seconds."""

import time
from typing import Literal

Clock = Literal["wall", "process"]


def cpu_seconds() -> float:
    """Processor seconds of this thread: time in which it sleeps or waits for others does not count.

    It is the thread that takes the steps; those that help it work while it works.
    """
    return time.thread_time()


def seconds_of(clock: Clock) -> float:
    """What a clock shows; only differences mean something."""
    return time.monotonic() if clock == "wall" else cpu_seconds()


class Stopwatch:
    """Seconds that count towards `max_time`, lap by lap.

    On the wall everything counts from the first step on, evaluations and waiting for other
    programs too. Of the processor only the steps count.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = seconds_of(clock)

    def start(self) -> None:
        """The first step begins."""
        self._last = seconds_of(self._clock)

    def between_steps(self) -> float:
        """The seconds since the last step that count; the next step begins."""
        passed = self.step()
        return passed if self._clock == "wall" else 0.0

    def step(self) -> float:
        """The seconds of the step that ends."""
        before, self._last = self._last, seconds_of(self._clock)
        return self._last - before
