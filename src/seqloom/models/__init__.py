"""The models, by the names recipes use.

From simple to large. The first that can do a task, and is no baseline that others are only measured
by, is the default of `train`.
"""

from ..config import Registry
from ..model import Model

MODELS: Registry[Model] = Registry(
    "model",
    __name__,
    {
        "ngram": ".ngram:NGram",
        "cache": ".cache:Cache",
        "bag": ".bag_of_words:Bag",
        "naive": ".naive:Naive",
        "seasonal-naive": ".naive:SeasonalNaive",
        "drift": ".naive:Drift",
        "autoregressive": ".autoregressive:Autoregressive",
        "linear": ".linear:Linear",
        "recurrent": ".recurrent:Recurrent",
        "window": ".feedforward:WindowNetwork",
        "hidden-markov": ".hmm_tagger:HiddenMarkov",
        "hidden-states": ".hmm:HiddenStates",
        "hidden-regimes": ".gaussian_hmm:HiddenRegimes",
        "kalman": ".kalman:Kalman",
        "convolutional": ".convolutional:Convolutional",
        "hierarchical-attention": ".hierarchical_attention:HierarchicalAttention",
        "transformer": ".transformer:Transformer",
        "encoder-decoder": ".encoder_decoder:EncoderDecoder",
        "convolutional-encoder-decoder": (
            ".convolutional_encoder_decoder:ConvolutionalEncoderDecoder"
        ),
        "transformer-encoder-decoder": ".transformer_encoder_decoder:TransformerEncoderDecoder",
    },
    unlisted={"mixture": ".mixture:Mixture"},  # made of trained runs, not chosen to be trained
)
