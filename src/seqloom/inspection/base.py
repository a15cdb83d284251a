"""What a kind of view is: what it is called, what it says, who has it, and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass

from ..config import Option, options
from ..signature import Form
from ..views import View
from .context import Looking, Subject
from .options import Inspecting


@dataclass(frozen=True)
class Kind:
    """One kind of view; `about` is a sentence for people, `takes` names its options.

    A view of which `edits` is true can also be had of a model that is changed inside.
    """

    view: str
    title: str
    about: str
    can: Callable[[Subject], bool]
    make: Callable[[Looking], View]
    takes: tuple[str, ...] = ()
    edits: bool = True

    def of(self, looking: Looking) -> View:
        """The view of a question; of a series with the numbers that were observed."""
        view = self.make(looking)
        if looking.subject.form is Form.FORECAST:
            view.numbers = looking.past.shown()
        return view

    def options(self) -> list[Option]:
        """Its options, in the order of all of them."""
        return [option for option in options(Inspecting) if option.name in self.allowed]

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of all its options."""
        return (*self.takes, "edit") if self.edits else self.takes
