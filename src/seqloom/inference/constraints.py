"""Rules for answers, from words to the numbers that a search knows."""

from collections.abc import Collection
from dataclasses import replace

from ..errors import UsageError
from ..prediction import Search, must_search
from ..signature import UNKNOWN
from ..task import Task

NAMED = 5  # so many unknown symbols are told by name


def ruled(task: Task, search: Search, allow: Collection[str], prefix: str) -> Search:
    """The search with the symbols that answers may have, and those they begin with."""
    if allow or prefix:
        name = "allow" if allow else "prefix"
        must_search(task.signature(), name)
    if allow:
        numbers, unknown = known(task, allow)
        if not numbers:
            raise UsageError(
                "U064",
                "none of the symbols that are allowed is known to the model",
                notes=[f"such as {_listed(unknown)}"],
                help=["allow symbols of the training targets, one a line"],
            )
        search = replace(search, allow=numbers)
    if prefix:
        search = replace(search, prefix=_begun(task, prefix))
    return search


def known(task: Task, allow: Collection[str]) -> tuple[frozenset[int], list[str]]:
    """The numbers of the symbols of these texts, and those that have none."""
    numbers, unknown = set[int](), dict[str, None]()
    for text in allow:
        for number, name in zip(*task.written(text), strict=False):
            if number == UNKNOWN:
                unknown[name] = None
            else:
                numbers.add(number)
    return frozenset(numbers), list(unknown)


def _begun(task: Task, prefix: str) -> tuple[int, ...]:
    numbers, names = task.written(prefix)
    if UNKNOWN in numbers:
        pairs = zip(numbers, names, strict=False)
        unknown = list(dict.fromkeys(name for number, name in pairs if number == UNKNOWN))
        raise UsageError(
            "U065",
            f"the prefix {prefix!r} has symbols that the model cannot write: {_listed(unknown)}",
            help=["begin with symbols of the training targets"],
        )
    return tuple(numbers)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more
