"""View of a beam search tree: which hypotheses were kept at each step, which dropped, and why."""

from dataclasses import replace

from ..decoding import output_limit
from ..evaluation.evaluate import ExamplePrediction, predict
from ..inference.constraints import constrained
from ..prediction import Search, SearchNode, SearchTree
from ..signature import END, Form, Tokens
from ..views import BeamView
from ..views.beam import BeamNode, DecodedText
from .base import ViewKind
from .context import Inspection
from .next_token import generates_tokens, output_names
from .options import DEFAULT_BEAM

CONTINUATION = 12  # default limit on the length of a continuation


def _beam(inspection: Inspection) -> BeamView:
    search = _search(inspection)
    best = predict(inspection.model, inspection.task, [inspection.question], search)[0]
    greedy_search = replace(search, beam=1, nbest=1, tree=False)
    greedy = predict(inspection.model, inspection.task, [inspection.question], greedy_search)[0]
    tree = best.tree or SearchTree((), ())
    most = max([node.token for node in tree.nodes] or [0]) + 1
    target = inspection.subject.target
    names = output_names(inspection, max(most, target.size if isinstance(target, Tokens) else 0))
    prefix = _prefix_length(inspection)
    stop = _stop_reason(tree, search, prefix)
    nodes = [
        BeamNode(
            node.parent,
            node.step - prefix,
            names[node.token],
            node.log_prob,
            node.status,
            _reason(node, tree, search, prefix, stop),
            node.score,
        )
        for node in tree.nodes
    ]
    nodes, ends = _without_prefix(nodes, tree)
    return BeamView(
        inspection.source,
        nodes,
        ends,
        [_decoded(inspection, one) for one in (best, *best.others)],
        _decoded(inspection, greedy),
        inspection.name,
        beam=search.beam,
        notes=[
            *[f"every output begins with “{inspection.options.prefix}”"]
            * bool(inspection.options.prefix),
            *[f"The search stopped: {stop}."] * bool(stop),
        ],
    )


def _search(inspection: Inspection) -> Search:
    options, target = inspection.options, inspection.subject.target
    size = target.size - 2 if isinstance(target, Tokens) else DEFAULT_BEAM
    beam = options.beam or max(1, min(DEFAULT_BEAM, size))
    is_next = inspection.subject.form is Form.NEXT
    limit = output_limit(inspection.model, options.limit or CONTINUATION * is_next)
    search = Search(
        beam=beam, nbest=beam, length_penalty=options.length_penalty, limit=limit, tree=True
    )
    return constrained(inspection.task, search, (), options.prefix)


def _prefix_length(inspection: Inspection) -> int:
    """The tokens of the text that a language model continues, which are no part of the tree."""
    return len(inspection.inputs) - 1 if inspection.subject.is_language_model else 0


def _decoded(inspection: Inspection, prediction: ExamplePrediction) -> DecodedText:
    return DecodedText(inspection.task.show(prediction.value), prediction.log_prob)


def _without_prefix(nodes: list[BeamNode], tree: SearchTree) -> tuple[list[BeamNode], list[int]]:
    """The nodes of the outputs alone, and the indices of those that end hypotheses."""
    kept = [number for number, node in enumerate(nodes) if node.step >= 0]
    index = {number: place for place, number in enumerate(kept)}
    outputs = [replace(nodes[n], parent=index.get(nodes[n].parent, -1)) for n in kept]
    return outputs, [index[number] for number in tree.ends if number in index]


def _score(node: SearchNode, search: Search, prefix: int) -> float:
    """The score of a candidate at its present length."""
    return node.log_prob / float(max(1, node.step + 1 - prefix) ** search.length_penalty)


def _stop_reason(tree: SearchTree, search: Search, prefix: int) -> str:
    """Why the search stopped, by the rule of `FinishedHypotheses.are_done`, in words."""
    last = max((node.step for node in tree.nodes), default=-1)
    if last + 1 - prefix >= search.limit:
        return f"the limit of {search.limit} tokens was reached"
    cut = [_score(node, search, prefix) for node in tree.nodes if node.status == "cut"]
    ended = [node.score for node in tree.nodes if node.status == "ended" and node.score is not None]
    kept = sorted(ended, reverse=True)[: search.beam]
    if not cut or not kept:
        return "no token can follow" if tree.nodes else ""
    if len(kept) == search.beam and kept[-1] >= max(cut):
        return (
            f"{search.beam} outputs have ended, and what still grew had a score of at most"
            f" {max(cut):.2f} at its present length, not above the worst of them, {kept[-1]:.2f}"
        )
    return f"what still grew cannot reach the score {kept[search.nbest - 1]:.2f} at any length"


def _reason(node: SearchNode, tree: SearchTree, search: Search, prefix: int, stop: str) -> str:
    """What became of a candidate, in words."""
    if node.status == "grows":
        return f"kept in the beam, with the score {_score(node, search, prefix):.2f} at this length"
    if node.status == "ended":
        score = "" if node.score is None else f", with the score {node.score:.2f}"
        return f"ended{score}"
    if node.status == "cut":
        return f"cut off, with the score {_score(node, search, prefix):.2f}: {stop}"
    kept = [one for one in tree.nodes if one.step == node.step and one.status != "dropped"]
    least = min((one.log_prob for one in kept), default=node.log_prob)
    if node.token == END and node.log_prob >= least:
        return f"dropped: it ends, and is not among the best {search.beam}"
    return (
        f"dropped: {len(kept)} are better, the last with {least:.2f}; this has {node.log_prob:.2f}"
    )


BEAM = ViewKind(
    "beam",
    "Search tree",
    "Beam search: the hypotheses at each step, which were dropped, and why.",
    generates_tokens,
    _beam,
    ("beam", "length_penalty", "prefix", "limit"),
)
