"""One BLAS thread for NumPy's matrix products of few rows.

A product of one row takes some microseconds. Split among threads it is hardly faster on an idle
machine, and ten times as slow where other processes keep a core busy: each product then waits until
its second thread is scheduled.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import LibController, ThreadpoolController

MAX_ROWS = 8  # about the candidates of one beam; products of more rows gain by threads
_INSIDE = Lock()


@contextmanager
def single_thread() -> Iterator[None]:
    """Inside, NumPy's products run in one thread.

    The setting is that of the whole process: a thread that comes while another is inside leaves it
    alone, so that the number of threads from before is restored once, and by the right one.
    """
    if not _INSIDE.acquire(blocking=False):
        yield
        return
    try:
        before = [library.get_num_threads() for library in _libraries()]
        try:
            _set([1] * len(before))
            yield
        finally:
            _set(before)
    finally:
        _INSIDE.release()


@cache
def _libraries() -> tuple[LibController, ...]:
    """The BLAS libraries of this process; finding them takes a millisecond, so they are cached."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set(threads: list[int]) -> None:
    for library, count in zip(_libraries(), threads, strict=True):
        library.set_num_threads(count)
        # In newer versions the thread that set it may set it again, until it releases it.
        getattr(library, "clear_controlling_thread", lambda: None)()
