"""From examples to batches: batching, BPTT, windows, curricula, splits."""
