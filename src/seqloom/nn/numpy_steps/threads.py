"""One thread for NumPy's products of few rows.

A product of one row takes some microseconds. Shared among threads it is hardly quicker on an idle
machine, and ten times as slow where others keep a core busy: each product then waits until its
second thread has its turn.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import LibController, ThreadpoolController

FEW = 8  # rows: about the candidates of one source; of many, products gain by being shared
_INSIDE = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, NumPy's products are not shared among threads.

    The setting is the whole process's: who comes while another is inside leaves it alone.
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
    """What NumPy takes products with; to look for it takes a millisecond."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set(threads: list[int]) -> None:
    for library, count in zip(_libraries(), threads, strict=True):
        library.set_num_threads(count)
        # Newer versions let one thread alone set it, until that one says that it is done.
        getattr(library, "clear_controlling_thread", lambda: None)()
