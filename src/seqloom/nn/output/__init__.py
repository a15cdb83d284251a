"""Output layers: from states to probabilities of tokens, labels and tag sequences."""
