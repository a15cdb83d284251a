"""Transformer blocks: attention, positions, encoder and decoder stacks."""
