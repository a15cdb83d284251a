"""The models, by the names recipes use, from simple to large."""

from ..model import Model
from ..registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    __name__,
    {
        "ngram": ".ngram:NGram",
        "cache": ".cache:Cache",
        "recurrent": ".recurrent:Recurrent",
        "encoder-decoder": ".encoder_decoder:EncoderDecoder",
    },
    unlisted={"mixture": ".mixture:Mixture"},  # made of trained runs, not chosen to be trained
)
