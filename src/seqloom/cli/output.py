"""Output of views: save the picture to a file, or draw it in the terminal."""

import argparse
import sys

from ..runs.record import to_json
from ..views import View
from .terminal import can_show, show, width

MARKS = "▁█·…"


def output_view(view: View, args: argparse.Namespace, marks: str = MARKS) -> None:
    """Save the view and print its path, or draw it in the terminal, in ASCII if need be."""
    if args.output is not None:
        path = view.save(args.output)
        show(to_json({"path": str(path)}) if args.json else str(path))
    elif args.json:
        show(to_json(view.to_json()))
    else:
        show(view.to_text(width(), ascii=not can_show(marks, sys.stdout)))
