"""The tree of a search: what was kept at each step, what was dropped, and why."""

from dataclasses import replace

from ..evaluation.evaluate import Answer, predict
from ..inference.constraints import ruled
from ..prediction import Node, Search, Tree
from ..signature import END, Form, Tokens
from ..views import BeamView
from ..views.beam import Candidate, Written
from .base import Kind
from .context import Looking
from .next_token import names_of, writes_symbols
from .options import CANDIDATES

GOES_ON, ANSWERS = 12, 100  # symbols that a search may write, where nobody says how many


def _beam(looking: Looking) -> BeamView:
    search = _search(looking)
    wide = predict(looking.model, looking.task, [looking.question], search)[0]
    alone = replace(search, beam=1, nbest=1, tree=False)
    greedy = predict(looking.model, looking.task, [looking.question], alone)[0]
    tree = wide.tree or Tree((), ())
    most = max([node.symbol for node in tree.nodes] or [0]) + 1
    target = looking.subject.target
    names = names_of(looking, max(most, target.size if isinstance(target, Tokens) else 0))
    nodes = [
        Candidate(
            node.parent,
            node.step - _before(looking),
            names[node.symbol],
            node.log_prob,
            node.fate,
            _why(node, tree, search, _before(looking)),
            node.score,
        )
        for node in tree.nodes
    ]
    nodes, answers = _without_given(nodes, tree)
    return BeamView(
        looking.source,
        nodes,
        answers,
        [_written(looking, one) for one in (wide, *wide.others)],
        _written(looking, greedy),
        looking.name,
        beam=search.beam,
        notes=[f"every answer begins with “{looking.options.prefix}”"]
        * bool(looking.options.prefix),
    )


def _search(looking: Looking) -> Search:
    options, target = looking.options, looking.subject.target
    size = target.size - 2 if isinstance(target, Tokens) else CANDIDATES
    beam = options.beam or max(1, min(CANDIDATES, size))
    is_next = looking.subject.form is Form.NEXT
    limit = options.limit or (GOES_ON if is_next else ANSWERS)
    search = Search(
        beam=beam, nbest=beam, length_penalty=options.length_penalty, limit=limit, tree=True
    )
    return ruled(looking.task, search, (), options.prefix)


def _before(looking: Looking) -> int:
    """How many symbols of a text that goes on are given: they are no part of the tree."""
    return len(looking.read) - 1 if looking.subject.is_next else 0


def _written(looking: Looking, answer: Answer) -> Written:
    return Written(looking.task.show(answer.value), answer.log_prob)


def _without_given(nodes: list[Candidate], tree: Tree) -> tuple[list[Candidate], list[int]]:
    """The nodes of the answer alone, and the places among them of those with which answers end."""
    kept = [number for number, node in enumerate(nodes) if node.step >= 0]
    places = {number: place for place, number in enumerate(kept)}
    found = [replace(nodes[number], parent=places.get(nodes[number].parent, -1)) for number in kept]
    return found, [places[number] for number in tree.answers if number in places]


def _why(node: Node, tree: Tree, search: Search, before: int) -> str:
    """What became of a candidate, in words."""
    if node.fate == "grows":
        return "kept, and goes on"
    if node.fate == "ended":
        score = "" if node.score is None else f", with the score {node.score:.2f}"
        return f"ended{score}"
    if node.fate == "cut":
        if node.step + 1 - before >= search.limit:
            return f"cut off: {search.limit} symbols are the limit"
        return "cut off: enough had ended, or nothing better could come"
    kept = [one for one in tree.nodes if one.step == node.step and one.fate != "dropped"]
    least = min((one.log_prob for one in kept), default=node.log_prob)
    if node.symbol == END and node.log_prob >= least:
        return f"dropped: it ends, and is not among the best {search.beam}"
    return (
        f"dropped: {len(kept)} better ones, the last with {least:.2f}, this has {node.log_prob:.2f}"
    )


BEAM = Kind(
    "beam",
    "Search tree",
    "What a search for the best answer looked at, what it dropped and why.",
    writes_symbols,
    _beam,
    ("beam", "length_penalty", "prefix", "limit"),
)
