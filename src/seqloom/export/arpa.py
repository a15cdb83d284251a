"""ARPA files: export of n-gram models and import as runs; `seqloom convert`."""

import json
from pathlib import Path

from ..data.text.vocabulary import Vocabulary
from ..errors import DataError, ModelError
from ..models.ngram import NGram
from ..recipe import Recipe
from ..runs.names import RUNS
from ..runs.run import Run
from ..runs.train import save_converted
from ..signature import Form, Signature
from ..statistical.ngram.arpa import format_arpa, read_arpa
from ..training.files import refuse_existing, write_whole

SUFFIX = ".arpa"


def save_arpa(path: Path, run: Run, *, force: bool = False) -> int:
    """Write the n-gram model of a run; returns the number of n-grams."""
    refuse_existing(path, force)
    if not isinstance(run.model, NGram):
        raise ModelError(
            "M152",
            f"{run.name} is not an n-gram model, so it cannot be an ARPA file",
            help=["-o FILE.safetensors   the weights of a recurrent network"],
        )
    lines = format_arpa(run.model.grams, run.task.input_vocabulary())
    write_whole(path, b"".join(line.encode() for line in lines))
    return run.model.grams.count()


def run_from_arpa(path: Path, *, name: str = "", runs: Path = RUNS) -> Run:
    """A new run with the model of an ARPA file, ready to evaluate, score and generate.

    Its tokens are words, or characters if no token is longer than one.
    """
    if not path.is_file():
        raise DataError("D001", f'cannot find "{path}"', help=["check the name of the file"])
    try:
        with path.open(encoding="utf-8") as file:
            grams, tokens = read_arpa(file, str(path))
    except UnicodeDecodeError as error:
        raise DataError("D081", f"{path} is not UTF-8 text, so it is not an ARPA file") from error
    vocabulary = Vocabulary()
    vocabulary.restore(tokens)
    model = NGram(Signature(Form.NEXT, vocabulary.space, vocabulary.space), order=grams.order)
    model.restore(grams.arrays())
    unit = "words" if any(len(token) > 1 for token in tokens[4:]) else "characters"
    recipe = Recipe(
        task={"name": "language", "tokens": unit}, model={"name": "ngram", "order": grams.order}
    ).checked()
    task = {"codecs": {"vocabulary": vocabulary.state()}, "fingerprint": {}}
    saved = json.dumps(task, ensure_ascii=False).encode()
    note = f"the n-grams are from {path.name}"
    return save_converted(recipe, saved, model, note, name=name, runs=runs)
