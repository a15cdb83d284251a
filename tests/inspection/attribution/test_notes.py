"""Notes on attributions."""

import numpy as np

from seqloom.batch import Item
from seqloom.inspection.attribution import AttributionOptions, TargetOptions, attribute_question
from seqloom.signature import UNKNOWN
from tests.contracts.cases import SIGNATURES, build, small
from tests.contracts.plain_task import Plain


class Lines(Plain):
    """Symbols are line breaks and blanks."""

    def show_tokens(self, example, answer):
        return ["\n", " ", "a"], ["\n", " ", "a"]


def test_unknown_blanks_can_be_seen():
    signature = SIGNATURES["EACH"]
    model = build("recurrent", signature, small("recurrent", {}))
    question = Item(np.array([UNKNOWN, UNKNOWN, 5]), np.array([0, 1, 0]))
    about = {"how": AttributionOptions(by="occlusion"), "about": TargetOptions(at="1")}
    view = attribute_question(model, Lines(signature), question, "mine", **about)
    (told,) = [note for note in view.notes if "from the start" in note]
    assert told.endswith(": ↵, ·")
