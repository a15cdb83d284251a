"""One run folder: train, load, record, splits, checks, packaging."""
