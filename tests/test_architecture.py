"""The architecture, as assertions: imports point down, nothing is circular, files stay short.

The layers are said once, in docs/architecture.md, and read from there.
"""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import seqloom
from seqloom.models import MODELS

REPOSITORY = Path(__file__).parent.parent
ROOT = REPOSITORY / "src" / "seqloom"
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {path.relative_to(ROOT).with_suffix("").parts: path for path in FILES}
EVERYTHING = [
    p for d in ("src", "tests", "benchmarks") for p in REPOSITORY.joinpath(d).rglob("*.py")
]
FORBIDDEN = {"utils", "util", "helpers", "helper", "misc"}


def layers() -> dict[str, tuple[int, int, int]]:
    """Each name at the root with its layer, its group in that layer, and its place in the group.

    `a · b` in a row: b may import a. `a | b`: neither may import the other.
    """
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    rows = page.partition("```text\n")[2].partition("```")[0].splitlines()
    found = {}
    for number, row in enumerate(rows):
        for group, names in enumerate(re.sub(r"^\s*\d+\s+", "", row).split("|")):
            for place, name in enumerate(names.split("·")):
                found[name.strip()] = number, group, place
    return found


LAYERS = layers()


def may_import(upper: str, lower: str) -> bool:
    (layer, group, place), (below, beside, before) = LAYERS[upper], LAYERS[lower]
    return below < layer or (below == layer and beside == group and before < place)


def imports(path: Path, everywhere: bool = True):
    """The modules of ours that a file imports, as parts of their names below the root."""
    here = path.relative_to(ROOT).parts
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (
                *here[: len(here) - node.level],
                *(node.module.split(".") if node.module else ()),
            )
            for name in node.names:
                yield base, name.name


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    for base, name in imports(path):
        other = base[0] if base else name
        assert other == layer or may_import(layer, other), f"{layer} must not import {other}"


def test_there_are_eleven_layers_and_every_file_is_in_one():
    assert len({layer for layer, _, _ in LAYERS.values()}) == 11
    assert {layer_of(path) for path in FILES} - {"__init__", "__main__"} == LAYERS.keys()


def test_layers_are_compared_as_the_page_says():
    assert may_import("nn", "statistical") and not may_import("statistical", "nn")
    assert may_import("runs", "recipe") and not may_import("recipe", "runs")
    assert not may_import("models", "tasks") and not may_import("tasks", "models")


def test_no_module_imports_itself_by_way_of_others():
    """Not even by way of a package, whose __init__ runs before any module in it."""
    graph = {}
    for parts, path in MODULES.items():
        found = set()
        for base, name in imports(path, everywhere=False):
            for other in ((*base, name), base, (*base, name, "__init__"), (*base, "__init__")):
                if other in MODULES and other != parts:
                    found.add(other)
                    break
        graph[parts] = found - {(*parts[:-1], "__init__")}
    order = list(TopologicalSorter(graph).static_order())
    assert len(order) == len(MODULES)


def test_a_cycle_would_be_found():
    assert sum(1 for path in FILES for _ in imports(path, everywhere=False)) > 2000


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_files_stay_short_and_well_named(path):
    assert len(path.read_text().splitlines()) <= 600
    assert path.stem not in FORBIDDEN


@pytest.mark.parametrize("name", MODELS)
def test_inheritance_stays_shallow(name):
    """Nothing stands between a model and what all models share but one family."""
    kinds = [kind for kind in MODELS[name].__mro__ if kind.__module__.startswith("seqloom.models")]
    assert len(kinds) <= 3, kinds


def test_public_names_are_typed_where_they_are():
    """What type checkers read of `import seqloom` is what is imported when it is used."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert {node.names[0].asname: node.module for node in typed.body} == seqloom._PLACES
    assert all(getattr(seqloom, name) is not None for name in seqloom.__all__)
