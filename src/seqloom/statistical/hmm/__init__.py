"""What hidden states show of themselves: rows of real numbers or of counts, and what is missing.

`readable` has the equations, row by row; the kinds beside it are their quick twins. `regimes` joins
one of them with a walk through states, whose sums are the lattice's.

Chains of hidden states in log space: all paths summed, the best found, samples drawn.

`readable` has the equations; `quick` gives the same for many sequences at once, by Numba. Hidden
Markov models and conditional random fields are both made of it.
"""
