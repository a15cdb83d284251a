"""From the JSON of a view back to the view: what probes keep can be drawn again."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..prediction import LEVELS
from ..views import (
    AttentionView,
    ChoicesView,
    Fan,
    ForecastView,
    GatesView,
    HierarchyView,
    NextView,
    StatesView,
    SurpriseView,
    TagsView,
    TrellisView,
    View,
)
from ..views.next_token import Drawn
from ..views.tags import Labelled

Told = dict[str, Any]


def rebuilt(told: Told) -> View:
    """The view that has this JSON, with its sentence and its notes as they were."""
    view = REBUILT[told["view"]](told)
    view.caption, view.notes = told["caption"], tuple(told["notes"])
    view.as_kept = told
    return view


def _attention(told: Told) -> View:
    tokens, head = told["tokens"], told["head"]
    return AttentionView(
        tokens["src"],
        tokens["tgt"],
        told["weights"],
        told["model"],
        layers=told["layers"],
        layer=told["layer"],
        heads=told["heads"],
        head=-1 if head == "mean" else head,
        rail=told["rail"],
    )


def _choices(told: Told) -> View:
    choices = told["choices"]
    labels, chances = [one["label"] for one in choices], [one["p"] for one in choices]
    source = told["tokens"]["src"]
    return ChoicesView(source, labels, chances, told["model"], several=told["several"])


def _forecast(told: Told) -> View:
    fans = [
        Fan(
            one["name"],
            _numbers(one["past"]),
            _numbers(one["mean"]),
            np.stack([_numbers(one["quantiles"][f"{level:g}"]) for level in LEVELS], axis=1),
            (*one["times"]["past"], *one["times"]["ahead"]),
            None if one["actual"] is None else _numbers(one["actual"]),
        )
        for one in told["series"]
    ]
    return ForecastView(fans, told["model"])


def _gates(told: Told) -> View:
    gates = {name: one["values"] for name, one in told["gates"].items()}
    layers, symbols = told["layers"], told["tokens"]["src"]
    return GatesView(symbols, gates, told["model"], layers=layers, layer=told["layer"])


def _hierarchy(told: Told) -> View:
    found = told["sentences"]
    words = [one["words"] for one in found]
    weights = [one["weights"] for one in found]
    return HierarchyView(words, [one["weight"] for one in found], weights, told["model"])


def _next(told: Told) -> View:
    """What was not listed is one symbol without a name."""
    choices = told["choices"]
    names = [one["symbol"] for one in choices]
    chances = np.array([one["p"] for one in choices])
    drawn = Drawn(
        np.array([one["after"] for one in choices]),
        told["temperature"],
        told["top_k"],
        told["top_p"],
        told["min_p"],
    )
    came = told["came"] and told["came"]["symbol"]
    number = names.index(came) if came in names else None
    is_read = told["rail"] == "src"
    rail = told["tokens"][told["rail"]]
    source = None if is_read else told["tokens"]["src"]
    return NextView(
        rail, told["at"], names, chances, drawn, told["model"], came=number, source=source
    )


def _states(told: Told) -> View:
    names, symbols = told["layers"], told["tokens"]["src"]
    return StatesView(symbols, told["values"], told["model"], layers=names, layer=told["layer"])


def _surprise(told: Told) -> View:
    ranks = [rank or 0 for rank in told["ranks"]]
    return SurpriseView(told["tokens"]["src"], _numbers(told["bits"]), ranks, told["model"])


def _tags(told: Told) -> View:
    tags = [
        Labelled(one["label"], one["p"], tuple((label, p) for label, p in one["alternatives"]))
        for one in told["tags"]
    ]
    spans = [(one["label"], one["start"], one["end"]) for one in told["spans"]]
    return TagsView(told["tokens"]["src"], tags, told["labels"], spans, told["model"])


def _trellis(told: Told) -> View:
    return TrellisView(
        told["tokens"]["src"],
        told["states"],
        told["filtered"],
        told["smoothed"],
        told["path"],
        told["model"],
        moves=np.array(told["moves"]) if "moves" in told else None,
        shows=[[(name, p) for name, p in row] for row in told.get("shows", [])],
        offset=told["offset"],
    )


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


REBUILT: dict[str, Callable[[Told], View]] = {
    "attention": _attention,
    "choices": _choices,
    "forecast": _forecast,
    "gates": _gates,
    "hierarchy": _hierarchy,
    "next": _next,
    "states": _states,
    "surprise": _surprise,
    "tags": _tags,
    "trellis": _trellis,
}
