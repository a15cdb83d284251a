"""seqloom export: a run as one file to give away, or a model for another engine."""

import argparse
import hashlib
import os
from pathlib import Path

from ...errors import UsageError
from ...runs.record import to_json
from ...runs.run import find
from ..loading import load_run
from ..terminal import say, show

ZIP, CTRANSLATE2 = "zip", "ctranslate2"
ENDINGS = {ZIP: ".zip", CTRANSLATE2: "-ctranslate2"}  # of what nobody gave a name


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="any run; for CTranslate2 one that translates")
    parser.add_argument(
        "--to", choices=(ZIP, CTRANSLATE2), help="what for; zip where -o is called so"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PLACE",
        help="a file, or a folder (RUN.zip, or RUN-ctranslate2)",
    )
    parser.add_argument("--force", action="store_true", help="replace PLACE if it is there")


def run(given: argparse.Namespace) -> int:
    """Write it, print where it is, and say how it is used."""
    kind = given.to or (ZIP if given.output is None or given.output.suffix == ".zip" else "")
    if not kind:
        raise UsageError(
            "U001",
            f"what should {given.output} be?",
            help=["-o NAME.zip   one file to give away", "--to ctranslate2   for that engine"],
        )
    if given.output is None:
        given.output = Path(find(given.run, given.runs_dir).name + ENDINGS[kind])
    told = _to_zip(given) if kind == ZIP else _to_ctranslate2(given)
    if given.json:
        show(to_json({"path": str(given.output), "to": kind, **told}))
        return 0
    show(str(given.output))
    if not given.quiet and kind == ZIP:
        say(f"sha256 {told['sha256']}")
        say(f"seqloom import {given.output}   makes it a run again, on any computer")
    elif not given.quiet:
        say(f'ctranslate2.Translator("{given.output}", compute_type="int8")')
        say("  .translate_batch([SYMBOLS, …])   lists of symbols, without an end; float32 if left")
    return 0


def _to_zip(given: argparse.Namespace) -> dict[str, str]:
    from ...runs.package import pack
    from ...training.checkpoints import cannot_write

    folder = find(given.run, given.runs_dir)
    if given.output.exists() and not given.force:
        raise UsageError("U051", f"{given.output} is there already", help=["--force   replace it"])
    half = given.output.with_name(f"{given.output.name}.part")
    try:
        with half.open("wb+") as file:
            pack(folder, file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.replace(half, given.output)
    except OSError as error:
        raise cannot_write(given.output, error) from error
    finally:
        half.unlink(missing_ok=True)
    return {"from": folder.name, "sha256": digest}


def _to_ctranslate2(given: argparse.Namespace) -> dict[str, str]:
    from ...export.ctranslate2 import export_ctranslate2

    found = load_run(given.run, given.runs_dir)
    export_ctranslate2(given.output, found, force=given.force)
    return {"from": found.name}
