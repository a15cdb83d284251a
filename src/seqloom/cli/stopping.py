"""Ctrl-C: the first asks to stop when a step is whole, the second stops at once."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from ..training.events import Event
from .terminal import say, several

ASKED = "Stopping after this step… (Ctrl-C again to quit now without saving)"
SHOW_CURSOR = b"\033[?25h\n"


class Stopper:
    """Listens to the signals that end a program, and counts what would be lost."""

    def __init__(
        self,
        announce: Callable[[str], None] = say,
        asked: str = ASKED,
        loss: Callable[[], str] | None = None,
    ) -> None:
        self.signal: int | None = None
        self.step, self.saved = 0, 0
        self._began = False
        self._announce, self._asked, self._loss = announce, asked, loss or self._lost_steps

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for a polite kill, 129 for a terminal that was closed."""
        return 128 + (self.signal or signal.SIGINT)

    def ask(self) -> bool:
        """Training asks this after every step, which is how steps are counted here."""
        self.step += 1
        return self.signal is not None

    def tell(self, event: Event) -> None:
        """Follow what happened."""
        if event.kind in ("start", "resume"):
            self._began, self.step, self.saved = True, event.step, event.step
        elif event.kind == "checkpoint":
            self.saved = event.step

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals while training, and give them back after."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python gives signals to the main thread only
            return
        before = {
            kind: signal.signal(kind, self._heard)
            for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(kind) is not signal.SIG_IGN  # nohup means: go on
        }
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if not self._began:  # the data is still being read: there is nothing to save
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        if self.signal is None:
            self.signal = number
            try:
                self._announce(self._asked)
            except RuntimeError:  # the signal came in the middle of a print
                _write(f"{self._asked}\n".encode())
            return
        _write(SHOW_CURSOR if sys.stderr.isatty() else b"")
        _write(f"{self._loss()}\n".encode())
        os._exit(128 + number)  # nothing may stand in the way, not even a save under way

    def _lost_steps(self) -> str:
        lost = several(max(0, self.step - self.saved), "step")
        if not self.saved:
            return f"Stopped at once. No checkpoint yet ({lost} lost)."
        return f"Stopped at once. Last checkpoint: step {self.saved:,} ({lost} lost)."


class Leaving:
    """Hears that somebody wants to leave, so that what is printed piece by piece ends whole."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def exit_if_asked(self) -> None:
        """Leave now, if anybody asked for it."""
        if self.signal is not None:
            raise SystemExit(128 + self.signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals, and give them back after."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self._heard) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise SystemExit(128 + number)  # the piece under way takes too long for them
        self.signal = number


def _write(text: bytes) -> None:
    """Straight to the system: a signal may come in the middle of a print."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), text)
