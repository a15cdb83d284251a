"""Small models of every registered kind and form, and batches for them."""

import numpy as np
import torch

from seqloom.batch import Batch, Sequences
from seqloom.forms import Form, Labels, Signature, Tokens
from seqloom.model import LearnsFromStatistics
from seqloom.models import MODELS
from seqloom.nn.cells import CELLS
from seqloom.options import taken

SIZE = 6  # the four special symbols and two real ones
SPACES = {
    Form.NEXT: (Tokens(SIZE), Tokens(SIZE)),
    Form.EACH: (Tokens(SIZE), Labels(3)),
    Form.WHOLE: (Tokens(SIZE), Labels(3)),
    Form.TRANSDUCE: (Tokens(SIZE), Tokens(SIZE)),
}
WIRED = {"skip": 2, "first_bias": True, "initial_state": "learned", "zoneout": 0.1} | {
    "layer_norm": True,
    "recurrent_dropout": 0.2,
}
# What is worth trying beside the defaults, by the name of the model.
VARIANTS = {
    "ngram": [{"order": 1}, {"order": 2}, {"order": 4}],
    "recurrent": [{"cell": cell, "layers": 2} for cell in CELLS]
    + [{"directions": "both", "layers": 2, "dropout": 0.3}]
    + [{"pooling": pooling} for pooling in ("max", "last", "ends", "attentive")]
    + [WIRED, {"cell": "gru", "directions": "both", "join": "sum", "layers": 2, "residual": True}],
    "encoder-decoder": [{"attention": "none"}, {"directions": "forward"}]
    + [{"cell": cell, "encoder_layers": 2, "decoder_layers": 2} for cell in CELLS]
    + [WIRED | {"directions": "forward"}],
}


def small(name, options):
    """Widths that keep tests quick; a model that has no widths takes none."""
    widths = {"ngram": {}}.get(name, {"width": 6, "hidden": 8})
    return {**widths, **options}


CASES = [
    (name, form, small(name, options))
    for name in MODELS
    for form in sorted(MODELS[name].forms, key=lambda form: form.name)
    for options in [{}, *VARIANTS.get(name, [])]
    if not (form is Form.NEXT and options.get("directions") == "both")
    if form is Form.WHOLE or "pooling" not in options
]
IDS = [f"{n}-{f.name}-{'-'.join(map(str, o.values()))}" for n, f, o in CASES]


def build(name, form, options, seed=0):
    kind = MODELS[name]
    kind.seed(seed)
    model = kind(Signature(form, *SPACES[form]), **taken(kind, options))
    if isinstance(model, LearnsFromStatistics):
        model.update(model.statistics(batch_for(form, (5, 3, 4, 6), seed)))
    return model


def batch_for(form, lengths=(4, 2), seed=1):
    chance = np.random.default_rng(seed)
    source = Sequences.pad([chance.integers(2, SIZE, n) for n in lengths])
    if form is Form.NEXT:
        return Batch(source, source)
    if form is Form.TRANSDUCE:
        return Batch(source, Sequences.pad([chance.integers(2, SIZE, n) for n in lengths[::-1]]))
    sizes = [1] * len(lengths) if form is Form.WHOLE else lengths
    return Batch(source, Sequences.pad([chance.integers(0, 3, n) for n in sizes]))


def numbers(array):
    """A NumPy array or a tensor as a tensor of double precision, for comparing."""
    return torch.as_tensor(array).detach().double()
