"""Inference: generate, score, stream, forecast, compose."""
