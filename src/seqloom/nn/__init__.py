"""Blocks: tensors in, tensors out; no vocabulary, no task, no recipe."""
