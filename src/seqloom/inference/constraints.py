"""Constrained decoding: allowed tokens and forced prefixes, from texts to token ids."""

from collections.abc import Collection
from dataclasses import replace

from ..errors import UsageError
from ..prediction import Search, require_search
from ..signature import UNKNOWN
from ..task import Task

NAMED = 5  # unknown tokens listed in an error


def constrained(task: Task, search: Search, allow: Collection[str], prefix: str) -> Search:
    """The search limited to the tokens of `allow`, with the prefix forced."""
    if allow or prefix:
        name = "allow" if allow else "prefix"
        require_search(task.signature(), name)
    if allow:
        numbers, unknown = token_ids(task, allow)
        if not numbers:
            raise UsageError(
                "U064",
                "none of the allowed tokens is in the target vocabulary",
                notes=[f"such as {_listed(unknown)}"],
                help=["allow tokens of the training targets, one a line"],
            )
        search = replace(search, allow=numbers)
    if prefix:
        search = replace(search, prefix=_prefix_ids(task, prefix))
    return search


def token_ids(task: Task, allow: Collection[str]) -> tuple[frozenset[int], list[str]]:
    """The token ids of these texts, and the tokens that are not in the vocabulary."""
    numbers, unknown = set[int](), dict[str, None]()
    for text in allow:
        for number, name in zip(*task.target_tokens(text), strict=False):
            if number == UNKNOWN:
                unknown[name] = None
            else:
                numbers.add(number)
    return frozenset(numbers), list(unknown)


def _prefix_ids(task: Task, prefix: str) -> tuple[int, ...]:
    numbers, names = task.target_tokens(prefix)
    if UNKNOWN in numbers:
        pairs = zip(numbers, names, strict=False)
        unknown = list(dict.fromkeys(name for number, name in pairs if number == UNKNOWN))
        raise UsageError(
            "U065",
            f"the prefix {prefix!r} has tokens that are not in the vocabulary: {_listed(unknown)}",
            help=["use tokens of the training targets"],
        )
    return tuple(numbers)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more
