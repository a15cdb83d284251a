"""How commands that draw hand out their picture."""

import argparse
import sys

from ..runs.record import to_json
from ..views import View
from .terminal import can_show, show, width

MARKS = "▁█·…"


def hand_out(view: View, given: argparse.Namespace, marks: str = MARKS) -> None:
    """Save it and print where, or draw it in the terminal: by letters alone where marks fail."""
    if given.output is not None:
        path = view.save(given.output)
        show(to_json({"path": str(path)}) if given.json else str(path))
    elif given.json:
        show(to_json(view.to_json()))
    else:
        show(view.to_text(width(), ascii=not can_show(marks, sys.stdout)))
