"""Decoding of anything that can `begin` and `step`: beam search, sampling, ensembles."""

from .beam import beam_search, no_attention_error
from .constraints import output_limit
from .ensemble import Ensemble
from .sampled_answers import SamplingDecoder
from .sampling import GenerativeModel, SampledTokens, Sampling, sample, sample_steps

__all__ = [
    "Ensemble",
    "GenerativeModel",
    "SampledTokens",
    "Sampling",
    "SamplingDecoder",
    "beam_search",
    "no_attention_error",
    "output_limit",
    "sample",
    "sample_steps",
]
