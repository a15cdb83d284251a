"""What can be set on a thing: read from its constructor, so it is written down once.

The same list checks recipes, prints `explain`, fills the studio's forms and the reference pages.

A dictionary of classes that imports each one when it is first asked for.

Names are known without importing anything heavy: `seqloom --help` and the counting models never
load torch. The same look-up reads a class from a user's own file: "my_models.py:MyModel".

TOML as recipes need it: tables of texts, numbers, truths and lists, and tables in them.

Python reads TOML (`tomllib`) and does not write it. What is written here reads back equal.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .errors import UsageError, nearest, unknown

NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    dict: "a table",
    tuple: "a list",
    frozenset: "a set",
}


@dataclass(frozen=True)
class Option:
    """One keyword argument: its name, type, default and the sentence that explains it."""

    name: str
    kind: Any
    default: Any
    help: str
    group: str = ""  # the argument that takes it, where several options are one argument

    @property
    def choices(self) -> tuple[str, ...]:
        """The words to choose from, where only some will do."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def expects(self) -> str:
        """What may be given, in words."""
        if get_origin(self.kind) is Literal:
            return " or ".join(repr(choice) for choice in get_args(self.kind))
        return NAMES[get_origin(self.kind) or self.kind]

    def fits(self, value: object) -> bool:
        """Whether a value is of the right kind."""
        if get_origin(self.kind) is Literal:
            return value in get_args(self.kind)
        if self.kind is float:
            return isinstance(value, int | float) and not isinstance(value, bool)
        kind = get_origin(self.kind) or self.kind
        return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def options(thing: Callable[..., Any]) -> list[Option]:
    """The keyword-only arguments of a constructor, explained by the `Args:` of its docstring.

    An argument that is a dataclass stands for its fields: several things can then share options,
    each with defaults of its own.
    """
    return list(_listed(thing))


@cache  # a recipe asks again and again, and a list of runs is a list of recipes
def _listed(thing: Callable[..., Any]) -> tuple[Option, ...]:
    made = vars(thing).get("__init__", thing) if isinstance(thing, type) else thing
    hints = get_type_hints(made)
    found = inspect.signature(made).parameters.values()
    helps = _explained(thing.__doc__ or "")
    listed: list[Option] = []
    for p in found:
        if p.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if is_dataclass(kind := hints[p.name]) and isinstance(kind, type):
            listed += [_of_group(option, p) for option in _listed(kind)]
        else:
            listed.append(Option(p.name, kind, p.default, helps.get(p.name, "")))
    return tuple(listed)


def _of_group(option: Option, argument: inspect.Parameter) -> Option:
    """An option of several that are one argument, with the default that the argument has."""
    default = getattr(argument.default, option.name, option.default)
    return replace(option, group=argument.name, default=default)


def problems(thing: Callable[..., Any], given: Mapping[str, Any]) -> list[str]:
    """All that is wrong with some settings, each with its remedy; empty when right."""
    known = {option.name: option for option in options(thing)}
    found = []
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known)
            remedy = f"did you mean {near!r}?" if near else f"it takes {', '.join(known) or 'none'}"
            found.append(f"{name!r} is not an option: {remedy}")
        elif not known[name].fits(value):
            near = nearest(str(value), known[name].choices)
            remedy = f"; did you mean {near!r}?" if near else ""
            found.append(f"{name} = {value!r}: expected {known[name].expects}{remedy}")
    return found


def taken(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the constructor takes them: those of a group as one argument."""
    values, arguments = _numbers(thing, given), dict[str, Any]()
    groups = {option.name: option.group for option in options(thing) if option.group}
    if not groups:
        return values
    made = vars(thing).get("__init__", thing) if isinstance(thing, type) else thing
    hints = get_type_hints(made)
    defaults = inspect.signature(made).parameters
    for group in dict.fromkeys(groups.values()):
        inside = {name: value for name, value in values.items() if groups.get(name) == group}
        default = defaults[group].default
        is_given = isinstance(default, hints[group])
        arguments[group] = replace(default, **inside) if is_given else hints[group](**inside)
    return arguments | {name: v for name, v in values.items() if name not in groups}


def filled(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with every default written out."""
    defaults = {option.name: option.default for option in options(thing)}
    return _numbers(thing, {name: given.get(name, default) for name, default in defaults.items()})


def _numbers(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A whole number where a number is wanted is one."""
    kinds = {option.name: option.kind for option in options(thing)}
    return {k: float(v) if kinds.get(k) is float else v for k, v in given.items()}


def summary(thing: Callable[..., Any]) -> str:
    """The first sentence of a thing's docstring: what it is."""
    return (thing.__doc__ or "").strip().split("\n")[0]


def _explained(text: str) -> dict[str, str]:
    """The sentences of the `Args:` section by name; further lines of one are indented deeper."""
    after = inspect.cleandoc(text).partition("Args:\n")[2].split("\n\n")[0]
    found = re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", after, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", help) for name, help in found}


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


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INDENT = "    "
_ESCAPES = {
    **{number: f"\\u{number:04x}" for number in (*range(0x20), 0x7F) if chr(number) != "\t"},
    **{ord(char): f"\\{name}" for char, name in zip('\b\n\f\r"\\', 'bnfr"\\', strict=True)},
}


def to_toml(tables: Mapping[str, Any]) -> str:
    """A TOML file; what TOML has no word for is a TypeError."""
    return "\n".join(_parts(tables, ""))


def _parts(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """A table's own lines, then the tables in it; one that has only tables needs no lines."""
    inside = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [
        f"{_key(key)} = {_value(value)}\n" for key, value in table.items() if key not in inside
    ]
    if lines or (name and not inside):
        yield "".join([f"[{name}]\n"] * bool(name) + lines)
    for key, value in inside.items():
        yield from _parts(value, f"{name}.{_key(key)}" if name else _key(key))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any, depth: int = 0) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)  # not a number and the infinite have the same names in both
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        items = [f"{_INDENT * (depth + 1)}{_value(item, depth + 1)},\n" for item in value]
        return f"[\n{''.join(items)}{_INDENT * depth}]" if items else "[]"
    raise TypeError(f"a recipe cannot hold {value!r}, a {type(value).__name__}")


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
