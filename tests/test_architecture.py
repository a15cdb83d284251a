"""The architecture, as assertions: layers import only downwards, files stay short."""

import ast
from pathlib import Path

import pytest

from seqloom.models import MODELS

ROOT = Path(__file__).parent.parent / "src" / "seqloom"
LAYERS = [  # lowest first; names in one set may not import each other
    {"errors", "signature", "trace"},
    {"config", "batch"},
    {"prediction"},
    {"statistical", "metrics", "views", "data"},
    {"nn"},
    {"model", "task"},
    {"decoding"},
    {"models", "tasks", "evaluation"},
    {"training"},
    {"inference"},
    {"inspection"},
    {"recipe"},
    {"runs"},
    {"experiments", "export", "examples"},
    {"server"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted(ROOT.rglob("*.py"))
EVERYTHING = [
    p for d in ("src", "tests", "benchmarks") for p in ROOT.parent.parent.joinpath(d).rglob("*.py")
]
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc"}


def layers_imported(path: Path):
    """The layers a file imports, by its relative imports."""
    here = path.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = len(here) - node.level
            if above > 0:
                yield here[0].removesuffix(".py")
            elif node.module:
                yield node.module.split(".")[0]
            else:
                yield from (name.name for name in node.names)


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    for other in layers_imported(path):
        assert other == layer or LEVEL[other] < LEVEL[layer], f"{layer} must not import {other}"


def test_every_file_is_in_a_layer():
    assert {layer_of(path) for path in FILES} - {"__init__", "__main__"} == LEVEL.keys()


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda p: str(p.relative_to(ROOT.parent.parent)))
def test_files_stay_short_and_well_named(path):
    assert len(path.read_text().splitlines()) <= 600
    assert path.stem not in FORBIDDEN


@pytest.mark.parametrize("name", MODELS)
def test_inheritance_stays_shallow(name):
    """Nothing stands between a model and what all models share but one family."""
    kinds = [kind for kind in MODELS[name].__mro__ if kind.__module__.startswith("seqloom.models")]
    assert len(kinds) <= 3, kinds
