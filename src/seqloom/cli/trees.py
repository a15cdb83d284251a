"""What searches looked at, written to a file: one tree a line."""

from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from ..errors import MachineError
from ..forms import END, Tokens
from ..record import to_json
from ..run import Run
from ..search import Tree
from ..training.evaluation import Answer


class Trees:
    """A file of JSON lines, made when the first tree comes; nothing without a name."""

    def __init__(self, path: Path | None, run: Run) -> None:
        self._path, self._run = path, run
        self._open = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> "Trees":
        if self._path is not None:
            try:
                self._file = self._open.enter_context(self._path.open("w", encoding="utf-8"))
            except OSError as error:
                reason = error.strerror or str(error)
                raise MachineError("E302", f"cannot write {str(self._path)!r}: {reason}") from error
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, text: str, answer: Answer | None) -> None:
        """The tree of one input; null for a blank line."""
        if self._file is not None:
            tree = None if answer is None else answer.tree
            self._file.write(to_json(tree and as_dict(self._run, text, tree)) + "\n")


def as_dict(run: Run, text: str, tree: Tree) -> dict[str, Any]:
    """A tree for machines: nodes name their parents by their place, -1 where there is none."""
    question = run.task.question(text)
    return {
        "view": "beam",
        "version": 1,
        "model": run.name,
        "input": text,
        "nodes": [
            {
                "parent": node.parent,
                "step": node.step,
                "symbol": shown(run, node.symbol, question),
                "log_prob": node.log_prob,
                "fate": node.fate,
                "score": node.score,
            }
            for node in tree.nodes
        ],
        "answers": [tree.path(node) for node in tree.answers],
    }


def shown(run: Run, symbol: int, question: Any) -> str:
    """A symbol as it is called, one copied from the question as there; the end has no letters."""
    target = run.model.signature.target
    if isinstance(target, Tokens) and symbol >= target.size:
        return run.task.show(run.task.answer_to(question, [symbol]))
    return "</s>" if symbol == END else run.task.shown_symbol(symbol)
