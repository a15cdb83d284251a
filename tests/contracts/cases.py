"""Small models of every registered kind, form and space, and batches for them."""

import copy
from typing import get_args

import numpy as np
import torch

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments
from seqloom.model import StatisticsTrained
from seqloom.models import MODELS
from seqloom.nn.attention import ATTENTIONS
from seqloom.nn.cells import CELLS
from seqloom.signature import (
    Bits,
    Columns,
    Form,
    Labels,
    Letters,
    Series,
    Signature,
    Tokens,
    Vectors,
)
from seqloom.statistical.ngram.smoothing import Smoothing

SIZE = 6  # the four special symbols and two real ones
COLUMNS = Columns(
    (Tokens(SIZE), Letters(7, 4, frozenset({5})), Labels(2))
)  # a word, its letters, a feature
SIGNATURES = {
    "NEXT": Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE)),
    "NEXT-bits": Signature(Form.NEXT, Bits(4), Bits(4)),
    "EACH": Signature(Form.EACH, Tokens(SIZE), Labels(3)),
    "WHOLE": Signature(Form.WHOLE, Tokens(SIZE), Labels(3)),
    "WHOLE-bits": Signature(Form.WHOLE, Tokens(SIZE), Bits(3)),
    "EACH-columns": Signature(Form.EACH, COLUMNS, Labels(3)),
    "TRANSDUCE": Signature(Form.TRANSDUCE, Tokens(SIZE), Tokens(SIZE)),
    "EACH-vectors": Signature(Form.EACH, Vectors(3), Labels(3)),
    "EACH-to-vectors": Signature(Form.EACH, Vectors(3), Vectors(2)),
    "WHOLE-vectors": Signature(Form.WHOLE, Vectors(3), Labels(3)),
    "WHOLE-to-vectors": Signature(Form.WHOLE, Vectors(3), Vectors(2)),
    "TRANSDUCE-vectors": Signature(Form.TRANSDUCE, Vectors(3), Tokens(SIZE)),
    "FORECAST": Signature(Form.FORECAST, Series(1, 0, 2, 3), Series(1, 0, 2, 3)),
    "FORECAST-several": Signature(Form.FORECAST, Series(2, 1, 2, 3), Series(2, 0, 2, 3)),
    "WHOLE-series": Signature(Form.WHOLE, Series(3), Labels(3)),
    "EACH-series": Signature(Form.EACH, Series(3), Labels(3)),
    "TRANSDUCE-unknowns": Signature(Form.TRANSDUCE, Tokens(SIZE, 2), Tokens(SIZE, 2)),
}
GATES = {  # by the name of the cell
    "elman": set(),
    "context": set(),
    "carousel": set(),
    "lstm-simple": {"input", "output"},
    "lstm": {"input", "forget", "output"},
    "lstm-peephole": {"input", "forget", "output"},
    "gru-simple": {"update"},
    "gru": {"reset", "update"},
    "mingru": {"update"},
    "minlstm": {"forget", "input"},
}
LETTERS = ("none", "convolution", "recurrent")
WIRED = {"skip": 2, "first_bias": True, "initial_state": "learned", "zoneout": 0.1} | {
    "layer_norm": True,
    "recurrent_dropout": 0.2,
}
# What is worth trying beside the defaults, by the name of the model.
FORECASTS = [
    {"output": "student", "center": "last", "look_back": 3},
    {"output": "quantile", "center": "standard", "ahead": "direct"},
    {"output": "squared", "center": "mean"},
    {"ahead": "direct", "patch": 2, "look_back": 5},
]
VARIANTS = {
    "nlinear": [{"output": "quantile", "center": "standard", "individual": True}],
    "dlinear": [{"average": 3, "individual": True}],
    "ngram": [{"order": 1}, {"order": 2}, {"order": 9}, {"min_frequency": (1, 2)}]
    # Without smoothing some sequences are impossible, and nothing can be said of what follows them.
    + [{"smoothing": s, "order": 3} for s in get_args(Smoothing) if s != "maximum-likelihood"],
    "cache": [{"window": 2}, {"decay": 0.8}, {"base": "even", "weight": 0.9}],
    "hmm-tagger": [{"order": 1}, {"order": 2, "smoothing": 0.5}]
    + [{"order": 2, "decoding": "posterior", "case": False}],
    "hmm": [{"states": 3}, {"states": 1}],
    "autoregressive": [{"order": 1}, {"order": 3, "ridge": 0.5}, {"intercept": False, "most": 2}]
    + [{"order": 1, "differences": "both"}, {"order": 2, "guessed": False, "criterion": "bic"}],
    "gaussian-hmm": [{"states": 1}, {"emissions": "full", "left_to_right": True}]
    + [{"emissions": "mixture", "components": 2}],
    "kalman": [
        {"structure": "local-level", "learning": "expectation"},
        {"structure": "free", "states": 2, "learning": "expectation"},
    ],
    "recurrent": [{"cell": cell, "num_layers": 2} for cell in CELLS]
    + [{"bidirectional": True, "num_layers": 2, "dropout": 0.3}]
    + [{"pooling": pooling} for pooling in ("max", "last", "ends", "attentive")]
    + [{"letters": kind, "letters_width": 2, "feature_width": 1} for kind in LETTERS]
    + [{"crf": True}, {"crf": True, "bidirectional": True, "feature_width": 1, "dropout": 0.3}]
    + [
        WIRED,
        {"cell": "gru", "bidirectional": True, "join": "sum", "num_layers": 2, "residual": True},
    ]
    + [*FORECASTS, {"ahead": "direct", "bidirectional": True}],
    "bag-of-words": [{"features": "counts", "order": 1}, {"order": 3, "buckets": 5, "balance": 0.0}]
    + [{"features": "vectors", "order": 1, "embedding_size": 6}]
    + [
        {"features": "vectors", "embedding_size": 6, "hidden_size": 8, "dropout": 0.3, "buckets": 7}
    ],
    "hierarchical-attention": [
        {"cell": "lstm", "num_layers": 2, "dropout": 0.3},
        {"cell": "elman", "join": "sum"},
    ],
    "feedforward": [
        {"context": 1},
        {"num_layers": 2, "direct": True},
        {"num_layers": 0, "dropout": 0.3},
    ]
    + FORECASTS[1:2],
    "convolutional": [
        {"num_layers": 2, "kernel": 2, "dropout": 0.3},
        {"bidirectional": True, "hidden_size": 6},
        {"pooling": "attentive"},
        {"filters": [2, 3], "num_layers": 1, "bidirectional": True, "max_norm": 0.5},
        {"filters": [2], "num_layers": 2, "separable": True, "dilation": 2, "label_smoothing": 0.0},
        {"filters": [1, 3], "num_layers": 2, "padding": "valid", "stride": 2, "pooling": "max"},
        {
            "filters": [2],
            "num_layers": 3,
            "pool": "max",
            "pooling": "attentive",
            "bidirectional": True,
        },
        {
            "filters": [2, 3],
            "num_layers": 2,
            "pool": "average",
            "padding": "valid",
            "pooling": "mean",
        },
        {"crf": True, "bidirectional": True},
        FORECASTS[0],
    ],
    "transformer": [
        {"crf": True},
        FORECASTS[1],
        {"positions": "rotary", "norm": "after", "context": 4},
        {"positions": "sinusoid", "activation": "relu", "feed_forward": 5, "dropout": 0.3},
        {"attention_window": 2, "context": 8, "num_heads": 1},
        {"pooling": "max"},
    ],
    "transformer-encoder-decoder": [
        {"norm": "before", "positions": "rotary", "num_heads": 1},
        {"positions": "learned", "activation": "gelu", "dropout": 0.3, "encoder_layers": 1},
        {"attention_window": 2, "feed_forward": 5},
        {"tie_embeddings": False, "decoder_layers": 1},
    ],
    "encoder-decoder": [{"attention": "none"}, {"bidirectional": False}]
    + [{"cell": cell, "encoder_layers": 2, "decoder_layers": 2} for cell in CELLS]
    + [WIRED | {"bidirectional": False}]
    + [{"attention": kind, "num_heads": 2, "attention_window": 1} for kind in ATTENTIONS]
    + [
        {"query": "previous", "decoder_layers": 2, "dropout": 0.3},
        {"query": "previous", "attention": "location", "input_feeding": True, "cell": "gru"},
        {"query": "previous", "attention": "multi-head", "num_heads": 2, "attentional": False},
        WIRED | {"input_feeding": True, "decoder_layers": 2, "residual": True},
        {"encoder": "convolution", "encoder_layers": 2, "bridge": "ends"},
        {"encoder": "convolution", "bidirectional": False, "bridge": "mean", "coverage": 1.0},
        {"attention": "none", "context": "every-step", "bridge": "last", "bidirectional": False},
        {"attention": "none", "context": "every-step", "scheduled_sampling": 0.5},
        {"bridge": "learned", "attention": "local", "scheduled_sampling": 1.0},
        {"bridge": "zero", "attentional": False},
        {"copy": True},
        {"copy": True, "attention": "multi-head", "num_heads": 2, "input_feeding": True},
        {"copy": True, "scheduled_sampling": 0.5, "coverage": 1.0, "query": "previous"},
    ],
    "convolutional-encoder-decoder": [
        {"kernel": 2, "positions": 3, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.3},
        {"kernel": 4, "encoder_layers": 1, "decoder_layers": 1},
    ],
}
# Options that reach the output: what it decides is tried with these alone.
OF_OUTPUT = {"features", "balance", "max_norm", "label_smoothing"}
# Options of forecasts by networks; what is inside of these is tried with symbols.
OF_FORECASTS = {"output", "center", "ahead", "look_back", "average"}
# Options that never see what it was that became vectors, so that each is tried with symbols only.
INSIDE = {
    "filters",
    "cell",
    "num_heads",
    "query",
    "encoder",
    "context",
    "bridge",
    "input_feeding",
    "copy",
}


def small(name, options):
    """Widths that keep tests quick; a model that has no widths takes none."""
    widths = {
        "ngram": {},
        "cache": {},
        "bag-of-words": {},
        "hmm-tagger": {},
        "hmm": {},
        "gaussian-hmm": {"states": 2},
        "naive": {},
        "seasonal-naive": {},
        "drift": {},
        "autoregressive": {},
        "nlinear": {"look_back": 4},
        "dlinear": {"look_back": 4},
        "kalman": {"structure": "local-level"},
        "transformer": {"hidden_size": 8, "num_heads": 2, "num_layers": 2, "context": 32},
        "transformer-encoder-decoder": {"hidden_size": 8, "num_heads": 2, "context": 32}
        | {"encoder_layers": 2, "decoder_layers": 2},
    }
    return {**widths.get(name, {"embedding_size": 6, "hidden_size": 8}), **options}


def is_worth_trying(signature, options):
    """Not everything with everything: options of the inside with symbols, copying where it can."""
    if options.get("copy", False) != bool(getattr(signature.target, "unknowns", 0)) and options:
        return False
    if signature.form is Form.NEXT and {"bidirectional", "filters"} & {
        name for name, value in options.items() if value
    }:
        return False
    is_of_forecasts = bool(OF_FORECASTS & set(options))
    is_of_networks = bool(
        (INSIDE | {"num_layers", "positions", "bidirectional", "skip"}) & set(options)
    )
    is_labelled = signature.form is Form.EACH and isinstance(signature.target, Labels)
    is_decided = isinstance(signature.target, Bits) and options
    if (
        ("pooling" in options and signature.form is not Form.WHOLE)
        or ("crf" in options and not is_labelled)
        or ("cell" in options and is_labelled)  # with NEXT all steps are gone through, too
        or (is_decided and not OF_OUTPUT & set(options))
        or (is_of_forecasts and not (signature.form is Form.FORECAST and signature.source.known))
        or (is_of_networks and not is_of_forecasts and signature.form is Form.FORECAST)
    ):
        return False
    if signature.source is COLUMNS and not {"feature_width", "order"} & set(options):
        return False
    if signature.source is not COLUMNS and "letters" in options:
        return False
    spaces = {type(signature.source), type(signature.target)}
    # Series that are not forecast are read as vectors are, which are tried with everything.
    is_plain = Series not in spaces or signature.form is Form.FORECAST or not options
    return is_plain and (not INSIDE & set(options) or Vectors not in spaces)


CASES = [
    (name, signature, small(name, options))
    for name in MODELS
    for signature in SIGNATURES.values()
    if MODELS[name].supports(signature)
    for options in [{}, *VARIANTS.get(name, [])]
    if is_worth_trying(signature, options)
]
LEARNED = {}  # what models have learned that may take seconds to learn it
NAMES = {signature: name for name, signature in SIGNATURES.items()}
IDS = [f"{n}-{NAMES[s]}-{'-'.join(map(str, o.values()))}" for n, s, o in CASES]


def build(name, signature, options, seed=0):
    kind = MODELS[name]
    kind.seed(seed)
    model = kind(signature, **constructor_arguments(kind, options))
    if isinstance(model, StatisticsTrained):
        key = (name, repr(signature), repr(options), seed)
        if key not in LEARNED:
            model.update(model.statistics(batch_for(signature, (5, 3, 4, 6), seed)))
            LEARNED[key] = copy.deepcopy(model.weights())
        model.restore(LEARNED[key])
    return model


def batch_for(signature, lengths=(4, 2), seed=1):
    rng = np.random.default_rng(seed)
    source = sequences_in(signature.source, lengths, rng)
    match signature.form:
        case Form.NEXT:
            return Batch(source, source)
        case Form.TRANSDUCE:
            target = sequences_in(signature.target, lengths[::-1], rng)
            if getattr(signature.target, "unknowns", 0):  # of its own source alone
                known = target.values < signature.target.size
                target.values[:] = np.where(known, target.values, source.values.max(1)[:, None])
            return Batch(source, target)
        case Form.FORECAST:
            steps = signature.target.horizon  # what is predicted is as long for all, after a past
            source = sequences_in(signature.source, [n + steps for n in lengths], rng)
            ahead = [steps] * len(lengths)
            return hidden(source, sequences_in(signature.target, ahead, rng))
        case Form.WHOLE:
            return Batch(source, sequences_in(signature.target, [1] * len(lengths), rng))
    return Batch(source, sequences_in(signature.target, lengths, rng))


def hidden(source, target):
    """A forecast: the last rows of the source have inputs only, and one number before is missing."""
    width = target.values.shape[-1]
    for row, (length, ahead) in enumerate(zip(source.lengths, target.lengths, strict=True)):
        source.values[row, length - ahead : length, :width] = np.nan
        source.values[row, 0, 0] = np.nan
    return Batch(source, target)


def sequences_in(space, lengths, rng):
    """Random sequences of these lengths."""
    match space:
        case Tokens(size, unknowns):
            return Sequences.pad([rng.integers(2, size + unknowns, n) for n in lengths])
        case Columns(parts):
            return Sequences.pad(
                [np.column_stack([columns_in(p, n, rng) for p in parts]) for n in lengths]
            )
        case Bits(size):
            return Sequences.pad(
                [rng.integers(0, 2, (n, size)).astype(np.float32) for n in lengths]
            )
        case Labels(size):
            return Sequences.pad([rng.integers(0, size, n) for n in lengths])
        case Vectors(width):
            return Sequences.pad([rng.normal(size=(n, width)).astype(np.float32) for n in lengths])
        case Series(width, known):
            return Sequences.pad([rng.normal(size=(n, width + known)) for n in lengths])


def columns_in(part, length, rng):
    """What a sequence has in the columns of one part: letters of different lengths, or one each."""
    if not isinstance(part, Letters):
        return rng.integers(0 if isinstance(part, Labels) else 2, part.size, (length, 1))
    letters = rng.integers(4, part.size, (length, part.length))
    return letters * (np.arange(part.length) < rng.integers(1, part.length + 1, (length, 1)))


def is_drawn(signature):
    """Whether what follows is rows of bits, which are drawn and never searched for."""
    return signature.form is Form.NEXT and isinstance(signature.target, Bits)


def numbers(array):
    """A NumPy array or a tensor as a tensor of double precision, for comparing."""
    return torch.as_tensor(array).detach().double()
