"""Runs of the user's own Python files: kept in the run, working from any folder, run only with leave."""

import shutil
import zipfile
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import ModelError, UsageError
from seqloom.recipe import Recipe
from seqloom.runs.code import allow_code, digest_of, run_recipe
from seqloom.runs.package import pack, unpack
from seqloom.runs.record import read_record

from ..conftest import write_data

MODEL = '''
"""A unigram with a mark wherever it is run."""

from pathlib import Path

from seqloom.models.ngram import NGram

Path({mark!r}).write_text("run")


class Mine(NGram):
    """Mine.

    Args:
        order: The order.
    """

    def __init__(self, signature, *, order: int = 1) -> None:
        super().__init__(signature, order=order)
'''
TEXT = "the cat sees a dog"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder to work in, and an account that has allowed nothing yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "account"))
    folder = tmp_path / "home"
    folder.mkdir()
    write_data(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


@pytest.fixture
def trained(home, mark):
    """A run of an own model, trained in its folder."""
    (home / "own.py").write_text(MODEL.format(mark=str(mark)))
    assert (
        main(["train", "language", "text.txt", "-m", "own.py:Mine", "-q", "--name", "first"]) == 0
    )
    mark.unlink()
    return home / "runs" / "first"


def another_account(tmp_path, monkeypatch, trained):
    """The run as a zip file, on an account of somebody else, in another folder."""
    file = tmp_path / "first.zip"
    with file.open("wb") as into:
        pack(trained, into)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other account"))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    return file


def test_it_works_from_any_folder_and_after_the_file_has_changed(
    trained, tmp_path, monkeypatch, capsys
):
    want = seqloom.load(trained).score([TEXT])[0].log_prob
    Path("own.py").unlink()
    monkeypatch.chdir(tmp_path)
    assert seqloom.load(trained).score([TEXT])[0].log_prob == want
    assert main(["show", str(trained)]) == 0
    assert "language with own.py:Mine" in capsys.readouterr().out
    assert main(["evaluate", str(trained), "-q"]) == 0
    assert main(["train", "--resume", str(trained), "-q"]) == 0
    assert 'name = "own.py:Mine"' in (trained / "recipe.toml").read_text()
    assert digest_of(trained / "own.py") in (trained / "card.md").read_text()
    assert not (trained / "__pycache__").exists()


def test_an_import_runs_nothing_until_the_file_is_named(
    trained, mark, tmp_path, monkeypatch, capsys
):
    file = another_account(tmp_path, monkeypatch, trained)
    assert main(["import", str(file), "--name", "theirs"]) == 0
    assert "note: it has code of its own, which has not been run: runs/theirs/own.py" in (
        capsys.readouterr().err
    )
    for command in (["show"], ["score", TEXT], ["evaluate", "text.txt"], ["train", "--resume"]):
        words = (
            [*command[:2], "theirs"]
            if "--resume" in command
            else [command[0], "theirs", *command[1:]]
        )
        code = main(words)
        said = capsys.readouterr().err
        assert code == (0 if command == ["show"] else 4), said
        if code:
            assert said.startswith("error[M184]: runs/theirs has Python code, own.py, that nobody")
            assert "help: --allow-code runs/theirs/own.py" in said
    with pytest.raises(ModelError, match="M184"):
        seqloom.load("theirs")
    assert main(["runs"]) == 0 and not mark.exists()
    assert main(["score", "theirs", TEXT, "--allow-code", "runs/theirs/own.py"]) == 0
    assert mark.exists()
    assert main(["score", "theirs", TEXT]) == 0, "it is remembered"


def test_a_file_that_was_changed_is_asked_for_again(trained, mark):
    with (trained / "own.py").open("a") as code:
        code.write("# changed\n")
    with pytest.raises(ModelError, match="M184"):
        seqloom.load(trained)
    with pytest.raises(ModelError, match="M184"):
        seqloom.resume(trained)
    assert not mark.exists()
    allow_code(trained / "own.py")
    assert seqloom.load(trained).score([TEXT])


def test_bytecode_of_other_source_is_not_run(trained, mark):
    evil = trained.parent / "evil.py"
    evil.write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).write_text('evil')\nclass Mine: pass\n"
    )
    import importlib.util
    import py_compile

    own = trained / "own.py"
    cached = Path(importlib.util.cache_from_source(str(own)))
    cached.parent.mkdir()
    py_compile.compile(
        str(evil), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    seqloom.load(trained)
    assert "evil" not in mark.read_text()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"first/other.py": b"1"}, "it holds 'other.py', which is no part of a run"),
        ({"first/own.py": None}, "it needs the code of own.py, which is not in the file"),
        ({"first/own.py": b"#" * (1 << 20) + b"#"}, "own.py in it is too large"),
    ],
)
def test_archives_with_other_code_are_refused(trained, mark, tmp_path, monkeypatch, change, why):
    file = another_account(tmp_path, monkeypatch, trained)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | change
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            if content is not None:
                archive.writestr(name, content)
    with pytest.raises(UsageError, match="U052") as refused:
        unpack(file, Path("runs"))
    assert why in str(refused.value) and not mark.exists() and not list(Path("runs").iterdir())


@pytest.mark.parametrize("name", ["../own.py:Mine", "code/own.py:Mine", "/etc/own.py:Mine"])
def test_archives_that_name_code_elsewhere_are_refused(trained, mark, tmp_path, monkeypatch, name):
    file = another_account(tmp_path, monkeypatch, trained)
    with zipfile.ZipFile(file) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    parts["first/recipe.toml"] = parts["first/recipe.toml"].replace(b"own.py:Mine", name.encode())
    with zipfile.ZipFile(file, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    with pytest.raises(UsageError, match="which is not in the file"):
        unpack(file, Path("runs"))
    assert not mark.exists()


def test_a_folder_that_names_a_file_of_the_current_folder_runs_nothing(
    trained, mark, tmp_path, monkeypatch
):
    another_account(tmp_path, monkeypatch, trained)
    theirs = tmp_path / "there" / "runs" / "theirs"
    shutil.copytree(trained, theirs)
    (theirs / "own.py").rename("own.py")
    with pytest.raises(ModelError, match="--allow-code own.py"):
        seqloom.load("theirs")
    assert not mark.exists()


def test_files_of_one_name_in_one_run_are_refused(home, tmp_path):
    from seqloom.runs.code import keep_code

    for folder in ("a", "b"):
        (home / folder).mkdir()
        (home / folder / "own.py").write_text("class Mine: pass\n")
    recipe = Recipe(task={"name": "a/own.py:Mine"}, model={"name": "b/own.py:Mine"})
    with pytest.raises(UsageError, match="have one name"):
        keep_code(tmp_path, recipe)


def test_a_recipe_finds_code_beside_it(home, mark, tmp_path, monkeypatch):
    (home / "own.py").write_text(MODEL.format(mark=str(mark)))
    (home / "mine.toml").write_text('[model]\nname = "own.py:Mine"\n')
    monkeypatch.chdir(tmp_path)
    assert Recipe.read(home / "mine.toml").code_files() == [home / "own.py"]
    monkeypatch.chdir(home)
    (home / "recipes").mkdir()
    (home / "mine.toml").rename("recipes/mine.toml")
    assert Recipe.read(Path("recipes/mine.toml")).code_files() == [Path("own.py")], "as before"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nothing_like_it\n", ["ModuleNotFoundError", "own.py:1", "PYTHONPATH"]),
        ("x = 1\n1 / 0\n", ["ZeroDivisionError", "own.py:2"]),
        ("def f(:\n", ["SyntaxError", "own.py:1"]),
    ],
)
def test_a_file_that_fails_is_named_with_its_line(home, source, words, capsys):
    (home / "own.py").write_text(source)
    assert main(["train", "language", "text.txt", "-m", "own.py:Mine"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[U003]: own.py cannot be run: ") and "Traceback" not in said
    assert all(word in said for word in words), said
    assert not (home / "runs").exists()


def test_the_recipe_of_a_run_names_what_is_kept(trained):
    assert run_recipe(trained).code_files() == [trained / "own.py"]
    assert read_record(trained).model == "own.py:Mine"
