"""Shapes and types of every call in the package are checked while the tests run.

The import hook of jaxtyping (see `--jaxtyping-packages` in pyproject.toml) puts a decorator on every
function and dataclass of the package. Its own decorator binds the arguments, checks them twice and
writes its checks anew each time a function inside a function is defined: most of the time of a test
would go into that. `watched`, which takes its place, checks the same in one call; it writes the checks
of a function when it is first called, and those of an inner function once. Loops that learn call the
same functions thousands of times with the same shapes: in each test the first calls are checked,
and then every tenth.
"""

import dataclasses
import functools
import inspect
import threading
from typing import ForwardRef, get_args, get_origin, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as Python has it
jaxtyped = jaxtyping.jaxtyped
SCOPE = jaxtyped("context")  # in it the same word is the same length
ENOUGH = 50  # calls of one function that are all checked in one test
AFTERWARDS = 10  # of so many calls after that, one is


class Calls:
    """How often something was called in the test that runs."""

    test = 0  # which one it is

    def __init__(self):
        self._counted, self._calls = 0, 0

    def is_due(self):
        """Whether the next call is to be checked."""
        if self._counted != Calls.test:
            self._counted, self._calls = Calls.test, 0
        self._calls += 1
        return self._calls <= ENOUGH or self._calls % AFTERWARDS == 0


def watched(thing):
    """The function with its checks; a dataclass whose fields are checked when it is made."""
    if inspect.isclass(thing):
        if dataclasses.is_dataclass(thing) and "__init__" in vars(thing):
            thing.__init__ = watched(thing.__init__)
        return thing
    if "<locals>" in thing.__qualname__ or inspect.isgeneratorfunction(thing):
        return _inner(thing)
    check, calls = _scoped(thing, _lengths(thing.__annotations__.values()), _lazily(thing)), Calls()

    @functools.wraps(thing)
    def call(*arguments, **named):
        __tracebackhide__ = True
        return (check if calls.is_due() else thing)(*arguments, **named)

    return call


def _lengths(annotations) -> str:
    """What array annotations say of lengths, also where they are inside of others."""
    found = []
    for annotation in annotations:
        if isinstance(annotation, str | ForwardRef):  # it may be anything
            found.append("{}" if "{" in str(annotation) else "_")
        elif inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
            found.append(annotation.dim_str or "_")
        else:
            inside = annotation if isinstance(annotation, list) else get_args(annotation)
            found.append(_lengths(inside))
    return " ".join(filter(None, found))


def _scoped(function, lengths: str, check):
    """The checked function, in a scope of its own if it names lengths."""
    if not lengths:
        return check
    if "{" in lengths:  # they are the values of arguments, which must be bound to be known
        return jaxtyped(function, typechecker=checked)

    @functools.wraps(function)
    def call(*arguments, **named):
        __tracebackhide__ = True
        with SCOPE:
            return check(*arguments, **named)

    return call


def _lazily(function):
    made = None

    @functools.wraps(function)
    def call(*arguments, **named):
        __tracebackhide__ = True
        nonlocal made
        if made is None:
            made = _with_checks(function)
        return made(*arguments, **named)

    return call


def _with_checks(function):
    try:
        get_type_hints(function, include_extras=True)
    except NameError:  # a name that only type checkers import: jaxtyping takes it for anything
        return jaxtyped(function, typechecker=checked)
    return checked(function)


class _Waiting(threading.local):
    def __init__(self):
        self.functions = []


WAITING = _Waiting()  # inner functions that are about to be called
INNER = {}  # the checks of inner functions, by their code and annotations


def _inner(function):
    """One check for all functions that are made of the same code, each time with other cells."""
    key = function.__code__, *map(_same, function.__annotations__.values())
    if key not in INNER:
        lengths = _lengths(function.__annotations__.values())
        check = _scoped(function, lengths, _for_the_next(function))
        INNER[key] = "{" in lengths, check, Calls()
    is_bound, check, calls = INNER[key]
    if is_bound:
        return jaxtyped(function, typechecker=checked)

    @functools.wraps(function)
    def call(*arguments, **named):
        __tracebackhide__ = True
        if not calls.is_due():
            return function(*arguments, **named)
        waiting = WAITING.functions
        before = len(waiting)
        waiting.append(function)
        try:
            return check(*arguments, **named)
        finally:
            del waiting[before:]  # it is still there if an argument was refused

    return call


def _same(annotation):
    """What is equal where annotations say the same: those of arrays are made anew each time."""
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return annotation.dtype, annotation.array_type, annotation.dim_str
    if isinstance(annotation, list):
        return tuple(map(_same, annotation))
    inside = get_args(annotation)
    return (get_origin(annotation), *map(_same, inside)) if inside else annotation


def _for_the_next(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        return WAITING.functions.pop()(*arguments, **named)

    return _lazily(call)


def of_the_package(*, typechecker):
    """What the import hook asks for: a decorator."""
    return watched


jaxtyping.jaxtyped = of_the_package
