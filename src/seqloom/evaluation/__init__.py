"""Evaluation: metrics on a test set, slices, significance, error analysis."""
