"""Data: file formats, tokenizers, time series, music, data loaders, checks; no models."""
