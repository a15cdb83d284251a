"""seqloom score: log-probability and surprisal of sentences, and ranking of alternatives."""

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
from ...runs.run import Run, require_language_model
from ...views.draw.text import fold, to_ascii
from ...views.draw.text_heatmap import block_levels, text_grid
from ..arguments import conflicting_inputs
from ..inputs import STANDARD_INPUT, argument_texts, batches, text_lines
from ..loading import UnknownTokens, load_run
from ..terminal import can_show, mark, show, table, visible, width

MOST = 1000  # alternatives of a sentence
SLOT = re.compile(r"\{([^{}]*\|[^{}]*)\}")
HEAD = ["log p", "bits", "per token"]
NEVER_CUT = 1 << 20  # columns: sentences are the last column, and are not cut


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "sentences",
        metavar="SENTENCE",
        nargs="*",
        help="sentence to score; {one|other} scores and ranks both",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="file of sentences, one per line; - is standard input"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of FILE (utf-8)"
    )
    parser.add_argument("--rank", action="store_true", help="rank all sentences by probability")
    parser.add_argument(
        "--surprise", action="store_true", help="show the surprisal of every token, in bits"
    )


def run(args: argparse.Namespace) -> int:
    """Print the score of every sentence; alternatives are ranked."""
    if args.sentences and args.file:
        raise conflicting_inputs("sentences")
    run = load_run(args.run, args.runs_dir)
    require_language_model(run, args.command)
    groups = _groups(run, args)
    unknown = UnknownTokens(run, args.quiet)
    for number, group in enumerate(groups):
        for text in group.texts:
            unknown.count(text)
        unknown.report()
        scores = run.score(group.texts)
        if group.is_ranked:
            scores.sort(key=lambda score: -score.log_prob)
        for line in _group_lines(scores, number, group.is_ranked, args):
            show(line)
        sys.stdout.flush()
    return 0


class Group(NamedTuple):
    """Sentences that are printed in one table."""

    texts: list[str]
    is_ranked: bool


def _groups(run: Run, args: argparse.Namespace) -> Iterator[Group]:
    """Sentences from arguments, else from the file, else from standard input."""
    if args.sentences:
        return _alternatives(list(argument_texts(args.sentences)), args.rank)
    lines = text_lines(args.file or STANDARD_INPUT, run.task, args)
    texts = (line for line in lines if line.strip())
    if args.rank:
        return iter([Group(list(texts), True)])
    return (Group(some, False) for some in batches(texts))


def _alternatives(sentences: list[str], rank: bool) -> Iterator[Group]:
    """A group for the alternatives of each sentence; sentences without share a group."""
    written = [alternatives(sentence) for sentence in sentences]
    if rank:
        yield Group([text for texts in written for text in texts], True)
        return
    for have_some, group in itertools.groupby(written, key=lambda texts: len(texts) > 1):
        if have_some:
            yield from (Group(texts, True) for texts in group)
        else:
            yield Group([text for texts in group for text in texts], False)


def alternatives(sentence: str) -> list[str]:
    """Every expansion of a sentence with {one|other} in it; braces without a bar are text."""
    parts = SLOT.split(sentence)  # text, choices, text, choices, ... text
    choices = [part.split("|") if index % 2 else [part] for index, part in enumerate(parts)]
    if (count := math.prod(map(len, choices))) > MOST:
        raise UsageError(
            "U033",
            f"the sentence has {count:,} alternatives; at most {MOST:,} are ranked",
            help=["use fewer alternatives, or rank the lines of a file: --file FILE --rank"],
        )
    return ["".join(parts) for parts in itertools.product(*choices)]


def _group_lines(
    scores: list[Score], number: int, is_ranked: bool, args: argparse.Namespace
) -> list[str]:
    """The lines of a group; the groups of a file share one heading."""
    if args.json:
        return _objects(scores, is_ranked, args.surprise)
    lines = _lines(scores, is_ranked, args.surprise)
    if not number:
        return lines
    return ["", *lines] if args.sentences else lines[1:]


def _lines(scores: list[Score], is_ranked: bool, surprise: bool) -> list[str]:
    """A heading and a line for each sentence, with its surprisals below if wanted."""
    best = max((score.log_prob for score in scores), default=0.0)
    head = [["", *HEAD, "sentence"] if is_ranked else [*HEAD, "sentence"]]
    rows = [_row(score, best, is_ranked, rank) for rank, score in enumerate(scores)]
    align = "lrrrl" if is_ranked else "rrrl"
    lines = table(head + rows, align, room=NEVER_CUT)
    if not surprise:
        return lines
    scale = max((bits for score in scores for _, bits in score.surprisal()), default=0.0)
    blocks = [
        [line, "", *_picture(s, scale), ""] for line, s in zip(lines[1:], scores, strict=True)
    ]
    return [lines[0], *itertools.chain(*blocks)]


def _row(score: Score, best: float, is_ranked: bool, rank: int) -> list[str]:
    numbers = [f"{score.log_prob:.2f}", f"{score.bits:.2f}", f"{score.bits_per_token:.2f}"]
    text = visible(score.text)
    if not is_ranked:
        return [*numbers, text]
    if rank == 0:
        return [mark("best", sys.stdout), *numbers, text]
    return ["", *numbers, f"{text}   ({_times(best - score.log_prob)})"]


def _times(nats: float) -> str:
    """A difference of log-probabilities in words: exp(nats) times less likely."""
    if not nats > 0:  # of two impossible sentences the difference is NaN
        return "as likely"
    if math.isinf(nats):
        return "impossible"
    if nats > math.log(1e6):
        return f"10^{nats / math.log(10):.0f} times less likely"
    times = math.exp(nats)
    return f"{times:,.0f} times less likely" if times >= 10 else f"{times:.2g} times less likely"


def _picture(score: Score, scale: float) -> list[str]:
    """A bar for the surprisal of each token, and the largest in words."""
    is_plain = not can_show("▁█·", sys.stdout)
    surprise = score.surprisal()
    heights = np.array([[bits for _, bits in surprise]]) / max(scale, 1e-9)
    blocks = block_levels(np.minimum(np.nan_to_num(heights, nan=1.0), 1.0), ascii=is_plain)
    lines = text_grid(["bits"], score.tokens, blocks, width(), ascii=is_plain)
    most = sorted(surprise, key=lambda pair: -pair[1])[:3]
    named = ", ".join(f"{visible(token)!r} {bits:.1f}" for token, bits in most)
    caption = f"Largest surprisal, in bits: {named}. A full block is {scale:.1f} bits."
    return [*lines, "", *fold(to_ascii(caption) if is_plain else caption, width())]


def _objects(scores: list[Score], is_ranked: bool, surprise: bool) -> list[str]:
    facts: list[dict[str, Any]] = [
        {
            "text": score.text,
            "log_prob": score.log_prob,
            "bits": score.bits,
            "symbols": len(score.tokens),
            "bits_per_symbol": score.bits_per_token,
            "perplexity": score.perplexity,
            "unknown": score.unknown,
        }
        for score in scores
    ]
    for rank, score in enumerate(scores):
        if is_ranked:
            facts[rank]["rank"] = rank + 1
        if surprise:
            pairs = score.surprisal()
            facts[rank]["surprise"] = [{"symbol": name, "bits": bits} for name, bits in pairs]
    return [to_json(one) for one in facts]
