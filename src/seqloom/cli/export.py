"""seqloom export: a trained model for another engine."""

import argparse
from pathlib import Path

from ..record import to_json
from .judging import load_run
from .terminal import say, show


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="a run of transformer-encoder-decoder")
    parser.add_argument("--to", choices=("ctranslate2",), required=True, help="the engine")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to write"
    )
    parser.add_argument("--force", action="store_true", help="replace FOLDER if it is there")


def run(given: argparse.Namespace) -> int:
    """Write the model, print where it is, and say how it is used."""
    from ..exporting import export_ctranslate2

    found = load_run(given.run, given.runs_dir)
    export_ctranslate2(given.output, found, force=given.force)
    if given.json:
        show(to_json({"path": str(given.output), "from": found.name, "to": given.to}))
        return 0
    show(str(given.output))
    if not given.quiet:
        say(f'ctranslate2.Translator("{given.output}", compute_type="int8")')
        say("  .translate_batch([SYMBOLS, …])   lists of symbols, without an end; float32 if left")
    return 0
