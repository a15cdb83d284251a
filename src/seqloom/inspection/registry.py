"""Registry of the kinds of views, in the order in which a page shows them."""

from .attention_gates import ATTENTION, GATES, HEADS, HIERARCHY
from .attribution_views import GRADIENT_FLOW, INFLUENCE
from .base import ViewKind
from .beam import BEAM
from .forecast import COMPONENTS, FORECAST
from .labels import TAGS, TRELLIS
from .neurons import CELL, STATES
from .next_token import CHOICES, NEXT, SURPRISE

VIEW_KINDS: dict[str, ViewKind] = {
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
