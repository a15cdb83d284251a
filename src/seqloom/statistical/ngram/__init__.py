"""Counts of short runs of symbols, and the back-off models that are made of them."""
