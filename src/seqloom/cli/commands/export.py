"""seqloom export: a run as a zip file to share, or a model for CTranslate2."""

import argparse
import hashlib
import os
from pathlib import Path

from ...errors import UsageError
from ...runs.names import file_argument
from ...runs.record import to_json
from ...runs.run import find
from ..loading import load_run
from ..terminal import say, show

ZIP, CTRANSLATE2 = "zip", "ctranslate2"
ENDINGS = {ZIP: ".zip", CTRANSLATE2: "-ctranslate2"}  # of the default name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "run", metavar="RUN", help="a run; for CTranslate2 a transformer-encoder-decoder"
    )
    parser.add_argument(
        "--to", choices=(ZIP, CTRANSLATE2), help="format (default: zip if -o ends with .zip)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="file or folder to write (RUN.zip, or RUN-ctranslate2)",
    )
    parser.add_argument("--force", action="store_true", help="replace PATH if it exists")


def run(args: argparse.Namespace) -> int:
    """Export the run, and print the path and how to use it."""
    kind = args.to or (ZIP if args.output is None or args.output.suffix == ".zip" else "")
    if not kind:
        raise UsageError(
            "U001",
            f"unknown format for {args.output}",
            help=["-o NAME.zip   a run to share", "--to ctranslate2   a model for CTranslate2"],
        )
    if args.output is None:
        args.output = Path(find(args.run, args.runs_dir).name + ENDINGS[kind])
    facts = _to_zip(args) if kind == ZIP else _to_ctranslate2(args)
    if args.json:
        show(to_json({"path": str(args.output), "to": kind, **facts}))
        return 0
    show(str(args.output))
    if not args.quiet and kind == ZIP:
        say(f"sha256 {facts['sha256']}")
        say(f"Next: seqloom import {file_argument(args.output)}   imports it on any computer")
    elif not args.quiet:
        say(f'ctranslate2.Translator("{args.output}", compute_type="int8")')
        say("  .translate_batch([TOKENS, …])   lists of tokens without </s>; float32 by default")
    return 0


def _to_zip(args: argparse.Namespace) -> dict[str, str]:
    from ...runs.package import pack
    from ...training.files import cannot_write

    folder = find(args.run, args.runs_dir)
    if args.output.exists() and not args.force:
        raise UsageError("U051", f"{args.output} exists already", help=["--force   replace it"])
    half = args.output.with_name(f"{args.output.name}.part")
    try:
        with half.open("wb+") as file:
            pack(folder, file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.replace(half, args.output)
    except OSError as error:
        raise cannot_write(args.output, error) from error
    finally:
        half.unlink(missing_ok=True)
    return {"from": folder.name, "sha256": digest}


def _to_ctranslate2(args: argparse.Namespace) -> dict[str, str]:
    from ...export.ctranslate2 import export_ctranslate2

    run = load_run(args.run, args.runs_dir)
    export_ctranslate2(args.output, run, force=args.force)
    return {"from": run.name}
