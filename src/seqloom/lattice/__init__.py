"""Chains of hidden states in log space: all paths summed, the best found, samples drawn.

`readable` has the equations; `quick` gives the same for many sequences at once, by Numba. Hidden
Markov models and conditional random fields are both made of it.
"""
