"""seqloom explain: an error code, a model, a cell, an attention, a task, [data] or [training]."""

import argparse
import inspect
from collections.abc import Callable
from textwrap import wrap
from typing import Any

from ...config import Option, options, summary
from ...data.options import Data
from ...errors import Page, UsageError, nearest, pages, subject, unknown
from ...models import MODELS
from ...runs.record import to_json
from ...tasks import TASKS
from ...training.options import Training
from ..terminal import show, table, width

TABLES: dict[str, Callable[..., Any]] = {"data": Data, "training": Training}
NARROWEST = 40


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "topic", metavar="TOPIC", nargs="?", help="D011, recurrent, lstm, translate, training, …"
    )


def run(given: argparse.Namespace) -> int:
    """Print what there is to say about a topic; without one, list all topics."""
    found = pages()
    if given.topic is None:
        _show_topics(found, given.json)
    elif given.topic.upper() in found:
        _show_page(found[given.topic.upper()], given.json)
    else:
        _show_thing(given.topic, _thing(given.topic, found), given.json)
    return 0


def _thing(topic: str, found: dict[str, Page]) -> Callable[..., Any]:
    """The class of that name; only models need torch, and only when one is asked for."""
    if topic in TABLES:
        return TABLES[topic]
    if topic in TASKS:
        return TASKS[topic]
    if topic in MODELS or ".py:" in topic:
        return MODELS[topic]
    if _is_code(topic):
        near = nearest(topic.upper(), [code for code in found if code[0] == topic[0].upper()])
        hints = [f"did you mean {near}?"] if near else []
        help = [*hints, "seqloom explain   lists all codes"]
        raise UsageError("U002", f"there is no error code {topic.upper()}", help=help)
    from ...nn.attention import ATTENTIONS
    from ...nn.cells import CELLS

    inside: dict[str, Callable[..., Any]] = {**CELLS, **ATTENTIONS}
    if topic in inside:
        return inside[topic]
    raise unknown("topic", topic, [*_names(), *inside])


def _show_topics(found: dict[str, Page], as_json: bool) -> None:
    if as_json:
        for page in found.values():
            show(to_json({"topic": page.code, "title": page.title}))
        for name in _names():
            show(to_json({"topic": name}))
        return
    rows = [["tables", ", ".join(TABLES)], ["tasks", ", ".join(TASKS)]]
    rows += [["models", ", ".join(MODELS)], ["cells", "those of recurrent: elman, lstm, gru, …"]]
    rows += [["", "attentions, those of encoder-decoder: dot, additive, local, …"], ["", ""]]
    rows += [[page.code, page.title] for page in found.values()]
    for line in table(rows):
        show(line)


def _show_page(page: Page, as_json: bool) -> None:
    if as_json:
        show(to_json(vars(page)))
        return
    show(f"{page.code}: {page.title}\n({subject(page.code)})\n")
    for title, text in (("What", page.what), ("Do", page.fix), ("Why", page.why)):
        for line in _hung(f"{title:<6}", text):
            show(line)


def _show_thing(name: str, thing: Callable[..., Any], as_json: bool) -> None:
    """The docstring, which has the equations, and the options below it."""
    text, found = _text(thing), _options(thing)
    if as_json:
        listed = [_as_dict(option) for option in found]
        show(to_json({"name": name, "summary": summary(thing), "text": text, "options": listed}))
        return
    show(f"{name}: {text}")
    where = "" if name in TABLES else " of [task]" if name in TASKS else " of [model]"
    show(f"\nOptions{where}, each with its default:" if found else "\nNo options.")
    for option in found:
        show(f"  {option.name} = {_shown(option.default)}   ({option.expects})")
        for line in _hung(" " * 6, option.help):
            show(line)


def _options(thing: Callable[..., Any]) -> list[Option]:
    """What can be set: of a cell or an attention, the options of [model] that only some have."""
    if (takes := getattr(thing, "takes", None)) is None:
        return options(thing)
    from ...nn.attention import Attending
    from ...nn.cells.options import Wiring

    return [option for option in options(Wiring) + options(Attending) if option.name in takes]


def _text(thing: Callable[..., Any]) -> str:
    """The docstring without the options, which are listed in another form."""
    return inspect.cleandoc(thing.__doc__ or "").partition("Args:\n")[0].strip()


def _as_dict(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "default": option.default,
        "expects": option.expects,
        "help": option.help,
    }


def _shown(value: object) -> str:
    """A default as a recipe writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _hung(head: str, text: str) -> list[str]:
    """A text in lines that fit the terminal, all but the first indented as far as the head."""
    room = max(NARROWEST, min(width(), 100))
    return wrap(text, room, initial_indent=head, subsequent_indent=" " * len(head))


def _names() -> list[str]:
    return [*TABLES, *TASKS, *MODELS]


def _is_code(topic: str) -> bool:
    return len(topic) == 4 and topic[1:].isdigit()
