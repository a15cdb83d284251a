"""What a loaded run is asked through the web API: answers, texts that go on, forecasts, pieces."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, isfinite
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

import numpy as np

from ..config import options, problems, taken
from ..decoding import Sampling
from ..errors import UsageError
from ..inference.compose import Composing
from ..inference.forecast import Asked, view_of
from ..inference.generate import Piece
from ..model import Search
from ..runs.answer import as_dict, has_labels
from ..runs.run import Run
from ..signature import Bits, Form
from .limits import too_long, too_many
from .options import Limits

T = TypeVar("T")
ALTERNATIVES = 5
STOPS, MOST_SAMPLES = 8, 200
RULES = ("prefix", "allow")  # of answers, in words; the search itself knows numbers
UNASKED = ("tree", "chances", "horizon", "samples", "seed", *RULES)  # of Search


def parameters_of(run: Run) -> list[Any]:
    """What can be set where a run is asked, as options."""
    return [option for option in options(_kind(run)) if option.name not in _hidden(run)]


def predict(
    run: Run, inputs: Sequence[str], given: Mapping[str, Any], limits: Limits, scratch: Path
) -> dict[str, Any]:
    """Answers to all inputs, as `seqloom predict --json` gives them."""
    if len(inputs) > limits.inputs:
        raise too_many("inputs", len(inputs), limits.inputs)
    for text in inputs:
        must_be_short(text, limits.symbols)
    began = time.perf_counter()
    kind = _kind(run)
    ask: Callable[..., list[dict[str, Any]]] = {
        Sampling: _written,
        Composing: _composed,
        Asked: _foreseen,
        Search: _answered,
    }[kind]
    outputs = ask(run, inputs, given, limits, scratch)
    return {
        "outputs": outputs,
        "model": run.name,
        "timing_ms": round(1000 * (time.perf_counter() - began), 2),
        "usage": {"inputs": len(inputs), "symbols": _symbols(run, inputs)},
    }


def drawing(
    run: Run, prompt: str, given: Mapping[str, Any], limits: Limits
) -> Iterator[dict[str, Any]]:
    """How a prompt goes on, symbol by symbol, each with what else could have been drawn."""
    must_be_short(prompt, limits.symbols)
    sampling, stop = _sampling(run, given, limits)
    end = time.monotonic() + limits.seconds
    for place, piece in enumerate(run.generating([prompt], sampling, stop=stop)):
        yield _token(run, piece, place)
        if time.monotonic() > end:
            raise too_long(limits.seconds)


def must_be_short(text: str, most: int) -> None:
    """Refuse a text that is longer than one request may bring."""
    if len(text) > most:
        raise too_many("characters of one input", len(text), most)


@contextlib.contextmanager
def as_file(text: str, folder: Path, suffix: str = ".csv") -> Iterator[Path]:
    """A text as a file that lasts as long as it is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", suffix=suffix, dir=folder, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)


def checked(kind: Callable[..., T], given: Mapping[str, Any]) -> T:
    """Settings made into what they set, or everything that is wrong with them."""
    if wrong := problems(kind, given):
        raise UsageError("U010", wrong[0], notes=wrong[1:])
    return kind(**taken(kind, given))


def _kind(run: Run) -> Any:
    """What is set when a run is asked, by the form of its task."""
    if run.task.form is Form.NEXT:
        return Composing if isinstance(run.model.signature.target, Bits) else Sampling
    return Asked if run.task.form is Form.FORECAST else Search


def _hidden(run: Run) -> tuple[str, ...]:
    return UNASKED if _kind(run) is Search else ("series",)


def _answered(
    run: Run, inputs: Sequence[str], given: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    plain = {name: value for name, value in given.items() if name not in RULES}
    known = {option.name for option in parameters_of(run)}
    if hidden := [name for name in plain if name in UNASKED and name not in known]:
        raise UsageError("U010", f"{hidden[0]!r} is not an option here")
    at_most(plain, {"beam": limits.beam, "nbest": limits.beam, "limit": limits.generated})
    search = checked(Search, plain)
    if has_labels(run):
        search = replace(search, chances=True)
    search.must_fit(run.model.signature)
    prefix, allow = _rules(given)
    if prefix or allow:
        search = run.ruled(search, allow=allow, prefix=prefix)
    answers = run.answers(inputs, search)
    several = "nbest" if search.nbest > 1 else ""
    pairs = zip(inputs, answers, strict=True)
    return [as_dict(run, text, answer, several) for text, answer in pairs]


def _rules(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What answers begin with, and the only symbols they may have."""
    prefix, allow = given.get("prefix", ""), given.get("allow", [])
    if not isinstance(prefix, str):
        raise UsageError("U010", f"prefix = {prefix!r}: expected text")
    if not isinstance(allow, list) or not all(isinstance(one, str) for one in allow):
        raise UsageError("U010", "allow: expected a list of symbols")
    return prefix, allow


def _written(
    run: Run, inputs: Sequence[str], given: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """Texts that go on from prompts, all side by side."""
    sampling, stop = _sampling(run, given, limits)
    found = [{"input": text, "text": "", "ended": None, "symbols": 0} for text in inputs]
    end = time.monotonic() + limits.seconds
    for piece in run.generating(inputs, sampling, stop=stop) if inputs else ():
        row: dict[str, Any] = found[piece.row]
        row["text"] += piece.text
        row["ended"] = piece.ended
        row["symbols"] += 1
        if time.monotonic() > end:  # nobody waits any longer
            raise too_long(limits.seconds)
    return found


def _sampling(
    run: Run, given: Mapping[str, Any], limits: Limits
) -> tuple[Sampling, tuple[str, ...]]:
    stop = given.get("stop", [])
    stop = [stop] if isinstance(stop, str) else stop
    if not isinstance(stop, list) or not all(isinstance(text, str) for text in stop):
        raise UsageError("U010", "stop: expected a text or a list of texts")
    if len(stop) > STOPS:
        raise too_many("stop", len(stop), STOPS)
    plain = {name: value for name, value in given.items() if name != "stop"}
    at_most(plain, {"limit": limits.generated})
    return checked(Sampling, plain), tuple(stop)


def _composed(
    run: Run, inputs: Sequence[str], given: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """Pieces of music that go on from prompts: frames of keys, as the task writes them."""
    at_most(given, {"steps": limits.generated})
    composing, task = checked(Composing, given), run.must_compose()
    found = []
    for text in inputs:
        frames = task.question(text).frames if text.strip() else ()
        piece = run.compose(composing, prompt=frames)
        found.append({"input": text, **piece.to_json(), "view": piece.view(run.name).to_json()})
    return found


def _foreseen(
    run: Run, inputs: Sequence[str], given: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """How series go on, each input being a file of them: CSV, or numbers alone."""
    at_most(given, {"horizon": limits.generated, "samples": MOST_SAMPLES})
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    asked = checked(Asked, plain)
    found = []
    for text in inputs:
        if (numbers := _numbers(text)) is not None:
            outlooks = run.forecast(numbers, asked)
        else:
            with as_file(text, scratch) as file:
                outlooks = run.forecast(file, asked)
        view = view_of(outlooks).to_json()
        found.append({"input": text, **view, "outlooks": [one.as_dict() for one in outlooks]})
    return found


def _numbers(text: str) -> list[float] | None:
    """One series that was typed: numbers on one line, or one on each; None where it is a file."""
    lines = text.split("\n") if "\n" in text.strip() else re.split(r"[\s,;]+", text.strip())
    try:
        found = [float(line) for line in lines if line.strip()]
    except ValueError:
        return None
    return found if found and all(map(isfinite, found)) else None


def at_most(given: Mapping[str, Any], most: Mapping[str, int]) -> None:
    """Refuse numbers that would ask for too much."""
    for name, limit in most.items():
        value = given.get(name)
        if isinstance(value, int) and value > limit:
            raise too_many(name, value, limit)


def _token(run: Run, piece: Piece, place: int) -> dict[str, Any]:
    log_probs = piece.log_probs if piece.log_probs is not None else np.zeros(0)
    best = np.argsort(-log_probs, kind="stable")[:ALTERNATIVES].tolist()
    return {
        "text": piece.text,
        "symbol": run.task.shown_symbol(piece.symbol),
        "p": exp(log_probs[piece.symbol]),
        "alternatives": [[run.task.shown_symbol(one), exp(log_probs[one])] for one in best],
        "place": place,
        "ended": piece.ended,
    }


def _symbols(run: Run, inputs: Sequence[str]) -> int:
    """How many symbols, or steps of series, were read."""
    if run.task.form is Form.FORECAST:
        return sum(text.count("\n") for text in inputs)
    return sum(run.task.length(run.task.question(text)) for text in inputs if text.strip())
