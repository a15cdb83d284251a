"""Gradient flow through time in recurrent layers: Jacobians, truncated BPTT, gate statistics."""
