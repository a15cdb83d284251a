"""Entry point of the command line: help, exit codes, error messages, light starts."""

import json
import os
import resource
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from seqloom.cli import main as command_line
from seqloom.cli.main import COMMANDS, GROUPS, OLD_NAMES, Command, main

SCRIPT = "import sys; from seqloom.cli.main import main; code = main(sys.argv[1:]);"


@pytest.fixture
def own(monkeypatch):
    """A command that does what the test says."""

    def make(run, add=lambda parser: None):
        module = types.ModuleType("seqloom.cli.commands.own")
        module.add_arguments, module.run = add, run
        monkeypatch.setitem(sys.modules, "seqloom.cli.commands.own", module)
        monkeypatch.setitem(COMMANDS, "own", Command("own", "does what a test says", "own"))

    return make


def raises(error):
    def run(given):
        raise error

    return run


def test_help_is_light():
    heavy = "print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules], file=sys.stderr)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + heavy, "--help"], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.strip() == "[]"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.2


@pytest.mark.parametrize("rule", tomllib.loads(OLD_NAMES.read_text())["commands"], ids=str)
def test_old_names_of_commands_lead_to_the_new_ones(rule, capsys):
    assert main([rule["old"], "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"seqloom {rule['new']}: ")
    assert shown.err == f"note: 'seqloom {rule['old']}' is now 'seqloom {rule['new']}'\n"


def test_a_mistyped_command_loads_no_numpy():
    heavy = "print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{SCRIPT} {heavy}", "trian"], capture_output=True, text=True
    )
    assert "did you mean:  seqloom train" in done.stderr
    assert done.stdout.strip() == "[]"


def test_help_has_examples_first_and_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("Examples:") < text.index("Train:") < text.index("Look up:")
    assert [name for names in GROUPS.values() for name in names] == list(COMMANDS)
    assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_nothing_asked_is_help(arguments, capsys):
    assert main(arguments) == 0
    assert "Examples:" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["train", "--help"], ["help", "train"], ["--help", "train"]])
def test_help_of_a_command(arguments, capsys):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert text.index("Example:") < text.index("usage:")
    assert "--runs-dir" in text


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("seqloom 0")


def test_unknown_command(capsys):
    assert main(["trian"]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error[U001]: there is no command 'trian'")
    assert "did you mean:  seqloom train" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["train", "--modle", "x"],
            ["has no option --modle", "did you mean --model?", "seqloom train --help"],
        ),
        (["train", "--max-tme=3m"], ["did you mean --max-time?"]),
        (["train", "--format", "xml"], ["--format: invalid choice: 'xml'"]),
        (["train", "--seed", "one"], ["--seed: invalid int value: 'one'"]),
        (["models", "tag", "b"], ["unrecognized arguments: b"]),
        (["check"], ["missing argument: FILE"]),
        (["--frob"], ["no command before --frob"]),
    ],
)
def test_mistakes_in_options(arguments, words, capsys):
    assert main(arguments) == 2
    text = capsys.readouterr().err
    assert text.startswith("error[U001]: ")
    assert all(word in text for word in words), text
    assert "Traceback" not in text
    assert "usage:" not in text


def test_options_for_everywhere_stand_before_or_after(own, capsys):
    own(lambda given: print(given.command, given.json, given.quiet, given.runs_dir) or 0)
    assert main(["--json", "--runs-dir", "there", "own", "-q"]) == 0
    assert capsys.readouterr().out == "own True True there\n"


def test_runs_folder_from_the_environment(own, monkeypatch, capsys):
    monkeypatch.setenv("SEQLOOM_RUNS", "elsewhere")
    own(lambda given: print(given.runs_dir) or 0)
    main(["own"])
    assert capsys.readouterr().out == "elsewhere\n"


def test_a_command_may_have_json_of_its_own(own):
    own(
        lambda given: 7 if given.json else 0,
        lambda parser: parser.add_argument("--json", action="store_true"),
    )
    assert main(["own", "--json"]) == 7


def test_error_as_json(capsys):
    assert main(["trian", "--json"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert json.loads(last)["error"]["code"] == "U001"


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")]
)
def test_out_of_memory(error, own, capsys):
    own(raises(error))
    assert main(["own"]) == 6
    assert capsys.readouterr().err.startswith("error[E310]: out of memory")


def test_interrupted(own, capsys):
    own(raises(KeyboardInterrupt()))
    assert main(["own"]) == 130
    assert capsys.readouterr().err == ""


def test_bug_report(own, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    own(raises(ZeroDivisionError("so it is")))
    assert main(["own"]) == 1
    text = capsys.readouterr().err
    assert text.startswith(
        "bug: something went wrong inside seqloom (not your fault). Report saved to "
    )
    assert "Traceback" not in text
    (report,) = (tmp_path / ".cache" / "seqloom").glob("crash-*.txt")
    assert str(report) in text
    assert "ZeroDivisionError: so it is" in report.read_text()


def test_bug_report_without_a_home(own, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    own(raises(ZeroDivisionError()))
    assert main(["own", "--debug"]) == 1
    text = capsys.readouterr().err
    assert "Traceback" in text
    place = Path(text.splitlines()[0].rpartition(" ")[2])
    assert place.is_file()
    place.unlink()


def test_closed_pipe_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    code = SCRIPT + "sys.exit(code)"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_encoding_is_too_poor(own):
    code = "import sys; from seqloom.cli.terminal import mark, show; import seqloom.cli.main as m; m._replace_unencodable();"
    code += "show(mark('good', sys.stdout) + ' ✔')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert done.stdout == b"+ \\u2714\n"


def test_no_colour_but_on_a_terminal(monkeypatch, capsys):
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    command_line.main(["trian"])
    assert capsys.readouterr().err.startswith("\033[31merror[U001]\033[0m: ")
    monkeypatch.setenv("NO_COLOR", "1")
    command_line.main(["trian"])
    assert capsys.readouterr().err.startswith("error[U001]: ")
