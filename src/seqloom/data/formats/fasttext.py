"""Lines of a label and a text: the label first, then a tab or a space.

fastText writes its labels as __label__NAME; a line may then have several of them, or none.
"""

import re

from .base import LISTED, Fault, Reading, Request, Row
from .columns_roles import has_few_kinds

MARK = "__label__"
# Only spaces and tabs part a label from its text: a text may begin with other blanks of Unicode.
_FIRST = re.compile(r"[ \t]*([^ \t]+)[ \t]+([^ \t].*)$", re.DOTALL)
_TABBED = re.compile(r"([^\t]*[^ \t][^\t]*)\t+(.*[^ \t].*)$", re.DOTALL)
_MARKED = re.compile(rf"\s*{MARK}(\S+)")


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One row a line; the roles are a text and its label, in that order."""
    reading: Reading[Row] = Reading()
    is_marked, is_tabbed = _is_marked(lines), _is_tabbed(lines)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            reading.blank.append(number)
            continue
        label, text = _marked(line) if is_marked else _parted(line, is_tabbed)
        missing = "text" if not text.strip() else "label" if not label else ""
        if missing and missing not in request.rules.empty:
            end = len(line)
            mark, note = ((0, 1), "expected a label") if text.strip() else ((end, end + 1), "")
            reason = f"a line of a label and a text has no {missing}"
            reading.faults.append(Fault("D145", number, reason, line, mark, note))
        else:
            reading.rows.append(Row(number, (text.strip(), label)))
    return reading


def fits(lines: list[str]) -> bool:
    """Whether lines begin with labels: words that repeat as labels do, before texts that do not."""
    written = [line for line in lines if line.strip()]
    if _is_marked(written):
        return True
    parted = [_parted(line, _is_tabbed(written)) for line in written]
    labels, texts = [label for label, _ in parted], [text for _, text in parted if text]
    return has_few_kinds(labels) and len(set(texts)) > len(set(labels)) and bool(texts)


def is_plain(lines: list[str]) -> bool:
    """Whether nobody could take the first words for part of a text: numbers, or fastText's."""
    written = [line for line in lines if line.strip()]
    return _is_marked(written) or all(line.split(maxsplit=1)[0].isdigit() for line in written)


def _is_marked(lines: list[str]) -> bool:
    written = [line for line in lines if line.strip()]
    return 2 * sum(line.lstrip().startswith(MARK) for line in written) > len(written)


def _is_tabbed(lines: list[str]) -> bool:
    written = [line for line in lines if line.strip()]
    return all("\t" in line.strip() for line in written)


def _marked(line: str) -> tuple[str, str]:
    """All labels with the mark before them, and what stands after the last."""
    labels = []
    while found := _MARKED.match(line):
        labels.append(found[1])
        line = line[found.end() :]
    return LISTED.join(labels), line


def _parted(line: str, is_tabbed: bool) -> tuple[str, str]:
    """The label and the text; a label before a tab may have several words."""
    found = (_TABBED if is_tabbed else _FIRST).match(line)
    return (found[1].strip(), found[2]) if found else (line.strip(), "")
