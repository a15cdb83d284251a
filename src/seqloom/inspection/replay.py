"""Rebuilding of views from their JSON, as which snapshots of training are stored."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..prediction import LEVELS
from ..views import (
    ActivationsView,
    AttentionView,
    FanChart,
    ForecastView,
    GatesView,
    HierarchyView,
    LabelProbabilitiesView,
    NextTokenView,
    SurprisalView,
    TagsView,
    TrellisView,
    View,
)
from ..views.next_token import SamplingDistribution
from ..views.tags import TaggedToken

Json = dict[str, Any]


def rebuild_view(json: Json) -> View:
    """The view that has this JSON, with its caption and its notes as they were."""
    view = VIEW_BUILDERS[json["view"]](json)
    view.caption, view.notes = json["caption"], tuple(json["notes"])
    view.stored_json = json
    return view


def _attention(json: Json) -> View:
    tokens, head = json["tokens"], json["head"]
    return AttentionView(
        tokens["src"],
        tokens["tgt"],
        json["weights"],
        json["model"],
        layers=json["layers"],
        layer=json["layer"],
        heads=json["heads"],
        head=-1 if head == "mean" else head,
        axis=json["rail"],
    )


def _label_probabilities(json: Json) -> View:
    choices = json["choices"]
    labels, probs = [one["label"] for one in choices], [one["p"] for one in choices]
    source = json["tokens"]["src"]
    return LabelProbabilitiesView(source, labels, probs, json["model"], several=json["several"])


def _forecast(json: Json) -> View:
    fans = [
        FanChart(
            one["name"],
            _numbers(one["past"]),
            _numbers(one["mean"]),
            np.stack([_numbers(one["quantiles"][f"{level:g}"]) for level in LEVELS], axis=1),
            (*one["times"]["past"], *one["times"]["ahead"]),
            None if one["actual"] is None else _numbers(one["actual"]),
        )
        for one in json["series"]
    ]
    return ForecastView(fans, json["model"])


def _gates(json: Json) -> View:
    gates = {name: one["values"] for name, one in json["gates"].items()}
    layers, tokens = json["layers"], json["tokens"]["src"]
    return GatesView(tokens, gates, json["model"], layers=layers, layer=json["layer"])


def _hierarchy(json: Json) -> View:
    sentences = json["sentences"]
    words = [one["words"] for one in sentences]
    weights = [one["weights"] for one in sentences]
    return HierarchyView(words, [one["weight"] for one in sentences], weights, json["model"])


def _next(json: Json) -> View:
    """The distribution over the listed tokens: the JSON has no others."""
    choices = json["choices"]
    names = [one["symbol"] for one in choices]
    probs = np.array([one["p"] for one in choices])
    sampling = SamplingDistribution(
        np.array([one["after"] for one in choices]),
        json["temperature"],
        json["top_k"],
        json["top_p"],
        json["min_p"],
    )
    actual = json["came"] and json["came"]["symbol"]
    number = names.index(actual) if actual in names else None
    is_read = json["rail"] == "src"
    context = json["tokens"][json["rail"]]
    source = None if is_read else json["tokens"]["src"]
    return NextTokenView(
        context, json["at"], names, probs, sampling, json["model"], actual=number, source=source
    )


def _states(json: Json) -> View:
    names, tokens = json["layers"], json["tokens"]["src"]
    return ActivationsView(tokens, json["values"], json["model"], layers=names, layer=json["layer"])


def _surprise(json: Json) -> View:
    ranks = [rank or 0 for rank in json["ranks"]]
    return SurprisalView(json["tokens"]["src"], _numbers(json["bits"]), ranks, json["model"])


def _tags(json: Json) -> View:
    tags = [
        TaggedToken(one["label"], one["p"], tuple((label, p) for label, p in one["alternatives"]))
        for one in json["tags"]
    ]
    spans = [(one["label"], one["start"], one["end"]) for one in json["spans"]]
    return TagsView(json["tokens"]["src"], tags, json["labels"], spans, json["model"])


def _trellis(json: Json) -> View:
    return TrellisView(
        json["tokens"]["src"],
        json["states"],
        json["filtered"],
        json["smoothed"],
        json["path"],
        json["model"],
        transitions=np.array(json["moves"]) if "moves" in json else None,
        emissions=[[(name, p) for name, p in row] for row in json.get("shows", [])],
        offset=json["offset"],
    )


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


VIEW_BUILDERS: dict[str, Callable[[Json], View]] = {
    "attention": _attention,
    "choices": _label_probabilities,
    "forecast": _forecast,
    "gates": _gates,
    "hierarchy": _hierarchy,
    "next": _next,
    "states": _states,
    "surprise": _surprise,
    "tags": _tags,
    "trellis": _trellis,
}
