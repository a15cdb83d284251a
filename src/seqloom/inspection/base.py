"""What a kind of view is: its name, its title, which models have it, and how it is made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..config import Option, options
from ..errors import UsageError
from ..signature import Form
from ..views import View
from .context import InspectedModel, Inspection
from .options import InspectionOptions


@dataclass(frozen=True)
class ViewKind:
    """One kind of view: `about` is a sentence on it, `takes` names its options.

    Where `edits` is true it can also be had of a model under interventions. Where `is_quadratic` is
    true, its work may grow with the square of the input's length.
    """

    view: str
    title: str
    about: str
    can: Callable[[InspectedModel], bool]
    make: Callable[[Inspection], View]
    takes: tuple[str, ...] = ()
    edits: bool = True
    is_quadratic: bool = False

    def of(self, inspection: Inspection) -> View:
        """The view of an input; for time series, with the observations."""
        view = self.make(inspection)
        if inspection.subject.form is Form.FORECAST:
            view.observations = inspection.series_context.shown()
        return view

    def options(self) -> list[Option]:
        """Its options, in the order of `InspectionOptions`."""
        return [option for option in options(InspectionOptions) if option.name in self.allowed]

    def check_options(self, names: Iterable[str]) -> None:
        """Refuse names that are not options of this view."""
        if unknown_options := [name for name in names if name not in self.allowed]:
            allowed = self.allowed
            raise UsageError(
                "U350",
                f"{unknown_options[0]}: the view {self.view} has no such option",
                help=[f"it takes: {', '.join(allowed)}" if allowed else "leave it out"],
            )

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of all its options."""
        return (*self.takes, "edit") if self.edits else self.takes
