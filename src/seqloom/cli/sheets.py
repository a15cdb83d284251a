"""Files that are answered in their own shape: each sentence keeps its lines, tags are filled in."""

import argparse
from pathlib import Path

from ..data.formats.sheets import Sheet
from ..decoding import Draws
from ..errors import UsageError
from ..model import Search
from ..record import to_json
from ..run import Run
from ..training.evaluation import predict
from .inputs import STANDARD_INPUT, is_file
from .judging import Progress, say_notes, unknown_note
from .terminal import show

_STANDARD_INPUT = Path("/dev/stdin")


def sheet_given(run: Run, given: argparse.Namespace) -> Sheet | None:
    """The file to be filled in, if what is given is such a file."""
    if given.explain or len(given.inputs) > 1 or (given.inputs and given.file):
        return None
    asked = given.file or "".join(given.inputs)
    is_named = given.format not in ("auto", "text")
    if given.format == "text" or not (asked or is_named) or (asked and not is_file(asked)):
        return None
    if asked in ("", STANDARD_INPUT):
        if not is_named:
            return None
        asked = str(_STANDARD_INPUT)
    settings = {"data.format": given.format, "data.encoding": given.encoding}
    if given.columns is not None:
        settings["data.columns"] = given.columns
    sheet = run.task.sheet(Path(asked), run.recipe.with_settings(settings).build_data())
    if sheet is None and is_named:
        raise UsageError("U091", f"--format {given.format}: {run.name} is asked one text a line")
    return sheet


def fill(run: Run, sheet: Sheet, how: Search | Draws, given: argparse.Namespace) -> int:
    """Answer every sentence and print the file with the tags in it; or a line of JSON for each."""
    examples = [run.task.example(row) for row in sheet.rows]
    with Progress(f"asking {run.name}", len(examples), given.quiet) as progress:
        tokens = given.batch_tokens or 0
        answers = predict(run.model, run.task, examples, how, progress.tell, tokens)
    if given.json:
        for example, answer in zip(examples, answers, strict=True):
            details = run.task.details(example, answer.value, answer.chances)
            show(to_json({"input": run.task.shown_question(example), **details}))
    else:
        for line in sheet.write([answer.value for answer in answers]):
            show(line)
    say_notes(unknown_note(run.task.unknown_share(examples)), given.quiet)
    return 0
