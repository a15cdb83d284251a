"""The bugs that scripts/mutants.py plants: of every kind, in code alone, and noticed by tests that look."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "mutants.py"

SOURCE = '''"""Words: 1 + 1."""


def gain(before: int, after: int = 3) -> int:
    """At most 7."""
    if before < after and after:
        return max(before, 2) - shift(after, by=before)
    raise ValueError(f"{before + 1}")
'''

PLANTED = {
    "3 -> 4",
    "before < after and after -> (not (before < after and after))",
    "before < after and after -> (before < after or after)",
    "before < after and after -> (after)",
    "before < after and after -> (before < after)",
    "before < after -> (before <= after)",
    "max(before, 2) - shift(after, by=before) -> (max(before, 2) + shift(after, by=before))",
    "max -> min",
    "2 -> 3",
    "shift(after, by=before) -> (shift(after))",
}


@pytest.fixture
def mutants(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutants", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "gain.py").write_text(SOURCE)
    return module


def test_bugs_of_every_kind_are_planted_in_code_alone(mutants):
    found = mutants.mutants_of("src/gain.py")
    assert {f"{m.before} -> {m.after}" for m in found} == PLANTED


def test_a_planted_bug_changes_its_place_and_nothing_else(mutants):
    (mutant,) = (m for m in mutants.mutants_of("src/gain.py") if m.before == "3")
    assert mutants.planted(mutant) == SOURCE.replace("int = 3", "int = 4")


def test_rooms_name_files_and_tests_that_are_there_and_accepted_survivors_still_stand():
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    rooms, accepted = module.read_places()
    files = [file for room in rooms for file in room.files]
    assert all(room.files and room.tests for room in rooms) and len(files) == len(set(files))
    assert all((module.ROOT / test).exists() for room in rooms for test in room.tests)
    made = {file: {m.key() for m in module.mutants_of(file)} for file in {a.file for a in accepted}}
    assert all(a.key() in made[a.file] and a.why for a in accepted)
