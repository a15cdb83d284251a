"""Data loaders: bucketed batches, truncated BPTT, forecast windows, curricula, splits, folds."""
