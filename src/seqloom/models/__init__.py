"""Registry of models, by the names that recipes use, from simple to large.

The first model that supports a task and is not a baseline is the default of `train`.
"""

from typing import Any

from ..config import Registry
from ..model import Model

MODELS: Registry[Model] = Registry(
    "model",
    __name__,
    {
        "ngram": ".ngram:NGram",
        "cache": ".cache:Cache",
        "bag-of-words": ".bag_of_words:BagOfWords",
        "naive": ".naive:Naive",
        "seasonal-naive": ".naive:SeasonalNaive",
        "drift": ".naive:Drift",
        "autoregressive": ".autoregressive:Autoregressive",
        "nlinear": ".linear:NLinear",
        "dlinear": ".linear:DLinear",
        "recurrent": ".recurrent:Recurrent",
        "feedforward": ".feedforward:Feedforward",
        "hmm-tagger": ".hmm_tagger:HMMTagger",
        "hmm": ".hmm:HMM",
        "gaussian-hmm": ".gaussian_hmm:GaussianHMM",
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

# What people type for a model that is another with settings: the first that can do the task is
# meant. ARIMA is autoregressive here: differences, and no moving-average part.
SHORTCUTS: dict[str, tuple[dict[str, Any], ...]] = {
    **{
        typed: ({"name": "recurrent", "cell": cell}, {"name": "encoder-decoder", "cell": cell})
        for typed, cell in (("lstm", "lstm"), ("gru", "gru"), ("rnn", "elman"))
    },
    "bilstm": ({"name": "recurrent", "cell": "lstm", "bidirectional": True},),
    "crf": ({"name": "recurrent", "bidirectional": True, "crf": True},),
    "cnn": ({"name": "convolutional"}, {"name": "convolutional-encoder-decoder"}),
    "seq2seq": ({"name": "encoder-decoder"},),
    "mlp": ({"name": "feedforward"},),
    "arima": ({"name": "autoregressive"},),
}
