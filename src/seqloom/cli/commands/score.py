"""seqloom score: how likely a run thinks sentences are, and which of several is likeliest."""

import argparse
import itertools
import math
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...errors import UsageError
from ...inference.score import Score
from ...runs.record import to_json
from ...runs.run import must_predict_symbols
from ...views.draw.text import fold, to_ascii
from ...views.draw.text_heatmap import block_levels, text_grid
from ..arguments import given_twice
from ..inputs import STANDARD_INPUT, arguments, batches, lines_of
from ..loading import UnknownSymbols, load_run
from ..terminal import can_show, mark, show, table, visible, width

MOST = 1000  # more alternatives than anyone wants to read
SLOT = re.compile(r"\{([^{}]*\|[^{}]*)\}")
HEAD = ["log p", "bits", "per symbol"]
NEVER_CUT = 1 << 20  # columns: sentences stand last, so they may be as long as they are


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "sentences",
        metavar="SENTENCE",
        nargs="*",
        help="what to score; {one|other} tries both and ranks them",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="sentences, one a line; - is standard input"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of FILE")
    parser.add_argument("--rank", action="store_true", help="rank all, the likeliest first")
    parser.add_argument(
        "--surprise", action="store_true", help="show how many bits every symbol surprises by"
    )


def run(given: argparse.Namespace) -> int:
    """Print the score of every sentence; of alternatives the likeliest first."""
    groups = _groups(given)
    run = load_run(given.run, given.runs_dir)
    must_predict_symbols(run, given.command)
    unknown = UnknownSymbols(run, given.quiet)
    for number, group in enumerate(groups):
        for text in group.texts:
            unknown.count(text)
        unknown.tell()
        scores = run.score(group.texts)
        if group.is_ranked:
            scores.sort(key=lambda score: -score.log_prob)
        for line in _told(scores, number, group.is_ranked, given):
            show(line)
        sys.stdout.flush()
    return 0


class Group(NamedTuple):
    """Sentences that are told of together."""

    texts: list[str]
    is_ranked: bool


def _groups(given: argparse.Namespace) -> Iterator[Group]:
    """Arguments if there are any, else the lines of the file, else of standard input."""
    if given.sentences and given.file:
        raise given_twice("sentences")
    if given.sentences:
        return _alternatives(list(arguments(given.sentences)), given.rank)
    lines = lines_of(given.file or STANDARD_INPUT, given.encoding)
    texts = (line for line in lines if line.strip())
    if given.rank:
        return iter([Group(list(texts), True)])
    return (Group(some, False) for some in batches(texts))


def _alternatives(sentences: list[str], rank: bool) -> Iterator[Group]:
    """The alternatives of each sentence are a group; those that have none stand together."""
    written = [alternatives(sentence) for sentence in sentences]
    if rank:
        yield Group([text for texts in written for text in texts], True)
        return
    for have_some, found in itertools.groupby(written, key=lambda texts: len(texts) > 1):
        if have_some:
            yield from (Group(texts, True) for texts in found)
        else:
            yield Group([text for texts in found for text in texts], False)


def alternatives(sentence: str) -> list[str]:
    """Every way to read a sentence with {one|other} in it; braces without a bar are text."""
    parts = SLOT.split(sentence)  # text, choices, text, choices, ... text
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    if (count := math.prod(map(len, choices))) > MOST:
        raise UsageError(
            "U033",
            f"the sentence can be read in {count:,} ways; at most {MOST:,} are ranked",
            help=["choose among fewer words, or rank the lines of a file: --file FILE --rank"],
        )
    return ["".join(parts) for parts in itertools.product(*choices)]


def _told(
    scores: list[Score], number: int, is_ranked: bool, given: argparse.Namespace
) -> list[str]:
    """The lines of one group of several; those of a file have one heading for all."""
    if given.json:
        return _objects(scores, is_ranked, given.surprise)
    lines = _lines(scores, is_ranked, given.surprise)
    if not number:
        return lines
    return ["", *lines] if given.sentences else lines[1:]


def _lines(scores: list[Score], is_ranked: bool, surprise: bool) -> list[str]:
    """A heading and a line for each sentence, with a picture below it if asked for."""
    best = max((score.log_prob for score in scores), default=0.0)
    head = [["", *HEAD, "sentence"] if is_ranked else [*HEAD, "sentence"]]
    rows = [_row(score, best, is_ranked, place) for place, score in enumerate(scores)]
    align = "lrrrl" if is_ranked else "rrrl"
    lines = table(head + rows, align, room=NEVER_CUT)
    if not surprise:
        return lines
    scale = max((bits for score in scores for _, bits in score.surprise()), default=0.0)
    drawn = [[line, "", *_picture(s, scale), ""] for line, s in zip(lines[1:], scores, strict=True)]
    return [lines[0], *itertools.chain(*drawn)]


def _row(score: Score, best: float, is_ranked: bool, place: int) -> list[str]:
    numbers = [f"{score.log_prob:.2f}", f"{score.bits:.2f}", f"{score.bits_per_symbol:.2f}"]
    text = visible(score.text)
    if not is_ranked:
        return [*numbers, text]
    if place == 0:
        return [mark("best", sys.stdout), *numbers, text]
    return ["", *numbers, f"{text}   ({_times(best - score.log_prob)})"]


def _times(nats: float) -> str:
    """How much less likely something is: exp(nats) times."""
    if not nats > 0:  # two impossible things differ by what is no number
        return "as likely"
    if math.isinf(nats):
        return "impossible"
    if nats > math.log(1e6):
        return f"10^{nats / math.log(10):.0f} times less likely"
    times = math.exp(nats)
    return f"{times:,.0f} times less likely" if times >= 10 else f"{times:.2g} times less likely"


def _picture(score: Score, scale: float) -> list[str]:
    """A block for each symbol, as high as it surprises, and the most surprising in words."""
    is_plain = not can_show("▁█·", sys.stdout)
    surprise = score.surprise()
    heights = np.array([[bits for _, bits in surprise]]) / max(scale, 1e-9)
    blocks = block_levels(np.minimum(np.nan_to_num(heights, nan=1.0), 1.0), ascii=is_plain)
    lines = text_grid(["bits"], score.symbols, blocks, width(), ascii=is_plain)
    most = sorted(surprise, key=lambda pair: -pair[1])[:3]
    named = ", ".join(f"{visible(symbol)!r} {bits:.1f}" for symbol, bits in most)
    caption = f"Most surprising, in bits: {named}. A full block is {scale:.1f} bits."
    return [*lines, "", *fold(to_ascii(caption) if is_plain else caption, width())]


def _objects(scores: list[Score], is_ranked: bool, surprise: bool) -> list[str]:
    found: list[dict[str, Any]] = [
        {
            "text": score.text,
            "log_prob": score.log_prob,
            "bits": score.bits,
            "symbols": len(score.symbols),
            "bits_per_symbol": score.bits_per_symbol,
            "perplexity": score.perplexity,
            "unknown": score.unknown,
        }
        for score in scores
    ]
    for place, score in enumerate(scores):
        if is_ranked:
            found[place]["rank"] = place + 1
        if surprise:
            pairs = score.surprise()
            found[place]["surprise"] = [{"symbol": name, "bits": bits} for name, bits in pairs]
    return [to_json(one) for one in found]
