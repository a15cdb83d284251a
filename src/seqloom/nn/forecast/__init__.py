"""Forecasting with neural networks: windows, predictive distributions and output layers."""
