"""Treebank files: bracketed trees, one a line, as in the Stanford Sentiment Treebank.

(3 (2 It) (4 (2 's) (3 good)))     the label of the root is that of the text, its words are leaves
"""

import re

from .base import BadLine, ParseResult, ReadRequest, Row

_ROOT = re.compile(r"\s*\((\S+)\s+(?=\S)")
_LEAF = re.compile(r"\(\S+\s+([^()\s]+)\s*\)")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read trees: one row a line; the roles are a text and its label."""
    result: ParseResult[Row] = ParseResult()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            result.blank.append(number)
            continue
        root, leaves = _ROOT.match(line), _LEAF.findall(line)
        if root is None or not leaves or line.count("(") != line.count(")"):
            reason = "the brackets of this tree do not match"
            result.bad_lines.append(BadLine("D146", number, reason, line))
        else:
            words = [_BRACKETS.get(leaf, leaf.replace("\\", "")) for leaf in leaves]
            result.rows.append(Row(number, (" ".join(words), root[1])))
    return result


def looks_like_tree(line: str) -> bool:
    """Whether a line is a bracketed tree."""
    root = _ROOT.match(line)
    return root is not None and line.rstrip().endswith(")") and bool(_LEAF.search(line))
