"""Runs to ARPA files and back: the work behind `seqloom convert` for n-grams."""

import json
from pathlib import Path

from ..data.text.vocabulary import Vocabulary
from ..errors import DataError, ModelError
from ..models.ngram import NGram
from ..recipe import Recipe
from ..runs.run import RUNS, Run
from ..runs.train import keep_converted
from ..signature import Form, Signature
from ..statistical.ngram.arpa import arpa_of, read_arpa
from ..training.checkpoints import refuse_existing, write_whole

SUFFIX = ".arpa"


def save_arpa(path: Path, run: Run, *, force: bool = False) -> int:
    """Write the n-gram model of a run; how many grams there are."""
    refuse_existing(path, force)
    if not isinstance(run.model, NGram):
        raise ModelError(
            "M152",
            f"{run.name} is no n-gram model, so it has no ARPA form",
            help=["-o FILE.safetensors   the weights of a recurrence"],
        )
    pieces = arpa_of(run.model.grams, run.task.read_symbols())
    write_whole(path, b"".join(piece.encode() for piece in pieces))
    return run.model.grams.count()


def run_from_arpa(path: Path, *, name: str = "", runs: Path = RUNS) -> Run:
    """A new run with the model of an ARPA file, ready to evaluate, score and generate.

    Symbols are words, or characters where none is longer than one.
    """
    if not path.is_file():
        raise DataError("D001", f'cannot find "{path}"', help=["check the name of the file"])
    try:
        with path.open(encoding="utf-8") as file:
            grams, symbols = read_arpa(file, str(path))
    except UnicodeDecodeError as error:
        raise DataError("D081", f"{path} is not text in UTF-8, so it is no ARPA file") from error
    vocabulary = Vocabulary()
    vocabulary.restore(symbols)
    model = NGram(Signature(Form.NEXT, vocabulary.space, vocabulary.space), order=grams.order)
    model.restore(grams.arrays())
    unit = "words" if any(len(symbol) > 1 for symbol in symbols[4:]) else "characters"
    recipe = Recipe(
        task={"name": "language", "symbols": unit}, model={"name": "ngram", "order": grams.order}
    ).checked()
    task = {"codecs": {"vocabulary": vocabulary.state()}, "fingerprint": {}}
    saved = json.dumps(task, ensure_ascii=False).encode()
    note = f"the n-grams are from {path.name}"
    return keep_converted(recipe, saved, model, note, name=name, runs=runs)
