"""A dictionary of classes that imports each one when it is first asked for.

Names are known without importing anything heavy: `seqloom --help` and the counting models never
load torch. The same look-up reads a class from a user's own file: "my_models.py:MyModel".
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TypeVar

from .errors import UsageError, unknown

T = TypeVar("T")


class Registry(Mapping[str, type[T]]):
    """Names and the places of their classes, written "module:Class" relative to a package.

    What is `unlisted` is found by its name, but is not among those to choose from.
    """

    def __init__(
        self,
        what: str,
        package: str,
        places: Mapping[str, str],
        unlisted: Mapping[str, str] | None = None,
    ) -> None:
        self.what, self._package, self._places = what, package, dict(places)
        self._unlisted = dict(unlisted or {})

    def __getitem__(self, name: str) -> type[T]:
        if ".py:" in name:
            return _from_file(name)
        module, kind = (self._places | self._unlisted)[name].split(":")
        found: type[T] = getattr(import_module(module, self._package), kind)
        return found

    def find(self, name: str) -> type[T]:
        """The class of that name, or an error with the nearest right name."""
        try:
            return self[name]
        except KeyError:
            raise unknown(self.what, name, self._places) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _from_file(name: str) -> type[T]:
    """A class from a Python file of the user's own, named by the user in a recipe."""
    file, kind = name.rsplit(":", 1)
    spec = spec_from_file_location(Path(file).stem, file) if Path(file).is_file() else None
    if spec is None or spec.loader is None:
        raise UsageError("U003", f"cannot find the Python file {file!r}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if not isinstance(getattr(module, kind, None), type):
        raise UsageError("U003", f"{file} has no class {kind!r}")
    found: type[T] = getattr(module, kind)
    return found
