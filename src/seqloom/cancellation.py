"""Cancellation: long computations that end themselves when nobody waits for them any more.

A thread cannot be ended from outside. So the loops of searches, views and attributions call
`check_cancelled()`, which does nothing unless the caller has given a check, which raises:

    with cancel_by(check):
        run.inspect(text, view="influence")
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def cancel_by(check: Callable[[], None]) -> Iterator[None]:
    """Within this block, in this thread, the loops of long computations call `check`.

    It raises to cancel, for example because a deadline has passed; outer checks hold as well.
    """
    outer = _CHECK.get()

    def both() -> None:
        if outer is not None:
            outer()
        check()

    token = _CHECK.set(both)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_cancelled() -> None:
    """One turn of a long loop: raises what the caller's check raises, if there is one."""
    check = _CHECK.get()
    if check is not None:
        check()
