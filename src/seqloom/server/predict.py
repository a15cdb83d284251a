"""Inference with a loaded run for the web API: predict, generate, forecast, generate music."""

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

from ..config import constructor_arguments, options, problems
from ..decoding import Sampling
from ..errors import UsageError
from ..inference.compose import CompositionOptions
from ..inference.forecast import ForecastRequest, forecast_view
from ..inference.generate import TextChunk
from ..model import Search
from ..runs.answer import as_dict, has_labels
from ..runs.run import Run
from ..signature import Bits, Form
from .limits import too_many
from .options import Limits
from .work_queue import too_long

T = TypeVar("T")
ALTERNATIVES = 5
MAX_STOPS, MAX_SAMPLES = 8, 200
CONSTRAINTS = ("prefix", "allow")  # as text; the search itself takes token ids
HIDDEN = ("tree", "probabilities", "horizon", "samples", "seed", *CONSTRAINTS)  # of Search


def parameters_of(run: Run) -> list[Any]:
    """The inference options of a run: of search, sampling or forecasting."""
    return [option for option in options(_options_class(run)) if option.name not in _hidden(run)]


def predict(
    run: Run, inputs: Sequence[str], params: Mapping[str, Any], limits: Limits, scratch: Path
) -> dict[str, Any]:
    """Outputs for all inputs, as `seqloom predict --json` prints them."""
    if len(inputs) > limits.inputs:
        raise too_many("inputs", len(inputs), limits.inputs)
    for text in inputs:
        check_length(text, limits.symbols)
    start = time.perf_counter()
    kind = _options_class(run)
    infer: Callable[..., list[dict[str, Any]]] = {
        Sampling: _generate,
        CompositionOptions: _compose,
        ForecastRequest: _forecast,
        Search: _predict,
    }[kind]
    outputs = infer(run, inputs, params, limits, scratch)
    return {
        "outputs": outputs,
        "model": run.name,
        "timing_ms": round(1000 * (time.perf_counter() - start), 2),
        "usage": {"inputs": len(inputs), "symbols": _num_tokens(run, inputs)},
    }


def stream_tokens(
    run: Run, prompt: str, params: Mapping[str, Any], limits: Limits
) -> Iterator[dict[str, Any]]:
    """Continue a prompt token by token, each with the most probable alternatives."""
    check_length(prompt, limits.symbols)
    sampling, stop = _sampling(run, params, limits)
    end = time.monotonic() + limits.seconds
    for position, piece in enumerate(run.stream_generate([prompt], sampling, stop=stop)):
        yield _token(run, piece, position)
        if time.monotonic() > end:
            raise too_long(limits.seconds)


def check_length(text: str, most: int) -> None:
    """Refuse a text that is longer than one input may be."""
    if len(text) > most:
        raise too_many("characters of one input", len(text), most)


@contextlib.contextmanager
def as_file(text: str, folder: Path, suffix: str = ".csv") -> Iterator[Path]:
    """A text as a temporary file."""
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", suffix=suffix, dir=folder, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)


def checked(kind: Callable[..., T], params: Mapping[str, Any]) -> T:
    """An options object from a dictionary, or an error with everything that is invalid."""
    if wrong := problems(kind, params):
        raise UsageError("U010", wrong[0], notes=wrong[1:])
    return kind(**constructor_arguments(kind, params))


def _options_class(run: Run) -> Any:
    """The class of the inference options, by the form of the task."""
    if run.task.form is Form.NEXT:
        return CompositionOptions if isinstance(run.model.signature.target, Bits) else Sampling
    return ForecastRequest if run.task.form is Form.FORECAST else Search


def _hidden(run: Run) -> tuple[str, ...]:
    return HIDDEN if _options_class(run) is Search else ("series",)


def _predict(
    run: Run, inputs: Sequence[str], params: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    plain = {name: value for name, value in params.items() if name not in CONSTRAINTS}
    known = {option.name for option in parameters_of(run)}
    if hidden := [name for name in plain if name in HIDDEN and name not in known]:
        raise UsageError("U010", f"{hidden[0]!r} is not an option of this request")
    check_maxima(plain, {"beam": limits.beam, "nbest": limits.beam, "limit": limits.generated})
    search = checked(Search, plain)
    search = replace(search, limit=_limit(run, search.limit, limits))
    if has_labels(run.task):
        search = replace(search, probabilities=True)
    search.validate_for(run.model.signature)
    prefix, allow = _constraints(params)
    if prefix or allow:
        search = run.constrained(search, allow=allow, prefix=prefix)
    answers = run.predictions(inputs, search)
    several = "nbest" if search.nbest > 1 else ""
    pairs = zip(inputs, answers, strict=True)
    return [as_dict(run.task, text, answer, several) for text, answer in pairs]


def _constraints(params: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Decoding constraints: the prefix of every output, and the allowed tokens."""
    prefix, allow = params.get("prefix", ""), params.get("allow", [])
    if not isinstance(prefix, str):
        raise UsageError("U010", f"prefix = {prefix!r}: expected a string")
    if not isinstance(allow, list) or not all(isinstance(one, str) for one in allow):
        raise UsageError("U010", "allow: expected a list of tokens")
    return prefix, allow


def _generate(
    run: Run, inputs: Sequence[str], params: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """Sampled continuations of prompts, generated as one batch."""
    sampling, stop = _sampling(run, params, limits)
    rows = [{"input": text, "text": "", "ended": None, "symbols": 0} for text in inputs]
    end = time.monotonic() + limits.seconds
    for piece in run.stream_generate(inputs, sampling, stop=stop) if inputs else ():
        row: dict[str, Any] = rows[piece.row]
        row["text"] += piece.text
        row["ended"] = piece.ended
        row["symbols"] += 1
        if time.monotonic() > end:  # the request has timed out: free the worker
            raise too_long(limits.seconds)
    return rows


def _sampling(
    run: Run, params: Mapping[str, Any], limits: Limits
) -> tuple[Sampling, tuple[str, ...]]:
    stop = params.get("stop", [])
    stop = [stop] if isinstance(stop, str) else stop
    if not isinstance(stop, list) or not all(isinstance(text, str) for text in stop):
        raise UsageError("U010", "stop: expected a string or a list of strings")
    if len(stop) > MAX_STOPS:
        raise too_many("stop", len(stop), MAX_STOPS)
    plain = {name: value for name, value in params.items() if name != "stop"}
    check_maxima(plain, {"limit": limits.generated})
    sampling = checked(Sampling, plain)
    return replace(sampling, limit=_limit(run, sampling.limit, limits)), tuple(stop)


def _limit(run: Run, limit: int, limits: Limits) -> int:
    """The most tokens of an output: never more than the server generates in one request."""
    return min(run.model.output_limit(limit), limits.generated)


def _compose(
    run: Run, inputs: Sequence[str], params: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """Generated pieces of music that continue prompts (piano rolls, in the task's text format)."""
    check_maxima(params, {"steps": limits.generated})
    composing, task = checked(CompositionOptions, params), run.music_task()
    outputs = []
    for text in inputs:
        frames = task.question(text).frames if text.strip() else ()
        piece = run.compose(composing, prompt=frames)
        outputs.append({"input": text, **piece.to_json(), "view": piece.view(run.name).to_json()})
    return outputs


def _forecast(
    run: Run, inputs: Sequence[str], params: Mapping[str, Any], limits: Limits, scratch: Path
) -> list[dict[str, Any]]:
    """Forecasts of time series; each input is a CSV file as text, or plain numbers."""
    check_maxima(params, {"horizon": limits.generated, "samples": MAX_SAMPLES})
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()}
    forecast_options = checked(ForecastRequest, plain)
    outputs = []
    for text in inputs:
        if (numbers := _numbers(text)) is not None:
            outlooks = run.forecast(numbers, forecast_options)
        else:
            with as_file(text, scratch) as file:
                outlooks = run.forecast(file, forecast_options)
        view = forecast_view(outlooks).to_json()
        outputs.append({"input": text, **view, "outlooks": [one.as_dict() for one in outlooks]})
    return outputs


def _numbers(text: str) -> list[float] | None:
    """One typed series, its numbers on one line or one per line; None if the text is a file."""
    lines = text.split("\n") if "\n" in text.strip() else re.split(r"[\s,;]+", text.strip())
    try:
        values = [float(line) for line in lines if line.strip()]
    except ValueError:
        return None
    return values if values and all(map(isfinite, values)) else None


def check_maxima(params: Mapping[str, Any], maxima: Mapping[str, int]) -> None:
    """Refuse integer options above their limits."""
    for name, limit in maxima.items():
        value = params.get(name)
        if isinstance(value, int) and value > limit:
            raise too_many(name, value, limit)


def _token(run: Run, piece: TextChunk, position: int) -> dict[str, Any]:
    log_probs = piece.log_probs if piece.log_probs is not None else np.zeros(0)
    best = np.argsort(-log_probs, kind="stable")[:ALTERNATIVES].tolist()
    return {
        "text": piece.text,
        "symbol": run.task.show_token(piece.token),
        "p": exp(log_probs[piece.token]),
        "alternatives": [[run.task.show_token(one), exp(log_probs[one])] for one in best],
        "place": position,
        "ended": piece.ended,
    }


def _num_tokens(run: Run, inputs: Sequence[str]) -> int:
    """The number of input tokens, or of input time steps."""
    if run.task.form is Form.FORECAST:
        return sum(text.count("\n") for text in inputs)
    return sum(run.task.length(run.task.question(text)) for text in inputs if text.strip())
