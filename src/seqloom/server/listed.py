"""Names that come through the web are names in a list.

On the command line the name of a task or a model may be a class in a Python file of one's own,
which is run to find it. A web page must never have that: here no name is looked up but in the list.
"""

from collections.abc import Iterable

from ..errors import unknown


def must_be_listed(what: str, name: object, names: Iterable[str]) -> None:
    """Refuse what is not in the list, without asking the list for it: that could run a file."""
    if not isinstance(name, str) or name not in list(names):
        raise unknown(what, str(name)[:200], names)
