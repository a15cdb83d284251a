"""Configuration: options of constructors, lazy class registries, and a TOML writer.

`options` reads the keyword-only arguments of a constructor with types, defaults and help texts. The
same list validates recipes, prints `seqloom explain`, and fills the forms of the studio and the
reference pages.

`Registry` maps names to classes and imports each on first use, so that `seqloom --help` and models
without gradients never import torch. It also loads classes from a user's file:
"my_models.py:MyModel".

`parse_toml` reads recipes with `tomllib`, within limits. `to_toml` writes them, which Python
does not do.
"""

import contextlib
import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .errors import Place, UsageError, nearest, unknown

NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    dict: "a table",
    frozenset: "a set",
}
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # NUL, and half of a surrogate pair
MAX_SHOWN = 80  # characters of a wrong value in a message
LISTS: dict[Any, str] = {int: "a list of whole numbers, as [3, 4, 5]", str: "a list of texts"}


def as_strings(given: str | Iterable[str]) -> list[str]:
    """The texts of an argument that takes several; a string is one text, not its characters."""
    return [given] if isinstance(given, str) else list(given)


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value of a number; `below` excludes the largest."""

    low: float
    high: float
    below: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is within the bounds; NaN never is."""
        return self.low <= value <= self.high and not (self.below and value == self.high)

    def __str__(self) -> str:
        if self.below:
            return f"from {self.low:g} to below {self.high:g}"
        if self.high == LARGEST:
            return f"of at least {self.low:,}"
        return f"from {self.low:,} to {self.high:,}"


LARGEST = 2**31 - 1
# The annotations of options in constructors: what they count, and so what they can be.
Count = Annotated[int, Bounds(1, LARGEST)]
CountOrZero = Annotated[int, Bounds(0, LARGEST)]
Size = Annotated[int, Bounds(1, 1 << 16)]  # of a vector, a kernel, a set of states
SizeOrZero = Annotated[int, Bounds(0, 1 << 16)]
Layers = Annotated[int, Bounds(1, 1000)]
LayersOrZero = Annotated[int, Bounds(0, 1000)]
Steps = Annotated[int, Bounds(1, 1 << 20)]  # of a context
StepsOrZero = Annotated[int, Bounds(0, 1 << 20)]
Rate = Annotated[float, Bounds(0, 1, below=True)]  # of dropout, and other shares
Seed = Annotated[int, Bounds(0, 2**32 - 1)]  # that NumPy takes
# Other numbers can be anything that arithmetic can be done with: constructors say more.
_ANY = {int: Bounds(-LARGEST, LARGEST), float: Bounds(-1e30, 1e30)}


@dataclass(frozen=True)
class Option:
    """A keyword argument of a constructor: name, type, default and help text."""

    name: str
    kind: Any
    default: Any
    help: str
    group: str = ""  # the argument whose dataclass has this field, if any
    bounds: Bounds | None = None  # of a number

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values of a `Literal`."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def expects(self) -> str:
        """The expected value, in words."""
        if get_origin(self.kind) is Literal:
            return " or ".join(repr(choice) for choice in get_args(self.kind))
        if get_origin(self.kind) is tuple:
            return LISTS[get_args(self.kind)[0]]
        name = NAMES[get_origin(self.kind) or self.kind]
        return f"{name} {self.bounds}" if self.bounds else name

    def fits(self, value: object) -> bool:
        """Whether a value has the right type."""
        if get_origin(self.kind) is Literal:
            return value in get_args(self.kind)
        if self.kind is float:
            return isinstance(value, int | float) and not isinstance(value, bool)
        kind = get_origin(self.kind) or self.kind
        if kind is tuple:
            return _parse_list(self.kind, value) is not None
        return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))

    def holds(self, value: Any) -> bool:
        """Whether a value of the right type is within the bounds, as are all numbers of a list."""
        if isinstance(value, bool | str | dict):
            return True
        if isinstance(value, list | tuple):
            return all(map(self.holds, value))
        return (self.bounds or _ANY[float if self.kind is float else int]).holds(value)


def _parse_list(kind: Any, value: object) -> tuple[Any, ...] | None:
    """The value of a list option as a tuple; None if it is invalid.

    Recipes have [3, 4, 5]; on the command line, where brackets need quotes, 3,4,5 or 3 is enough.
    """
    of = get_args(kind)[0]
    if isinstance(value, str):
        parts: list[Any] = [part.strip() for part in value.split(",") if part.strip()]
        if of is int and all(re.fullmatch(r"-?[0-9]+", part) for part in parts):
            parts = [int(part) for part in parts]
    else:
        parts = list(value) if isinstance(value, list | tuple) else [value]
    right = all(isinstance(part, of) and not isinstance(part, bool) for part in parts)
    return tuple(parts) if right else None


def options(thing: Callable[..., Any]) -> list[Option]:
    """The keyword-only arguments of a constructor, with help from the `Args:` of its docstring.

    A dataclass argument is replaced by its fields, so that several classes can share options, each
    with its own defaults.
    """
    return list(_cached_options(thing))


@cache  # called for every recipe, and a list of runs reads many recipes
def _cached_options(thing: Callable[..., Any]) -> tuple[Option, ...]:
    made = vars(thing).get("__init__", thing) if isinstance(thing, type) else thing
    hints = get_type_hints(made, include_extras=True)
    found = inspect.signature(made).parameters.values()
    helps = _argument_help(thing.__doc__ or "")
    listed: list[Option] = []
    for p in found:
        if p.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if is_dataclass(kind := hints[p.name]) and isinstance(kind, type):
            listed += [_group_option(option, p) for option in _cached_options(kind)]
        else:
            bounds = next((one for one in get_args(kind) if isinstance(one, Bounds)), None)
            kind = get_args(kind)[0] if bounds else kind
            listed.append(Option(p.name, kind, p.default, helps.get(p.name, ""), bounds=bounds))
    return tuple(listed)


def _group_option(option: Option, argument: inspect.Parameter) -> Option:
    """A field of a dataclass argument as an option, with the default of that argument."""
    default = getattr(argument.default, option.name, option.default)
    return replace(option, group=argument.name, default=default)


def problems(thing: Callable[..., Any], given: Mapping[str, Any]) -> list[str]:
    """The problems of some settings, each with a suggestion; empty if they are valid."""
    known = {option.name: option for option in options(thing)}
    found = []
    for name, value in given.items():
        if name not in known:
            near = nearest(name[:MAX_SHOWN], known)
            remedy = f"did you mean {near!r}?" if near else f"it takes {', '.join(known) or 'none'}"
            found.append(f"{_shown(name)} is not an option: {remedy}")
        elif isinstance(value, str) and _UNWRITABLE.search(value):
            found.append(f"{name} = {_shown(value)}: it has a character that no text can have")
        elif not (known[name].fits(value) and known[name].holds(value)):
            near = nearest(str(value)[:MAX_SHOWN], known[name].choices)
            remedy = f"; did you mean {near!r}?" if near else ""
            found.append(f"{name} = {_shown(value)}: expected {known[name].expects}{remedy}")
    return found


def _shown(value: object) -> str:
    """A value as in Python; a long one is cut, and nothing in it can control a terminal."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def constructor_arguments(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as arguments of the constructor: those of a group become one dataclass."""
    values, arguments = _convert_values(thing, given), dict[str, Any]()
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


def with_defaults(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with every default written out, as a recipe file has them: lists, no tuples."""
    defaults = {option.name: option.default for option in options(thing)}
    values = {name: given.get(name, default) for name, default in defaults.items()}
    converted = _convert_values(thing, values).items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in converted}


def _convert_values(thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert integers to float options, and comma-separated texts to list options."""
    kinds = {option.name: option.kind for option in options(thing)}
    return {name: _convert(kinds.get(name), value) for name, value in given.items()}


def _convert(kind: Any, value: Any) -> Any:
    if kind is float:
        return float(value)
    return _parse_list(kind, value) if get_origin(kind) is tuple else value


def summary(thing: Callable[..., Any]) -> str:
    """The first line of the docstring of a class or function."""
    return (thing.__doc__ or "").strip().split("\n")[0]


def _argument_help(text: str) -> dict[str, str]:
    """The help texts of the `Args:` section by name; continuation lines are indented deeper."""
    after = inspect.cleandoc(text).partition("Args:\n")[2].split("\n\n")[0]
    found = re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", after, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", help) for name, help in found}


T = TypeVar("T")


class Registry(Mapping[str, type[T]]):
    """A lazy mapping from names to classes, given as "module:Class" relative to a package.

    Classes in `unlisted` can be looked up by name, but are not listed as choices.
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

    def find(self, name: object) -> type[T]:
        """The class with this name, or an error with the nearest known name."""
        if isinstance(name, str):  # a recipe can hold anything
            with contextlib.suppress(KeyError):
                return self[name]
        raise unknown(self.what, name, self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _from_file(name: str) -> type[T]:
    """A class from a user's Python file, as named in a recipe."""
    file, kind = name.rsplit(":", 1)
    try:
        source = Path(file).read_bytes()
    except (OSError, ValueError) as error:  # gone, too long for a name, or with a NUL character
        raise UsageError("U003", f"cannot find the Python file {_shown(file)}") from error
    module = ModuleType(Path(file).stem)
    module.__file__ = file
    try:  # from its source, never from a cache of bytecode, which could be of other source
        exec(compile(source, file, "exec"), module.__dict__)  # noqa: S102 - the user's own file
    except Exception as error:
        raise _failed(file, error) from error
    if not isinstance(getattr(module, kind, None), type):
        raise UsageError("U003", f"{file} has no class {kind!r}")
    found: type[T] = getattr(module, kind)
    return found


def _failed(file: str, error: Exception) -> UsageError:
    """The error for a Python file that cannot be run, with its line."""
    lines = [one.lineno for one in extract_tb(error.__traceback__) if one.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return UsageError(
        "U003",
        f"{file} cannot be run: {type(error).__name__}: {error}",
        place=Place(file, line),
        help=["a file that imports others of yours: add their folder to PYTHONPATH"]
        if isinstance(error, ImportError)
        else (),
    )


MAX_DEPTH = 32  # of tables and lists in each other; a recipe needs three
_DOTTED = re.compile(rf"(?:\.[^=.\n]*){{{MAX_DEPTH}}}")  # tomllib is quadratic in a key's dots


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; ValueError for what is no TOML or nests too deep."""
    too_deep = ValueError(f"it nests deeper than {MAX_DEPTH} levels")
    if _DOTTED.search(text):
        raise too_deep
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    inside: list[Any] = [tables]
    for _ in range(MAX_DEPTH):
        lists = [list(one.values()) if isinstance(one, dict) else one for one in inside]
        inside = [one for several in lists for one in several if isinstance(one, dict | list)]
    if inside:
        raise too_deep
    return tables


def parse_toml_value(text: str) -> Any:
    """One TOML value, or the text itself: a plain word needs no quotes on the command line."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INDENT = "    "
_ESCAPES = {
    **{number: f"\\u{number:04x}" for number in (*range(0x20), 0x7F) if chr(number) != "\t"},
    **{ord(char): f"\\{name}" for char, name in zip('\b\n\f\r"\\', 'bnfr"\\', strict=True)},
}


def to_toml(tables: Mapping[str, Any]) -> str:
    """Tables as TOML; values that TOML cannot represent raise TypeError."""
    return "\n".join(_toml_parts(tables, ""))


def _toml_parts(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """The lines of a table, then its subtables; a table with only subtables needs no header."""
    inside = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [
        f"{_key(key)} = {_value(value)}\n" for key, value in table.items() if key not in inside
    ]
    if lines or (name and not inside):
        yield "".join([f"[{name}]\n"] * bool(name) + lines)
    for key, value in inside.items():
        yield from _toml_parts(value, f"{name}.{_key(key)}" if name else _key(key))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any, depth: int = 0) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)  # nan and inf are written alike in both
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        items = [f"{_INDENT * (depth + 1)}{_value(item, depth + 1)},\n" for item in value]
        return f"[\n{''.join(items)}{_INDENT * depth}]" if items else "[]"
    raise TypeError(f"a recipe cannot hold {value!r}, a {type(value).__name__}")


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
