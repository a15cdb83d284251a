"""What moved an answer, the same picture for every family; and how far back gradients reach."""

import numpy as np
from jaxtyping import Float

from ..batch import Sequences
from ..errors import ModelError
from ..inference.forecast import AsksAhead, chosen_series
from ..model import LearnsByGradient, Search
from ..signature import Bits, Form, Series
from ..views import InfluenceView, MemoryView, Moved
from .attribution import How, Question, explained
from .base import Kind
from .context import Looking, Reach, Subject
from .layers import chosen
from .next_token import place
from .options import LAST

OBSERVATIONS, AHEAD = 100, 24  # steps of a past and of a future that are shown
NUDGE = 0.05  # of the deviation of a series: so far an observation is moved up and down


def _influence(looking: Looking) -> InfluenceView:
    if looking.subject.form is Form.FORECAST:
        return _resting(looking)
    options = looking.options
    at = ""
    if options.at != LAST:
        here = looking.target if looking.subject.form is Form.TRANSDUCE else looking.source
        number = place(options.at, here, "the rail")
        is_after = looking.subject.is_next and number == len(here) - 1
        at = "" if is_after else str(number + 1)
    about = Question(at=at, beam=options.beam or 1)
    found = (looking.model, looking.task, looking.question, looking.name)
    return explained(*found, how=How(by=options.by), about=about)


def _resting(looking: Looking) -> InfluenceView:
    """∂ forecast / ∂ observation: exact where a model is linear, as a Kalman filter is.

    Each observation is moved up and down by a little, and the forecast is made anew.
    """
    task, options = looking.task, looking.options
    if not isinstance(task, AsksAhead) or not isinstance(space := looking.subject.source, Series):
        raise TypeError(f"{type(task).__name__} forecasts nothing")
    if options.by:
        raise ModelError(
            "M341",
            f"{looking.name} cannot be explained by {options.by}: it forecasts numbers",
            help=["leave by out: each observation is moved a little"],
        )
    several = chosen_series(looking.question, looking.series)
    series = several[0]
    window = task.ahead(series, 0)
    rows = np.asarray(task.ask(window), dtype=np.float64)
    past = window.cut - window.begin
    reach = Reach.of(looking.model).rows or past
    first = max(0, past - min(OBSERVATIONS, reach))
    with looking.model.at_rest():
        weights = _weights(looking, rows, first, past)
    steps = range(weights.shape[0])
    times = window.series.times
    ahead = [series_time(times, window.cut, step) for step in steps]
    if options.at != LAST:
        steps = range(at := place(options.at, ahead, "the future"), at + 1)
    steps = steps[:AHEAD]
    notes = ["by how much the forecast rises where an observation is one higher"]
    notes += [f"the first of {len(several)} series"] * (len(several) > 1)
    notes += ["of its first number alone"] * (space.width > 1)
    notes += [f"the last {past - first} of {past} steps"] * (first > 0)
    return InfluenceView(
        list(times[window.begin + first : window.cut]),
        [Moved(ahead[step], step + 1) for step in steps],
        weights[list(steps)],
        looking.name,
        by="moving each observation",
        unit="weight",
        notes=notes,
    )


def _weights(
    looking: Looking, rows: Float[np.ndarray, "time all"], first: int, past: int
) -> Float[np.ndarray, "ahead observations"]:
    """How the forecast of the first number follows each of its observations."""
    observed = rows[:past, 0]
    known = observed[np.isfinite(observed)]
    is_counted = bool(len(known)) and bool((known == np.round(known)).all())
    nudge = 1.0 if is_counted else NUDGE * (float(known.std()) if len(known) else 1.0) or NUDGE
    moved = [rows]
    for step in range(first, past):
        for by in (nudge,) if is_counted else (nudge, -nudge):
            other = rows.copy()
            other[step, 0] += by
            moved.append(other)
    found = looking.model.predict(Sequences.pad(moved), Search()).foreseen
    base, *others = (np.asarray(one.mean)[:, 0] for one in found)
    if is_counted:
        weights = np.array([(other - base) / nudge for other in others]).T
    else:
        pairs = zip(others[::2], others[1::2], strict=True)
        weights = np.array([(up - down) / (2 * nudge) for up, down in pairs]).T
    weights = weights.reshape(len(base), past - first)
    weights[:, ~np.isfinite(observed[first:])] = np.nan
    return np.asarray(weights)


def series_time(times: tuple[str, ...], cut: int, step: int) -> str:
    """What a step ahead is called."""
    return times[cut + step] if cut + step < len(times) else f"step {step + 1} ahead"


def _gradient_flow(looking: Looking) -> MemoryView:
    # torch is imported only where it is needed
    from .gradient_flow.models import memory_of_model  # noqa: PLC0415

    names = [f"layer {number + 1}" for number in range(_layers(looking.subject))]
    number = chosen(looking.options.layer, names, "layer") + 1
    found = memory_of_model(
        looking.model, [looking.lesson], looking.name, clip=looking.clip, layer=number
    )
    return MemoryView([found], layers=names, layer=number - 1)


def _layers(subject: Subject) -> int:
    """How many recurrent layers there are through which gradients can be followed."""
    if not isinstance(subject.model, LearnsByGradient):
        return 0
    from .gradient_flow.models import measured_layers  # noqa: PLC0415

    return measured_layers(subject.model, subject.sample_batch)


INFLUENCE = Kind(
    "influence",
    "Influence",
    "Which of the symbols that were read moved the answer, and how far back that reaches.",
    lambda subject: not (subject.form is Form.NEXT and isinstance(subject.target, Bits)),
    _influence,
    ("at", "by", "beam"),
)
GRADIENT_FLOW = Kind(
    "gradient_flow",
    "Gradient through time",
    "How fast gradients fade or grow on their way back through a recurrent layer.",
    lambda subject: _layers(subject) > 0,
    _gradient_flow,
    ("layer", "beam"),
    edits=False,  # gradients are followed through a copy
)
