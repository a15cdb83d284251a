"""Evaluation of models: metrics, slices, statistical significance, error analysis."""
