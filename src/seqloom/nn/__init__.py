"""Layers of neural networks: tensors in, tensors out; no vocabulary, no task, no recipe."""
