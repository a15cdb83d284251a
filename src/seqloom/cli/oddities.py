"""What is odd of inputs: symbols that training never showed, and sources far longer than any."""

from collections.abc import Sequence

import numpy as np

from ..forms import END, UNKNOWN, Columns, Tokens
from ..run import Run
from .terminal import several

FAR = 2  # so many times the longest source of training is far longer
NAMED = 3  # so many inputs are told by number


class Oddities:
    """Counts what is odd; answers are given all the same."""

    def __init__(self, run: Run) -> None:
        self.run, self.total, self.unknown, self._read = run, 0, 0, 0
        self._strange: list[int] = []  # the inputs of which nothing is known
        self._long: list[int] = []
        self._cut: list[int] = []  # the inputs that are longer than what is read of them
        self._longest = 0

    def count(self, texts: Sequence[str]) -> None:
        """Look at inputs as the model reads them."""
        task = self.run.task
        if not isinstance(task.signature().source, Tokens | Columns):
            return
        for text in texts:
            self._read += 1
            question = task.question(text)
            self._cut += [self._read] * ("D147" in task.remarks([question]))
            symbols = np.asarray(task.ask(question))
            symbols = symbols[:, 0] if symbols.ndim > 1 else symbols  # of a word, not of letters
            symbols = symbols[symbols != END]
            unknown = int((symbols == UNKNOWN).sum())
            self.total += len(symbols)
            self.unknown += unknown
            if unknown and unknown == len(symbols):
                self._strange.append(self._read)
            if 0 < FAR * task.longest_source() < len(symbols):
                self._long.append(self._read)
                self._longest = max(self._longest, len(symbols))

    def notes(self) -> list[str]:
        """A sentence for each oddity."""
        told = []
        if self.unknown:
            are = "is" if self.unknown == 1 else "are"
            whole = several(self.total, "symbol")
            told.append(f"{self.unknown:,} of {whole} {are} unknown and read as <unk>")
        if self._strange:
            told.append(
                f"{_inputs(self._strange)} nothing that {self.run.name} knows: another language,"
                " script or spelling than it learned from?"
            )
        if self._long:
            longest = several(self._longest, "symbol")
            told.append(
                f"{_inputs(self._long)} up to {longest}, and no source of training had more than"
                f" {self.run.task.longest_source():,}: long answers may break off or repeat"
            )
        if self._cut:
            told.append(f"{_inputs(self._cut)} more than is read of a text: the rest was left out")
        return told


def _inputs(numbers: list[int]) -> str:
    """input 3 has; inputs 1, 2, 3 and 14 more have."""
    shown = ", ".join(f"{number:,}" for number in numbers[:NAMED])
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return f"input {shown} has" if len(numbers) == 1 else f"inputs {shown}{more} have"
