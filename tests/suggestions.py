"""Commands that messages suggest: each must be one that the command line accepts.

A suggestion stands alone in a line, or after a heading such as `Next:` or `help:`; three spaces
part it from what is said about it. Words in capitals are to be filled in: RUN, FILE, TASK.
`watch` hears every error that is made and every line that a command prints, in the whole suite;
tests/cli/test_suggestions.py runs them.
"""

import functools
import re
import shlex
from collections.abc import Iterator
from importlib import import_module

from seqloom.cli import terminal
from seqloom.cli.main import COMMANDS, CommandParser, add_global_options
from seqloom.errors import SeqloomError, UsageError

FILLED_IN = {"TASK": "classify", "K": "5", "N": "5", "TIME": "9m", "A.B=C": "model.hidden_size=8"}
HEADINGS = re.compile(r"^(?:help|Next|Resume with|note|did you mean)?:? *")
IN_PROSE = re.compile(r"\w,? (seqloom [a-z].*)")  # what cannot be copied as it stands
OUTSIDE_QUOTES = r"(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)"
heard: dict[str, None] = {}


def watch() -> None:
    """Hear every suggestion from now on."""
    made = SeqloomError.__init__

    @functools.wraps(made)
    def listening(self, code, problem, **more):
        made(self, code, problem, **more)
        for line in self.help:
            hear(line)
            heard.update(dict.fromkeys(IN_PROSE.findall(line)))

    def printing(text="", **more):
        for line in advice_in(str(text), is_result="file" not in more):
            hear(line)
        print(text, **more)

    SeqloomError.__init__ = listening
    terminal.print = printing


def advice_in(text: str, is_result: bool) -> Iterator[str]:
    """The lines that suggest something; of a result those with a heading, and those below it."""
    is_below = False
    for line in text.splitlines():
        is_below = line.startswith("Next:") or (is_below and line.startswith(" "))
        if is_below or ":  seqloom " in line or not is_result:
            yield line


def hear(line: str) -> None:
    """Keep the suggestions of a line."""
    if "seqloom " in line:
        heard.update(dict.fromkeys(commands_in(line)))


def commands_in(line: str) -> Iterator[str]:
    """The suggestions of a line: what begins with seqloom, up to three spaces."""
    for part in re.split(r" {2,}" + OUTSIDE_QUOTES, line.strip()):
        part = HEADINGS.sub("", part)
        if part.startswith("seqloom "):
            yield part


@functools.cache
def complaint(command: str) -> str:
    """Why the command line does not accept a suggestion; empty if it does."""
    try:
        name, *words = shlex.split(command)[1:]
    except ValueError as error:
        return f"{command}: {error}"
    if name not in COMMANDS:
        return "" if name in ("--help", "COMMAND") else f"{command}: there is no command {name}"
    if not words or words == ["--help"]:  # a command by its name
        return ""
    try:
        _parser(name).parse([FILLED_IN.get(word, word) for word in words])
    except UsageError as error:
        return f"{command}: {error.problem}"
    return ""


@functools.cache
def _parser(name: str) -> CommandParser:
    module = import_module(f"seqloom.cli.commands.{COMMANDS[name].module}")
    parser = CommandParser(name, COMMANDS[name])
    module.add_arguments(parser)
    add_global_options(parser)
    return parser
