"""seqloom explain: the page of an error code, model, cell, attention, task, or recipe table."""

import argparse
import inspect
from collections.abc import Callable
from textwrap import wrap
from typing import Any

from ...config import Option, options, summary
from ...data.options import Data
from ...errors import Page, UsageError, nearest, pages, subject, unknown
from ...model import Model
from ...models import MODELS
from ...runs.record import to_json
from ...tasks import TASKS
from ...training.options import Training
from ..terminal import show, table, width

TABLES: dict[str, Callable[..., Any]] = {"data": Data, "training": Training}
NARROWEST = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "topic", metavar="TOPIC", nargs="?", help="D011, recurrent, lstm, translate, training, …"
    )


def run(args: argparse.Namespace) -> int:
    """Print the page of a topic; without one, list all topics."""
    by_code = pages()
    if args.topic is None:
        _show_topics(by_code, args.json)
    elif args.topic.upper() in by_code:
        _show_page(by_code[args.topic.upper()], args.json)
    else:
        _show_thing(args.topic, _thing(args.topic, by_code), args.json)
    return 0


def _thing(topic: str, by_code: dict[str, Page]) -> Callable[..., Any]:
    """The class of that name; torch is imported for cells, attentions and neural models only."""
    if topic in TABLES:
        return TABLES[topic]
    if topic in TASKS:
        return TASKS[topic]
    if topic in MODELS or ".py:" in topic:
        return MODELS[topic]
    if _is_code(topic):
        near = nearest(topic.upper(), [code for code in by_code if code[0] == topic[0].upper()])
        hints = [f"did you mean {near}?"] if near else []
        help = [*hints, "seqloom explain   lists all codes"]
        raise UsageError("U002", f"there is no error code {topic.upper()}", help=help)
    from ...nn.attention import ATTENTIONS
    from ...nn.cells import CELLS

    inside: dict[str, Callable[..., Any]] = {**CELLS, **ATTENTIONS}
    if topic in inside:
        return inside[topic]
    raise unknown("topic", topic, [*_names(), *inside])


def _show_topics(by_code: dict[str, Page], as_json: bool) -> None:
    if as_json:
        for page in by_code.values():
            show(to_json({"topic": page.code, "title": page.title}))
        for name in _names():
            show(to_json({"topic": name}))
        return
    rows = [["tables", ", ".join(TABLES)], ["tasks", ", ".join(TASKS)]]
    rows += [["models", ", ".join(MODELS)], ["cells", "of recurrent: elman, lstm, gru, …"]]
    rows += [["attentions", "of encoder-decoder: dot, additive, local, …"], ["", ""]]
    rows += [[page.code, page.title] for page in by_code.values()]
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
    """The docstring, which has the equations, then how it is trained, then its options."""
    text, listed = _text(thing), _options(thing)
    learns = thing.learns if isinstance(thing, type) and issubclass(thing, Model) else ""
    if as_json:
        facts: dict[str, Any] = {"name": name, "summary": summary(thing), "text": text}
        facts |= {"learns_by": learns} if learns else {}
        show(to_json(facts | {"options": [_as_dict(option) for option in listed]}))
        return
    show(f"{name}: {text}")
    if learns:
        show(f"\nTrained by: {learns}.")
    where = "" if name in TABLES else " of [task]" if name in TASKS else " of [model]"
    show(f"\nOptions{where}, each with its default:" if listed else "\nNo options.")
    for option in listed:
        show(f"  {option.name} = {_shown(option.default)}   ({option.expects})")
        for line in _hung(" " * 6, option.help):
            show(line)


def _options(thing: Callable[..., Any]) -> list[Option]:
    """Its options; of a cell or an attention, those of [model] that apply to it."""
    if (takes := getattr(thing, "own_options", None)) is None:
        return options(thing)
    from ...nn.attention import AttentionOptions
    from ...nn.cells.options import RNNOptions

    return [
        option for option in options(RNNOptions) + options(AttentionOptions) if option.name in takes
    ]


def _text(thing: Callable[..., Any]) -> str:
    """The docstring without its Args section, which is listed as options."""
    return inspect.cleandoc(thing.__doc__ or "").partition("Args:\n")[0].strip()


def _as_dict(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "default": option.default,
        "expects": option.expects,
        "help": option.help,
    }


def _shown(value: object) -> str:
    """A default in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _hung(head: str, text: str) -> list[str]:
    """A text wrapped to the terminal, with a hanging indent below the head."""
    room = max(NARROWEST, min(width(), 100))
    return wrap(text, room, initial_indent=head, subsequent_indent=" " * len(head))


def _names() -> list[str]:
    return [*TABLES, *TASKS, *MODELS]


def _is_code(topic: str) -> bool:
    return len(topic) == 4 and topic[1:].isdigit()
