"""Entry point of the command line: command dispatch, argument parsing, error messages.

Nothing heavy is imported here: the module of a command is imported when that command is chosen.
"""

import argparse
import errno
import json
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from ..errors import (
    DISK_FULL,
    MachineError,
    OldNamesWarning,
    SeqloomError,
    UsageError,
    disk_full,
    nearest,
)

OLD_NAMES = Path(__file__).parents[1] / "old_names.toml"
INTERRUPTED = 130
MAX_SHOWN = 200  # characters of a name in a message
# What the system refuses by the name of a file or a folder; anything else would be a bug.
BY_MACHINE = {
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.EIO, errno.EMFILE, errno.ENFILE),
}


class Command(NamedTuple):
    """The module of a command, its help line, and an example to copy."""

    module: str
    help: str
    example: str


COMMANDS = {
    "demo": Command("demo", "train a small model in two minutes and see what it learned", "demo"),
    "check": Command("check", "check a data file for problems", "check words.tsv"),
    "train": Command(
        "train",
        "train a model, or resume training",
        "train translate words.tsv -m encoder-decoder",
    ),
    "ladder": Command(
        "ladder",
        "train baselines from simple to large on one file, within a time budget",
        "ladder language novel.txt --max-time 15m",
    ),
    "predict": Command("predict", "run inference on inputs", 'predict my-run "an input"'),
    "translate": Command(
        "predict", "map source sequences to target sequences", 'translate my-run "loom"'
    ),
    "tag": Command("predict", "tag every word of a sentence", 'tag my-run "the cat sees a dog"'),
    "classify": Command("predict", "classify whole texts", 'classify my-run "what a fine day"'),
    "forecast": Command(
        "forecast", "forecast time series", "forecast my-run sales.csv --horizon 12 -o fan.svg"
    ),
    "generate": Command("generate", "continue a prompt", 'generate my-run --prompt "the "'),
    "compose": Command("compose", "generate music", "compose my-run -o chorale.mid"),
    "score": Command(
        "score",
        "compute the probability of sentences",
        'score my-run "an {example|egg-sample} of it"',
    ),
    "stream": Command(
        "stream",
        "run inference online, one token at a time",
        "stream my-run --state here.safetensors",
    ),
    "segment": Command(
        "segment", "segment a time series with a Gaussian HMM", "segment river.csv --states 3"
    ),
    "evaluate": Command(
        "evaluate", "compute a run's metrics on a file", "evaluate my-run test.tsv"
    ),
    "errors": Command("errors", "list a run's most confident errors", "errors my-run test.csv"),
    "compare": Command(
        "compare", "compare runs on the same examples", "compare my-run my-other-run"
    ),
    "inspect": Command(
        "inspect", "show attention, gates and other internals", 'inspect my-run --text "loom"'
    ),
    "attribute": Command(
        "attribute",
        "attribute a prediction to its inputs",
        'attribute my-run --text "what a fine day"',
    ),
    "gradient-flow": Command(
        "gradient_flow",
        "measure gradient flow through time",
        "gradient-flow --cell elman --cell lstm",
    ),
    "studio": Command("studio", "train, compare and inspect models in the browser", "studio"),
    "runs": Command("runs", "list all runs", "runs"),
    "show": Command("show", "show everything about one run", "show my-run"),
    "mix": Command("mix", "interpolate two models", "mix my-run my-other-run"),
    "convert": Command(
        "convert",
        "convert weights to and from PyTorch, n-grams to and from ARPA",
        "convert my-run -o lstm.safetensors",
    ),
    "export": Command(
        "export",
        "export a run as a zip file, or a model for CTranslate2",
        "export my-run -o my-run.zip",
    ),
    "import": Command("import_run", "import a run from a zip file", "import my-run.zip"),
    "rename": Command("rename", "rename a run", "rename my-run my-better-run"),
    "models": Command("models", "list the models and how each is trained", "models"),
    "tasks": Command("tasks", "list the tasks and the files they read", "tasks"),
    "explain": Command("explain", "explain an error code, a model or an option", "explain D011"),
    "doctor": Command("doctor", "report on this computer and this installation", "doctor"),
}
GROUPS = {
    "Train": ("demo", "check", "train", "ladder"),
    "Predict": (
        "predict",
        "translate",
        "tag",
        "classify",
        "forecast",
        "generate",
        "compose",
        "score",
        "stream",
        "segment",
    ),
    "Evaluate": ("evaluate", "errors", "compare"),
    "Inspect": ("inspect", "attribute", "gradient-flow", "studio"),
    "Manage runs": ("runs", "show", "mix", "convert", "export", "import", "rename"),
    "Look up": ("models", "tasks", "explain", "doctor"),
}
EXAMPLES = (
    ("seqloom demo", "learn to pronounce English in two minutes"),
    ("seqloom check words.tsv", "check your file"),
    ("seqloom train translate words.tsv -n my-run", "train a model on it"),
    ('seqloom translate my-run "loom"', "run inference"),
    ('seqloom inspect my-run --text "loom"', "see the attention"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    _replace_unencodable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", OldNamesWarning)
            warnings.showwarning = _show_warning
            code = _run(argv)
        sys.stdout.flush()
        return code
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _report_error(error, argv)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of Seqloom in one line, all others as Python does."""
    if issubclass(category, OldNamesWarning):
        from .terminal import say

        say(f"note: {message}")
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=sys.stderr)


class CommandParser(argparse.ArgumentParser):
    """argparse with an example first and error messages in Seqloom's form."""

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(
            prog=f"seqloom {name}",
            allow_abbrev=False,
            conflict_handler="resolve",  # a command may define --json itself
            formatter_class=_formatter,
        )
        self.name, self.command = name, command

    def format_help(self) -> str:
        """The help line and an example, before argparse's own text."""
        head = f"seqloom {self.name}: {self.command.help}"
        return f"{head}\n\nExample:\n  seqloom {self.command.example}\n\n{super().format_help()}"

    def error(self, message: str) -> NoReturn:
        """Raise a usage error, in the same form as all other errors."""
        raise UsageError("U001", _reworded(message), help=[f"seqloom {self.name} --help"])

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Check for misspelt options, then parse: argparse would report another error first."""
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


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    group = parser.add_argument_group("global options")
    group.add_argument("--json", action="store_true", help="print results as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print results only")
    group.add_argument("--debug", action="store_true", help="print the traceback of an error")
    group.add_argument(
        "--runs-dir",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("SEQLOOM_RUNS") or "runs"),
        help="folder of all runs (default: $SEQLOOM_RUNS, or else runs)",
    )
    group.add_argument(
        "--allow-code",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="allow this Python file of an imported run to be run, now and later",
    )


def help_text() -> str:
    """The text of `seqloom --help`: examples first, then every command."""
    room = max(len(example) for example, _ in EXAMPLES)
    lines = ["seqloom: train, compare and explain sequence models", "", "Examples:"]
    lines += [f"  {example:<{room}}   {about}" for example, about in EXAMPLES]
    width = max(map(len, COMMANDS))
    for group, names in GROUPS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<{width}}  {COMMANDS[name].help}" for name in names]
    lines += ["", "Global options: --json  --quiet  --debug  --runs-dir DIR  --allow-code FILE.py"]
    lines += ["Help on one command: seqloom COMMAND --help"]
    return "\n".join(lines)


def _run(arguments: list[str]) -> int:
    name, rest = _split_command(arguments)
    if name == "help":
        name, rest = (rest[0], ["--help"]) if rest else (None, [])
    if name is None:
        return _without_command(rest)
    if name not in COMMANDS:
        name = _renamed(name)
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
    module.add_arguments(parser)
    add_global_options(parser)
    parser.set_defaults(command=name, verb=name)
    args = parser.parse(rest)
    if args.allow_code:
        from ..runs.code import allow_code

        for file in args.allow_code:
            allow_code(file)
    code: int = module.run(args)
    return code


def _renamed(name: str) -> str:
    """What a command is called now, if it had this name before."""
    for rule in tomllib.loads(OLD_NAMES.read_text(encoding="utf-8"))["commands"]:
        if rule["old"] == name:
            note = f"'seqloom {name}' is now 'seqloom {rule['new']}'"
            warnings.warn(note, OldNamesWarning, stacklevel=2)
            return str(rule["new"])
    return name


def _report_error(error: Exception, arguments: list[str]) -> int:
    """Print an error and return the exit code for it."""
    if isinstance(error, BrokenPipeError):
        _close_stdout()
        return 0
    if isinstance(error, SeqloomError):
        return _print_error(error, arguments)
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return _print_error(_full(error), arguments)
    if isinstance(error, OSError) and error.filename is not None and error.errno in BY_MACHINE:
        return _print_error(_machine_error(error), arguments)
    if _is_out_of_memory(error):
        return _print_error(_out_of_memory(), arguments)
    return _print_bug(error, arguments)


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


def _split_command(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The command, and all other arguments: global options may come before it too."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if arguments[index] in ("--runs-dir", "--allow-code") else 1
    if index >= len(arguments):
        return None, arguments
    return arguments[index], arguments[:index] + arguments[index + 1 :]


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=32)


def _reworded(message: str) -> str:
    """A message of argparse with the short form of the option left out, in plain words."""
    message = re.sub(r"^argument (?:\S+/)?(\S+): ", r"\1: ", message)
    return message.replace("the following arguments are required", "missing argument")


def _replace_unencodable() -> None:
    """Print an escape such as \\u2714 for a character that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def _close_stdout() -> None:
    """Point stdout at /dev/null once its reader is gone: Python flushes it again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _print_error(error: SeqloomError, arguments: list[str]) -> int:
    from ..errors import trace_of
    from .terminal import coloured, say

    word = f"error[{error.code}]"
    say(error.text().replace(word, coloured(word, "red", sys.stderr), 1))
    if "--json" in arguments:
        say(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
    if "--debug" in arguments:
        say(trace_of(error))
    return error.exit_code


def _print_bug(error: Exception, arguments: list[str]) -> int:
    from ..errors import save_report, trace_of
    from .terminal import coloured, say

    path = save_report(error, f"command: {_split_command(arguments)[0]}")
    word = coloured("bug", "red", sys.stderr)
    say(f"{word}: something went wrong inside seqloom (not your fault). Report saved to {path}")
    say("  It has the traceback and the message; please attach it to an issue.")
    if "--json" in arguments:
        problem: dict[str, Any] = {"code": "bug", "problem": str(error), "report": str(path)}
        say(json.dumps({"error": problem}, ensure_ascii=False))
    if "--debug" in arguments:
        say(trace_of(error))
    return 1


def _full(error: OSError) -> MachineError:
    """The error for a full disk, where nothing else has told it: of a file, or of the output."""
    if error.filename is not None:
        return disk_full(Path(os.fsdecode(error.filename)))
    try:
        sys.stdout.flush()
    except OSError:  # what is left in its buffer would fail again when Python ends
        _close_stdout()
    return MachineError(
        "E301",
        "disk full while writing the output",
        help=["free some space, or write to another disk"],
    )


def _machine_error(error: OSError) -> MachineError:
    """The error for a file or a folder that the system does not let us use."""
    name = os.fsdecode(error.filename)
    shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
    return MachineError("E326", f'cannot use "{shown}": {error.strerror}')


def _is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: Python raises MemoryError, torch a RuntimeError."""
    is_torch = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return isinstance(error, MemoryError) or is_torch


def _out_of_memory() -> MachineError:
    return MachineError(
        "E310",
        "out of memory",
        notes=["The batch, the model or the longest sequence does not fit into memory."],
        help=[
            "--set training.batch_size=16   a smaller batch",
            "--set data.max_length=200      reject very long sequences",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
