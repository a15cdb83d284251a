"""Show where each term of docs/glossary.md is in the source, as `git grep` would find it.

python scripts/glossary.py          every term, with the docstring that names it
python scripts/glossary.py "beam"   the terms that have this in their name

A row of the page is a term, its meaning in one line, and a link to a file. The term must be in a
docstring of that file, of the module, a class or a function; first lines are looked at first.
"""

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "glossary.md"
ROW = re.compile(r"\| (?P<term>[^|]+?) \| (?P<meaning>[^|]+?) \| \[`[^`]+`\]\((?P<link>[^)]+)\) \|")


class Term(NamedTuple):
    """A row of the glossary."""

    name: str
    meaning: str
    file: Path


def terms() -> list[Term]:
    """The rows of the page, in its order."""
    rows = [
        match
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if (match := ROW.fullmatch(line))
    ]
    return [
        Term(row["term"], row["meaning"], (PAGE.parent / row["link"]).resolve()) for row in rows
    ]


def docstrings(file: Path) -> list[tuple[bool, int, str]]:
    """The lines of all docstrings of a file with their numbers, first lines of docstrings first."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False)
            start = node.body[0].lineno if text is not None else 0
            lines = enumerate((text or "").split("\n"))
            found += [(number > 0, start + number, line.strip()) for number, line in lines]
    return sorted(found)


def place(term: Term) -> str:
    """The docstring line that names a term, as path:line: text; empty if there is none."""
    wanted = re.compile(rf"\b{re.escape(_plain(term.name))}")
    for _, number, line in docstrings(term.file) if term.file.is_file() else ():
        if wanted.search(_plain(line)):
            return f"{term.file.relative_to(ROOT)}:{number}: {line}"
    return ""


def _plain(text: str) -> str:
    """In small letters, without what is written in different ways: hyphens, and _ in options."""
    return re.sub(r"[-_]", " ", text.lower())


def main(asked: str) -> int:
    """Print the terms and their places; 1 if one has no place."""
    found = [(term, place(term)) for term in terms() if asked.lower() in term.name.lower()]
    for term, line in found:
        print(f"{term.name:32} {line or f'NOT FOUND in {term.file.relative_to(ROOT)}'}")
    return int(not all(line for _, line in found))


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
