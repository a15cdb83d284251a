"""What the documents say is so: every block runs, every link leads somewhere, every command exists."""

import ast
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from seqloom.cli.main import COMMANDS, OLD_NAMES
from seqloom.recipe import Recipe

from . import warm

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
SHELL, PYTHON = {"sh", "console"}, {"python"}
NOT_HERE = re.compile(r"\s*(make|git|source)\b")  # they set up, or run, what runs this test


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it begins on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found, begun = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        if begun is None and line.startswith("```"):
            begun, language, lines = number, line[3:].strip(), []
        elif begun is not None and line == "```":
            found.append(Block(language, "".join(lines), begun))
            begun = None
        elif begun is not None:
            lines.append(line + "\n")
    assert begun is None, f"{page.name}:{begun}: a block that never ends"
    return found


def script(block: Block) -> str:
    """The commands of a block, without those that set up what runs this test."""
    lines = block.text.split("\n")
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return "\n".join(line for line in lines if not NOT_HERE.match(line))


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def that_run(page: Path) -> bool:
    return any(
        b.language in PYTHON or (b.language in SHELL and script(b).strip()) for b in blocks(page)
    )


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The folder of a `seqloom` that has imported already what commands need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        with warm.ready(tmp_path_factory.mktemp("warm")) as folder:
            yield folder


@pytest.mark.parametrize("page", [p for p in PAGES if that_run(p)], ids=name)
def test_every_block_runs(page, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    installed = Path(sys.executable).parent
    # The first page of all is run by what is installed, as its readers do.
    first = [installed] if page.name == "README.md" else [command, installed]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, first), os.environ["PATH"]]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("SEQLOOM_RUNS", raising=False)
    names = {"__name__": "__main__"}
    for block in blocks(page):
        place = f"{name(page)}:{block.line}"
        if block.language in PYTHON:
            exec(compile("\n" * block.line + block.text, place, "exec"), names)
        elif block.language in SHELL and script(block).strip():
            done = subprocess.run(
                ["sh", "-eu", "-c", script(block)], capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, f"{place}\n{done.stdout}\n{done.stderr}"


@every_page
def test_every_block_has_a_language(page):
    without = [block.line for block in blocks(page) if not block.language]
    assert not without, f"{name(page)}: say sh, console, python, toml, diff or text: {without}"


@every_page
def test_every_command_exists(page):
    code = [block.text for block in blocks(page) if block.language != "diff"]
    code += re.findall(r"`([^`\n]+)`", prose(page))
    named = {
        command
        for text in code
        for command in re.findall(r"(?:^|[\s(/|])seqloom ([a-z][a-z-]*)", text, re.MULTILINE)
    }
    before = {rule["old"] for rule in tomllib.loads(OLD_NAMES.read_text())["commands"]}
    is_history = page.name == "CHANGELOG.md" or page.parent.name == "decisions"
    assert named <= COMMANDS.keys() | {"help"} | (before if is_history else set())


@every_page
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        assert "://" not in link, f"{link}: pages speak of what is here"
        file, _, heading = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file(), f"{name(page)}: {link}"
        assert ROOT in target.parents
        if heading:
            titles = re.findall(r"^#+ (.+)$", prose(target), re.MULTILINE)
            assert heading in {slug(title) for title in titles}, f"{name(page)}: {link}"


@every_page
def test_every_name_that_is_linked_is_in_its_file(page):
    for name_of, link in re.findall(r"\[`([\w.]+)`\]\(([^)\s#]+\.py)\)", prose(page)):
        text = (page.parent / link).resolve().read_text(encoding="utf-8")
        last = re.escape(name_of.split(".")[-1])
        defined = re.search(rf"^\s*(def|class) {last}\b|^{last}\b.* = ", text, re.MULTILINE)
        assert defined or link.endswith(name_of), f"{name(page)}: {name_of} is not in {link}"


def slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@every_page
def test_recipes_in_pages_are_right(page):
    for block in blocks(page):
        if block.language == "toml":
            Recipe.of_tables(tomllib.loads(block.text), name(page)).checked()


def test_every_term_of_the_glossary_is_found_in_the_source():
    glossary = script_named("glossary")
    terms = glossary.terms()
    assert len({term.name for term in terms}) == len(terms) >= 120
    assert not [term.name for term in terms if not glossary.place(term)]


def test_the_options_are_up_to_date():
    pages = script_named("option_pages")
    assert pages.TARGET.read_text(encoding="utf-8") == pages.text(), "run make docs"


def script_named(stem: str):
    spec = importlib.util.spec_from_file_location(stem, ROOT / "scripts" / f"{stem}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WALKS = [block for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "diff"]
TRIED = {
    "single": ["tests/contracts/test_models.py", "tests/nn"],
    "fading": ["tests/contracts"],
    "spaces": ["tests/contracts/test_tasks.py"],
}


@pytest.fixture(params=list(zip(TRIED, WALKS, strict=True)), ids=list(TRIED))
def walked(request, tmp_path):
    """A copy of the code with the diff of a walk-through applied."""
    word, block = request.param
    for folder in ("src", "tests"):
        skip = shutil.ignore_patterns("__pycache__", "*.egg-info", ".mypy_cache")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    settings = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    done = subprocess.run(
        ["git", "apply", "-"],
        input=block.text,
        text=True,
        cwd=tmp_path,
        env=settings,
        capture_output=True,
    )
    assert done.returncode == 0, f"CONTRIBUTING.md:{block.line}: {done.stderr}"
    return word, tmp_path


def test_walk_throughs_apply(walked):
    word, folder = walked
    (added,) = [p for p in (folder / "src").rglob("*.py") if word in p.stem]
    for node in ast.walk(ast.parse(added.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = added.relative_to(folder / "src").parent.parts
            place = ".".join([*place[: len(place) - node.level + 1], *node.module.split(".")])
            module = importlib.import_module(place)
            assert all(hasattr(module, alias.name) for alias in node.names), place


@pytest.mark.slow
def test_walk_throughs_keep_the_contracts(walked):
    word, folder = walked
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", word, *TRIED[word]]
    settings = os.environ | {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
