"""fastText format: lines of a label and a text, separated by a tab or a space.

Labels may have fastText's prefix, __label__NAME; then a line may have several labels, or none.
"""

import re
from collections.abc import Iterable

from .base import LIST_SEPARATOR, BadLine, ParseResult, ReadRequest, Row
from .columns_roles import MAX_LABELS, looks_like_labels

LABEL_PREFIX = "__label__"
# Only spaces and tabs separate a label from its text, which may start with other whitespace.
_SPACED = re.compile(r"[ \t]*([^ \t]+)[ \t]+([^ \t].*)$", re.DOTALL)
_TABBED = re.compile(r"([^\t]*[^ \t][^\t]*)\t+(.*[^ \t].*)$", re.DOTALL)
_PREFIXED = re.compile(rf"\s*{LABEL_PREFIX}(\S+)")


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read label-first lines: one row a line; the roles are a text and its label."""
    result: ParseResult[Row] = ParseResult()
    is_prefixed, is_tabbed = _is_prefixed(lines), _is_tabbed(lines)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            result.blank.append(number)
            continue
        label, text = _prefixed(line) if is_prefixed else _split(line, is_tabbed)
        missing = "text" if not text.strip() else "label" if not label else ""
        if missing and missing not in request.rules.may_be_empty:
            end = len(line)
            mark, note = ((0, 1), "expected a label") if text.strip() else ((end, end + 1), "")
            reason = f"a line of a label and a text has no {missing}"
            result.bad_lines.append(BadLine("D145", number, reason, line, mark, note))
        else:
            result.rows.append(Row(number, (text.strip(), label)))
    return result


def looks_like_fasttext(lines: list[str]) -> bool:
    """Whether lines start with labels: words that repeat as labels do, before texts that do not."""
    if _is_prefixed(lines):
        return True
    labels, texts, is_tabbed = list[str](), set[str](), _is_tabbed(lines)
    kinds: set[str] = set()
    for line in lines:
        if not line.strip():
            continue
        label, text = _split(line, is_tabbed)
        kinds.add(label)
        if len(kinds) > MAX_LABELS:  # most texts end here, after a few lines
            return False
        labels.append(label)
        texts.add(text)
    return looks_like_labels(labels) and len(texts - {""}) > len(kinds)


def is_unambiguous(lines: list[str]) -> bool:
    """Whether the first words cannot be part of the texts: numbers, or prefixed labels."""
    words = (line.split(maxsplit=1)[0] for line in lines if line.strip())
    return _is_prefixed(lines) or all(word.isdigit() for word in words)


def _is_prefixed(lines: Iterable[str]) -> bool:
    are_prefixed = [line.lstrip().startswith(LABEL_PREFIX) for line in lines if line.strip()]
    return 2 * sum(are_prefixed) > len(are_prefixed)


def _is_tabbed(lines: Iterable[str]) -> bool:
    return all("\t" in line.strip() for line in lines if line.strip())


def _prefixed(line: str) -> tuple[str, str]:
    """The labels with a prefix, and the text after the last of them."""
    labels = []
    while found := _PREFIXED.match(line):
        labels.append(found[1])
        line = line[found.end() :]
    return LIST_SEPARATOR.join(labels), line


def _split(line: str, is_tabbed: bool) -> tuple[str, str]:
    """The label and the text; a label before a tab may have several words."""
    found = (_TABBED if is_tabbed else _SPACED).match(line)
    return (found[1].strip(), found[2]) if found else (line.strip(), "")
