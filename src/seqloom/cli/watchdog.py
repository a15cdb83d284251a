"""Watchdog: ends the process where a signal finds it in a call that does not return soon.

Python runs signal handlers between two of its own instructions. A solver or a compiled kernel may
take minutes for one of them, so a thread listens as well: the system writes the number of every
signal to a socket. Kernels and solvers release the lock of the interpreter, so the thread can run.
"""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

SECONDS = 0.5  # a process that is told to end does so within a second


class Watchdog:
    """Calls `quit` with the number of a signal that the main thread has not heeded in time.

    A second signal always has to be heeded, the first only where `must_heed` says so.
    """

    def __init__(
        self,
        must_heed: Callable[[int], bool],
        quit: Callable[[int], None],
        seconds: float = SECONDS,
    ) -> None:
        self._must_heed, self._quit, self._seconds = must_heed, quit, seconds
        self._heeded = threading.Event()

    def heed(self) -> None:
        """The main thread does what the signal asks for."""
        self._heeded.set()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Listen to signals; only in the main thread."""
        mine, theirs = socket.socketpair()
        theirs.setblocking(False)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        thread = threading.Thread(target=self._listen, args=(mine,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.heed()
            signal.set_wakeup_fd(before)
            theirs.close()  # which ends the thread
            thread.join()
            mine.close()

    def _listen(self, incoming: socket.socket) -> None:
        count = 0
        while numbers := incoming.recv(16):
            for number in numbers:
                count += number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
                is_due = count > 1 or (count == 1 and self._must_heed(number))
                if is_due and not self._heeded.wait(self._seconds):
                    self._quit(number)
