"""All kinds of view, in the order in which a page shows them."""

from .ahead import COMPONENTS, FORECAST
from .chances import CHOICES, NEXT, SURPRISE
from .influences import GRADIENT_FLOW, INFLUENCE
from .kind import Kind
from .labelled import TAGS, TRELLIS
from .recorded import ATTENTION, GATES, HEADS, HIERARCHY
from .searched import BEAM
from .states import CELL, STATES

KINDS: dict[str, Kind] = {  # in the order of the page
    kind.view: kind
    for kind in (
        FORECAST,
        COMPONENTS,
        CHOICES,
        TAGS,
        NEXT,
        SURPRISE,
        CELL,
        HIERARCHY,
        ATTENTION,
        HEADS,
        INFLUENCE,
        GATES,
        STATES,
        GRADIENT_FLOW,
        TRELLIS,
        BEAM,
    )
}
