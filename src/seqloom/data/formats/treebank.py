"""Trees in brackets, as the Stanford sentiment treebank has them: (3 (2 It) (4 (2 's) (3 good))).

The label of the root is that of the text, and the leaves are its words.
"""

import re

from .base import Fault, Reading, Request, Row

_ROOT = re.compile(r"\s*\((\S+)\s+(?=\S)")
_LEAF = re.compile(r"\(\S+\s+([^()\s]+)\s*\)")
_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One tree a line; the roles are a text and its label, in that order."""
    reading: Reading[Row] = Reading()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            reading.blank.append(number)
            continue
        root, leaves = _ROOT.match(line), _LEAF.findall(line)
        if root is None or not leaves or line.count("(") != line.count(")"):
            reason = "the brackets of this tree do not match"
            reading.faults.append(Fault("D146", number, reason, line))
        else:
            words = [_WRITTEN.get(leaf, leaf.replace("\\", "")) for leaf in leaves]
            reading.rows.append(Row(number, (" ".join(words), root[1])))
    return reading


def fits(line: str) -> bool:
    """Whether a line is such a tree."""
    root = _ROOT.match(line)
    return root is not None and line.rstrip().endswith(")") and bool(_LEAF.search(line))
