"""seqloom predict, translate, tag, classify: inference on inputs, one prediction per line.

Labelled texts are printed in colour on a terminal; notes warn of unknown tokens and of inputs that
are longer than any in training; `--tree` writes the search tree of every input.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from ...data.formats.base import InputFile
from ...data.formats.parallel_names import files_of
from ...decoding import SamplingDecoder
from ...errors import UsageError, cannot_save
from ...evaluation.evaluate import ExamplePrediction
from ...model import Search
from ...prediction import SearchTree
from ...runs.answer import answer_as_dict, as_dict, has_labels, has_probability
from ...runs.file_predictions import FilePredictions, predict_file
from ...runs.names import file_argument
from ...runs.record import to_json
from ...runs.run import Run, wrong_task
from ...signature import END, UNKNOWN, Columns, Form, Tokens
from ...task import Highlighted
from ...views import View
from ..arguments import add_search, at_least_one, conflicting_inputs, search_from
from ..inputs import (
    STANDARD_INPUT,
    TABLES,
    argument_texts,
    batches,
    find_input_file,
    is_file,
    named_file,
    text_lines,
)
from ..loading import ProgressLine, load_ensemble, say_notes
from ..sampling_arguments import (
    add_allow,
    add_sample_options,
    allowed_tokens,
    sampling_decoder_from,
)
from ..terminal import (
    Stream,
    can_show,
    is_interactive,
    plural,
    show,
    styled,
    visible,
    wants_colour,
    width,
)

# The palette of Okabe and Ito (2008) in the nearest of a terminal's 256 colours, each with the text
# colour that is readable on it.
_BLACK, _WHITE = 16, 231
PALETTE: Final = (
    (214, _BLACK),
    (74, _BLACK),
    (36, _BLACK),
    (227, _BLACK),
    (25, _WHITE),
    (166, _BLACK),
    (175, _BLACK),
)
_STYLES = ("", ";4", ";3", ";3;4")  # when colours repeat: underlined, italic, then both


def labelled_line(marked: Highlighted, stream: Stream) -> str:
    """A labelled text in one line: [Ada Lovelace person] wrote, or the/DET cat/NOUN."""
    in_colour = wants_colour(stream)
    numbers = {label: number for number, label in enumerate(marked.labels)}
    parts = []
    for text, label in marked.pieces:
        shown = visible(text) if in_colour else text
        if label:
            shown = f"{shown}/{label}" if marked.between else f"[{shown} {label}]"
            shown = _painted(shown, numbers.get(label, 0)) if in_colour else shown
        parts.append(shown)
    return marked.between.join(parts)


def _painted(text: str, number: int) -> str:
    background, foreground = PALETTE[number % len(PALETTE)]
    style = _STYLES[number // len(PALETTE) % len(_STYLES)]
    return styled(text, f"48;5;{background};38;5;{foreground}{style}")


FAR = 2  # times the longest training source: inputs beyond it get a note
NAMED = 3  # inputs that a note lists by number


class InputWarnings:
    """Collects warnings on inputs: unknown tokens, and texts far longer than those of training."""

    def __init__(self, run: Run) -> None:
        self.run, self.total, self.unknown, self._read = run, 0, 0, 0
        self._strange: list[int] = []  # inputs whose tokens are all unknown
        self._long: list[int] = []
        self._cut: list[int] = []  # inputs that are truncated
        self._longest, self._predicted = 0, 0
        self._unfinished: list[int] = []  # inputs whose outputs are cut at the limit

    def count(self, questions: Sequence[Any]) -> None:
        """Count the unknown tokens of inputs; one that is None is blank."""
        task = self.run.task
        if not isinstance(task.signature().source, Tokens | Columns):
            return
        for question in questions:
            self._read += 1
            if question is None:
                continue
            self._cut += [self._read] * ("D147" in task.data_warnings([question]))
            tokens = np.asarray(task.encode_source(question))
            tokens = tokens[:, 0] if tokens.ndim > 1 else tokens  # word ids, not character ids
            tokens = tokens[tokens != END]
            unknown = int((tokens == UNKNOWN).sum())
            self.total += len(tokens)
            self.unknown += unknown
            if unknown and unknown == len(tokens):
                self._strange.append(self._read)
            if 0 < FAR * task.max_source_length() < len(tokens):
                self._long.append(self._read)
                self._longest = max(self._longest, len(tokens))

    def count_outputs(self, predictions: Sequence[ExamplePrediction | None]) -> None:
        """Count the outputs that are cut at the limit; one that is None is blank."""
        for one in predictions:
            self._predicted += 1
            every = () if one is None else (one, *one.others)
            self._unfinished += [self._predicted] * any(o.ended == "limit" for o in every)

    def notes(self) -> list[str]:
        """A sentence for each kind of warning."""
        notes = []
        if self.unknown:
            are = "is" if self.unknown == 1 else "are"
            whole = plural(self.total, "token")
            notes.append(f"{self.unknown:,} of {whole} {are} unknown and read as <unk>")
        if self._strange:
            notes.append(
                f"{_inputs_have(self._strange)} no known token: is it another language, script or"
                f" tokenization than the training data of {self.run.name}?"
            )
        if self._long:
            longest = plural(self._longest, "token")
            notes.append(
                f"{_inputs_have(self._long)} up to {longest}, and the longest training source has"
                f" {self.run.task.max_source_length():,}: long outputs may break off or repeat"
            )
        if self._cut:
            notes.append(f"{_inputs_have(self._cut)} more tokens than the limit: truncated")
        if self._unfinished:
            notes.append(
                f"{_inputs_have(self._unfinished)} an output that was cut at the maximum number of"
                " tokens; --length N allows more"
            )
        return notes


def _inputs_have(numbers: list[int]) -> str:
    """input 3 has; inputs 1, 2, 3 and 14 more have."""
    shown = ", ".join(f"{number:,}" for number in numbers[:NAMED])
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return f"input {shown} has" if len(numbers) == 1 else f"inputs {shown}{more} have"


class SearchTreeWriter:
    """Writes search trees as JSON lines; does nothing without a path."""

    def __init__(self, path: Path | None, run: Run) -> None:
        self._path, self._run = path, run
        self._open = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> "SearchTreeWriter":
        if self._path is not None:
            try:
                self._file = self._open.enter_context(self._path.open("w", encoding="utf-8"))
            except OSError as error:
                raise cannot_save(self._path, error) from error
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, text: str, question: Any, prediction: ExamplePrediction | None) -> None:
        """Write the search tree of one input; null for a blank line."""
        if self._file is not None:
            tree = None if prediction is None else prediction.tree
            found = tree and tree_as_dict(self._run, text, question, tree)
            self._file.write(to_json(found) + "\n")


def tree_as_dict(run: Run, text: str, question: Any, tree: SearchTree) -> dict[str, Any]:
    """A search tree as JSON; a node names its parent by index, -1 for the root."""
    return {
        "view": "beam",
        "version": 1,
        "model": run.name,
        "input": text,
        "nodes": [
            {
                "parent": node.parent,
                "step": node.step,
                "symbol": shown(run, node.token, question),
                "log_prob": node.log_prob,
                "fate": node.status,
                "score": node.score,
            }
            for node in tree.nodes
        ],
        "answers": [tree.path(node) for node in tree.ends],
    }


def shown(run: Run, token: int, question: Any) -> str:
    """A token as text: one copied from the source as it is there, END as </s>."""
    target = run.model.signature.target
    if isinstance(target, Tokens) and token >= target.size:
        return run.task.show(run.task.decode_for(question, [token]))
    return "</s>" if token == END else run.task.show_token(token)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="input, or a file of inputs; - is standard input",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="file of inputs, one per line; - is standard input"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of FILE (utf-8)"
    )
    parser.add_argument(
        "--format",
        choices=("auto", "text", *TABLES),
        default="auto",
        help="format of FILE; predictions are joined to the rows of a table (auto)",
    )
    parser.add_argument(
        "--columns", metavar="ROLES", help="columns of FILE, as text=review or word=1,tag=4"
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="of a table also the probability of every label, in CoNLL columns that of each tag",
    )
    add_search(parser)
    parser.add_argument(
        "--nbest",
        type=int,
        default=1,
        metavar="N",
        help="print the N best outputs with their scores (1)",
    )
    add_sample_options(parser)
    add_allow(parser, "outputs")
    parser.add_argument(
        "--shortest",
        type=int,
        default=0,
        metavar="N",
        help="minimum length of an output, in tokens",
    )
    parser.add_argument(
        "--prefix", default="", metavar="TEXT", help="every output begins with TEXT"
    )
    parser.add_argument(
        "--batch-tokens",
        type=int,
        metavar="N",
        help="batch size in tokens, with padding (default: 256 inputs)",
    )
    parser.add_argument(
        "--tree",
        type=Path,
        metavar="FILE",
        help="write the search tree of each input, as JSON lines",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="draw the attention, or another view, below each prediction",
    )


def run(args: argparse.Namespace) -> int:
    """Print a prediction for every input, in order."""
    search = replace(search_from(args), tree=args.tree is not None)
    nbest = at_least_one("--nbest", args.nbest)
    search = replace(search, nbest=nbest, shortest=args.shortest)
    if args.batch_tokens is not None:
        at_least_one("--batch-tokens", args.batch_tokens)
    run = load_ensemble(args)
    if args.command not in ("predict", run.task.verb):
        raise wrong_task(run, args.command)
    if run.task.form is Form.FORECAST and len(args.inputs) == 1 and is_file(args.inputs[0]):
        raise UsageError(
            "U318",
            f"a file of series needs {run.task.verb}; predict reads one typed series per line",
            help=[
                f"seqloom {run.task.verb} {file_argument(args.run)} {file_argument(args.inputs[0])}"
            ],
        )
    search = replace(_constrained(run, search, args), probabilities=has_labels(run.task))
    search.validate_for(run.model.signature)
    how = sampling_decoder_from(args, search) or search
    how.validate_for(run.model.signature)
    if args.inputs and args.file:
        raise conflicting_inputs("inputs")
    if (table := find_input_file(run, args)) is not None:
        return _predict_table(run, table, how, args)
    inputs, where = _inputs(run, args)
    predict_batch = _predictor(run, how, args, where == "arguments")
    warnings = InputWarnings(run)
    shown = _as_json if args.json else _as_text
    quiet = args.quiet or sys.stdout.isatty()
    with (
        ProgressLine(f"inference with {run.name}", quiet=quiet) as progress,
        SearchTreeWriter(args.tree, run) as trees,
    ):
        done = 0
        for texts in batches(inputs, are_typed=where == STANDARD_INPUT):
            questions = [run.task.question(text) if text.strip() else None for text in texts]
            warnings.count(questions)
            results = predict_batch(texts)
            warnings.count_outputs([result.prediction for result in results])
            for result, question in zip(results, questions, strict=True):
                show(shown(run, result, how))
                trees.write(result.text, question, result.prediction)
            sys.stdout.flush()
            done += len(texts)
            progress.update(done)
    say_notes(warnings.notes(), args.quiet)
    return 0


def _constrained(run: Run, search: Search, args: argparse.Namespace) -> Search:
    """The search with the constraints of --allow and --prefix."""
    search.validate_for(run.model.signature)
    return run.constrained(search, allow=allowed_tokens(run, args), prefix=args.prefix)


@dataclass(frozen=True)
class Result:
    """An input and its prediction; None for a blank line."""

    text: str
    prediction: ExamplePrediction | None = None
    view: View | None = None


def _inputs(run: Run, args: argparse.Namespace) -> tuple[Iterator[str], str]:
    """The inputs, from arguments, else the file, else standard input; and which of these it is."""
    file = named_file(args, run.task)
    if args.inputs and not file:
        return argument_texts(args.inputs), "arguments"
    if args.explain:
        raise UsageError("U010", "--explain needs inputs as arguments, not a file")
    file = str(files_of(file or STANDARD_INPUT)[0])
    where = STANDARD_INPUT if file == STANDARD_INPUT else "file"
    return text_lines(file, run.task, args), where


def _predict_table(
    run: Run, file: InputFile, how: Search | SamplingDecoder, args: argparse.Namespace
) -> int:
    """Print a table with its predictions joined to its rows, or a line of JSON per row."""
    warnings = InputWarnings(run)
    warnings.count(file.examples)
    with ProgressLine(f"inference with {run.name}", len(file.examples), args.quiet) as progress:
        tokens = args.batch_tokens or 0
        found = predict_file(run.model, run.task, file, how, progress.update, tokens)
    warnings.count_outputs(found.predictions)
    lines = _table_json(run, found, how) if args.json else None
    for line in lines or found.lines(probabilities=args.probabilities):
        show(line)
    with SearchTreeWriter(args.tree, run) as trees:
        for example, one in zip(file.examples, found.predictions, strict=True):
            trees.write("" if one is None else run.task.show_question(example), example, one)
    say_notes(warnings.notes(), args.quiet)
    return 0


def _table_json(run: Run, found: FilePredictions, how: Search | SamplingDecoder) -> Iterator[str]:
    """A line of JSON for each row, as for texts."""
    for example, one in zip(found.file.examples, found.predictions, strict=True):
        if one is None:
            yield to_json({"input": "", "output": None})
        else:
            facts = answer_as_dict(run.task, example, one, _several(how))
            yield to_json({"input": run.task.show_question(example)} | facts)


def _predictor(
    run: Run, how: Search | SamplingDecoder, args: argparse.Namespace, are_arguments: bool
) -> Callable[[list[str]], list[Result]]:
    """A function that predicts a batch; blank lines stay, so that lines of the output match."""
    done = 0

    def predict_batch(texts: list[str]) -> list[Result]:
        nonlocal done
        inputs = [text for text in texts if text.strip() or are_arguments]
        here = replace(how, first=done) if isinstance(how, SamplingDecoder) else how
        answers = iter(run.predictions(inputs, here, tokens=args.batch_tokens or 0))
        done += len(inputs)
        return [
            Result(text, next(answers), view(text))
            if text.strip() or are_arguments
            else Result(text)
            for text in texts
        ]

    def view(text: str) -> View | None:
        return run.inspect(text, beam=args.beam) if args.explain else None

    return predict_batch


def _as_text(run: Run, result: Result, how: Search | SamplingDecoder) -> str:
    """One line; with n-best or samples one line each with rank and score.

    With --explain the probability, and the view below.
    """
    if result.prediction is None:
        return ""
    if _has_several(how):
        ranked = enumerate((result.prediction, *result.prediction.others), start=1)
        return "\n".join(
            f"{rank}\t{one.score:.4f}\t{run.task.show(one.value)}" for rank, one in ranked
        )
    line = _as_line(run, result.text, result.prediction)
    if run.task.form is Form.NEXT:
        line = _joined(run, result.text, line)
    if result.view is None:
        return line
    is_plain = not can_show("▁█·", sys.stdout)
    picture = result.view.to_text(width(), ascii=is_plain)
    probability = (
        f"   p={math.exp(result.prediction.log_prob):.2g}"
        if has_probability(run.task, result.prediction)
        else ""
    )
    return f"{line}{probability}\n{picture}\n"


def _has_several(how: Search | SamplingDecoder) -> bool:
    return (how.count if isinstance(how, SamplingDecoder) else how.nbest) > 1


def _several(how: Search | SamplingDecoder) -> str:
    """The key of several hypotheses or samples; empty for one."""
    if not _has_several(how):
        return ""
    return "drawn" if isinstance(how, SamplingDecoder) else "nbest"


def _as_json(run: Run, result: Result, how: Search | SamplingDecoder) -> str:
    facts = as_dict(run.task, result.text, result.prediction, _several(how))
    return to_json(facts if result.view is None else facts | {"view": result.view.to_json()})


def _as_line(run: Run, text: str, prediction: ExamplePrediction) -> str:
    """A prediction in one line: labels in the text, with probabilities on a terminal."""
    marked = run.task.highlighted(run.task.question(text), prediction.value)
    if marked is not None:
        return labelled_line(marked, sys.stdout)
    if prediction.probabilities is not None and is_interactive(sys.stdout):
        return run.task.show_with_probabilities(prediction.value, prediction.probabilities)
    return run.task.show(prediction.value)


def _joined(run: Run, prompt: str, text: str) -> str:
    """A prompt and its continuation."""
    are_words = run.task.input_unit == "words"
    return f"{prompt} {text}".strip() if are_words else prompt + text
