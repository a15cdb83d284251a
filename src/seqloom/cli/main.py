"""The command `seqloom`: finds the command that was asked for and answers for what goes wrong.

Nothing heavy is imported here: a command's module is imported when that command is chosen.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..errors import MachineError, SeqloomError, UsageError, nearest

INTERRUPTED = 130


class Command(NamedTuple):
    """The module that does it, what it does, and an example to copy."""

    module: str
    help: str
    example: str


COMMANDS = {
    "demo": Command("demo", "train a model in two minutes and see what it learned", "demo"),
    "check": Command(
        "check", "look at a data file and say what is wrong with it", "check words.tsv"
    ),
    "train": Command(
        "train", "train a model, or go on with one", "train translate words.tsv -m encoder-decoder"
    ),
    "ladder": Command(
        "ladder",
        "climb from simple models to large ones on one text",
        "ladder language novel.txt --max-time 15m",
    ),
    "evaluate": Command("evaluate", "judge a run on a file", "evaluate my-run test.tsv"),
    "errors": Command("errors", "list what a run gets wrong", "errors my-run test.csv"),
    "predict": Command("predict", "let a run answer", 'predict my-run "an input"'),
    "translate": Command("predict", "from one sequence to another", 'translate my-run "loom"'),
    "tag": Command("predict", "label every word", 'tag my-run "the cat sees a dog"'),
    "classify": Command("predict", "label whole texts", 'classify my-run "what a fine day"'),
    "forecast": Command(
        "forecast", "say how series go on", "forecast my-run sales.csv --horizon 12 -o fan.svg"
    ),
    "generate": Command("generate", "let a text go on", 'generate my-run --prompt "the "'),
    "compose": Command("compose", "draw a piece of music", "compose my-run -o chorale.mid"),
    "score": Command(
        "score", "say how likely sentences are", 'score my-run "an {example|egg-sample} of it"'
    ),
    "regimes": Command(
        "regimes", "find the states a series goes through", "regimes river.csv --states 3"
    ),
    "stream": Command(
        "stream", "answer every symbol as it comes in", "stream my-run --state here.safetensors"
    ),
    "inspect": Command("inspect", "look inside a model", 'inspect my-run --text "loom"'),
    "why": Command(
        "why", "see which inputs moved an answer", 'why my-run --text "what a fine day"'
    ),
    "anatomy": Command(
        "anatomy", "see how far back a memory feels", "anatomy --cell elman --cell lstm"
    ),
    "studio": Command("studio", "train, compare and look inside in the browser", "studio"),
    "runs": Command("runs", "list all runs", "runs"),
    "show": Command("show", "tell all about one run", "show my-run"),
    "compare": Command("compare", "set runs side by side", "compare my-run my-other-run"),
    "mix": Command("mix", "let two runs answer together", "mix my-run my-other-run"),
    "convert": Command(
        "convert",
        "exchange weights with torch, n-grams with ARPA",
        "convert my-run -o lstm.safetensors",
    ),
    "export": Command(
        "export",
        "write a run as one file, or for CTranslate2",
        "export my-run -o my-run.zip",
    ),
    "import": Command("import_run", "take a run from one file", "import my-run.zip"),
    "rename": Command("rename", "give a run another name", "rename my-run my-better-run"),
    "models": Command("models", "list the models and their options", "models"),
    "tasks": Command("tasks", "list the tasks and the files they read", "tasks"),
    "explain": Command("explain", "explain an error code or an option", "explain D011"),
    "doctor": Command("doctor", "report on this computer and this installation", "doctor"),
}
GROUPS = {
    "Learn": ("demo", "check", "train", "ladder"),
    "Use": (
        "evaluate",
        "errors",
        "predict",
        "translate",
        "tag",
        "classify",
        "forecast",
        "generate",
        "compose",
        "score",
        "regimes",
        "stream",
        "inspect",
        "why",
        "anatomy",
    ),
    "See": ("studio",),
    "Keep": ("runs", "show", "compare", "mix", "convert", "export", "import", "rename"),
    "Know": ("models", "tasks", "explain", "doctor"),
}
EXAMPLES = (
    ("seqloom demo", "two minutes: from spelling to sound"),
    ("seqloom check words.tsv", "is my file right?"),
    ("seqloom train translate words.tsv", "learn from it"),
    ('seqloom translate my-run "loom"', "use what was learned"),
    ('seqloom inspect my-run --text "loom"', "see how it did it"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _forgive_encodings()
    try:
        code = _run(given)
        sys.stdout.flush()
        return code
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _answer_for(error, given)


class CommandParser(argparse.ArgumentParser):
    """argparse with examples first, and with our own words for what is wrong."""

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(
            prog=f"seqloom {name}",
            allow_abbrev=False,
            conflict_handler="resolve",  # a command may define --json itself
            formatter_class=_formatter,
        )
        self.name, self.command = name, command

    def format_help(self) -> str:
        """What it does and an example, before argparse's own text."""
        head = f"seqloom {self.name}: {self.command.help}"
        return f"{head}\n\nExample:\n  seqloom {self.command.example}\n\n{super().format_help()}"

    def error(self, message: str) -> NoReturn:
        """A mistake in the command line, in the same form as all others."""
        raise UsageError("U001", _plain(message), help=[f"seqloom {self.name} --help"])

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse, after a look for misspelt options: argparse would blame something else."""
        known = self._option_string_actions
        for argument in arguments:
            if argument == "--":
                break
            option = argument.partition("=")[0]
            if re.fullmatch(r"--[A-Za-z][\w-]*", option) and option not in known:
                raise self._misspelt(option, [name for name in known if name.startswith("--")])
        return self.parse_intermixed_args(arguments)

    def _misspelt(self, option: str, known: list[str]) -> UsageError:
        near = nearest(option, known)
        hints = [f"did you mean {near}?"] if near else []
        return UsageError(
            "U001",
            f"'seqloom {self.name}' has no option {option}",
            help=[*hints, f"seqloom {self.name} --help"],
        )


def add_everywhere(parser: argparse.ArgumentParser) -> None:
    """The options that every command has."""
    group = parser.add_argument_group("everywhere")
    group.add_argument("--json", action="store_true", help="print results as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print only what is needed")
    group.add_argument("--debug", action="store_true", help="show where a bug is in the program")
    group.add_argument(
        "--runs-dir",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("SEQLOOM_RUNS") or "runs"),
        help="where runs are kept (SEQLOOM_RUNS, or else runs)",
    )


def help_text() -> str:
    """What `seqloom --help` shows: examples first, then every command."""
    room = max(len(example) for example, _ in EXAMPLES)
    lines = ["seqloom: one loom for every sequence model", "", "Examples:"]
    lines += [f"  {example:<{room}}   {what}" for example, what in EXAMPLES]
    for group, names in GROUPS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<10} {COMMANDS[name].help}" for name in names]
    lines += ["", "Everywhere: --json  --quiet  --debug  --runs-dir DIR"]
    lines += ["More on one: seqloom COMMAND --help"]
    return "\n".join(lines)


def _run(arguments: list[str]) -> int:
    name, rest = _command_first(arguments)
    if name == "help":
        name, rest = (rest[0], ["--help"]) if rest else (None, [])
    if name is None:
        return _without_command(rest)
    if name not in COMMANDS:
        near = nearest(name, COMMANDS)
        hints = [f"did you mean:  seqloom {near}"] if near else []
        raise UsageError(
            "U001",
            f"there is no command {name!r}",
            help=[*hints, "seqloom --help   lists all commands"],
        )
    module = import_module(f".commands.{COMMANDS[name].module}", __package__)
    parser = CommandParser(name, COMMANDS[name])
    module.add(parser)
    add_everywhere(parser)
    parser.set_defaults(command=name, verb=name)
    code: int = module.run(parser.read(rest))
    return code


def _answer_for(error: Exception, arguments: list[str]) -> int:
    """The exit code for what went wrong, after telling the user about it."""
    if isinstance(error, BrokenPipeError):
        _close_stdout()
        return 0
    if isinstance(error, SeqloomError):
        return _tell(error, arguments)
    if _is_out_of_memory(error):
        return _tell(_out_of_memory(), arguments)
    return _tell_bug(error, arguments)


def _without_command(options: list[str]) -> int:
    for option in options:
        if option in ("--version", "-V"):
            from importlib.metadata import version

            print(f"seqloom {version('seqloom')}")
            return 0
        if option not in ("-h", "--help"):
            raise UsageError("U001", f"no command before {option}", help=["seqloom --help"])
    print(help_text())
    return 0


def _command_first(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The command and everything else: options for everywhere may stand before it too."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] == "--runs-dir" else 1
    if place >= len(arguments):
        return None, arguments
    return arguments[place], arguments[:place] + arguments[place + 1 :]


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=32)


def _plain(message: str) -> str:
    """argparse's words, without its habits."""
    message = re.sub(r"^argument (?:\S+/)?(\S+): ", r"\1: ", message)
    return message.replace("the following arguments are required", "this is missing")


def _forgive_encodings() -> None:
    """A terminal that cannot show a character gets its number, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def _close_stdout() -> None:
    """Whoever read us has gone: what is left must not complain when Python ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _tell(error: SeqloomError, arguments: list[str]) -> int:
    from ..errors import trace_of
    from .terminal import coloured, say

    word = f"error[{error.code}]"
    say(error.text().replace(word, coloured(word, "red", sys.stderr), 1))
    if "--json" in arguments:
        say(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
    if "--debug" in arguments:
        say(trace_of(error))
    return error.exit_code


def _tell_bug(error: Exception, arguments: list[str]) -> int:
    from ..errors import save_report, trace_of
    from .terminal import coloured, say

    place = save_report(error, f"command: {_command_first(arguments)[0]}")
    word = coloured("bug", "red", sys.stderr)
    say(f"{word}: something went wrong inside seqloom (not your fault). Report saved to {place}")
    say("  It holds the place in the program and the message there; please attach it to an issue.")
    if "--json" in arguments:
        problem: dict[str, Any] = {"code": "bug", "problem": str(error), "report": str(place)}
        say(json.dumps({"error": problem}, ensure_ascii=False))
    if "--debug" in arguments:
        say(trace_of(error))
    return 1


def _is_out_of_memory(error: Exception) -> bool:
    """Python says MemoryError, torch says it in a RuntimeError."""
    is_torch = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return isinstance(error, MemoryError) or is_torch


def _out_of_memory() -> MachineError:
    return MachineError(
        "E310",
        "out of memory",
        notes=["The batch, the model or the longest sequence is too large for this computer."],
        help=[
            "--set training.batch_size=16   fewer sequences at once",
            "--set data.max_length=200      refuse very long sequences",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
