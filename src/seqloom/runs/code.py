"""Python files of a run: the user's own model or task, kept in its folder and run only with leave.

A recipe may name a class in a Python file, as `model.py:Model`. Training copies the file into the
run folder: the run then works from any folder, with the code that its weights belong to. Code that
lies in a run folder is run if its SHA-256 digest is known on this account, which training and
`--allow-code` see to. So an imported run, or a folder from somebody else, runs nothing by itself.
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from ..errors import MachineError, ModelError, UsageError
from ..recipe import Recipe
from ..task import Task
from ..training.files import write_whole
from .names import RECIPE, file_argument

KNOWN = Path("seqloom") / "allowed-code.txt"  # a line for each file: its digest and its name


def run_recipe(folder: Path) -> Recipe:
    """The recipe of a run, to build its task and model; an error if its code is not allowed."""
    recipe = Recipe.read(folder / RECIPE)
    _require_allowed(folder, recipe)
    return recipe


def run_task(folder: Path) -> Task:
    """The task of a run, without vocabularies; code of its model is not needed for it."""
    recipe = replace(Recipe.read(folder / RECIPE), model={})
    _require_allowed(folder, recipe)
    return recipe.build_task()


def keep_code(folder: Path, recipe: Recipe) -> Recipe:
    """Copy the Python files of a recipe into a run folder; the recipe as it is saved there."""
    kept: dict[str, Path] = {}
    for file in recipe.code_files():
        if kept.setdefault(file.name, file) != file:
            raise UsageError(
                "U003",
                f"{kept[file.name]} and {file} have one name, and are kept in one folder",
                help=["rename one of the two files"],
            )
    for name, file in kept.items():
        allow_code(file)
        if file.resolve() != (folder / name).resolve():
            write_whole(folder / name, file.read_bytes())
    return recipe.with_code(lambda file: Path(file.name))


def allow_code(file: Path) -> None:
    """Allow this Python file to be run as part of a run, with its present content."""
    try:
        digest = digest_of(file)
    except OSError as error:
        raise UsageError("U003", f"cannot find the Python file {str(file)!r}") from error
    if digest in _known():
        return
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as known:
            known.write(f"{digest}  {file.name!r}\n")
    except OSError as error:
        raise MachineError(
            "E302",
            f"cannot write {str(path)!r}: {error.strerror or error}",
            notes=["It lists the Python files that runs may execute."],
            help=["XDG_DATA_HOME=FOLDER   keeps it in another folder"],
        ) from error


def digest_of(file: Path) -> str:
    """The SHA-256 digest of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _path() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / KNOWN


def _known() -> frozenset[str]:
    """The digests of all files that may be run."""
    try:
        text = _path().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(line.split()[0] for line in text.splitlines() if line.strip())


def _require_allowed(folder: Path, recipe: Recipe) -> None:
    known = _known() if recipe.code_files() else frozenset()
    for file in recipe.code_files():
        if file.is_file() and digest_of(file) not in known:
            raise _not_allowed(folder, file)


def _not_allowed(folder: Path, file: Path) -> ModelError:
    return ModelError(
        "M184",
        f"{folder} has Python code, {file.name}, that nobody here has allowed to run",
        notes=[
            "The run was imported or copied, or the file was changed.",
            "Code can do everything on this computer that you can do.",
            f"sha256 {digest_of(file)}",
        ],
        help=[
            f"read {file} first",
            f"--allow-code {file_argument(file)}   allows it, for this command and all later ones",
        ],
    )
