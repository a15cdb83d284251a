"""Exact algorithms without torch: n-grams, hidden Markov models, Kalman filters."""
