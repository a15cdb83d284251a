"""Autoregression: least squares, posteriors, simulation."""
