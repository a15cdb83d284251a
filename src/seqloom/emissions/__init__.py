"""What hidden states show of themselves: rows of real numbers or of counts, and what is missing.

`readable` has the equations, row by row; the kinds beside it are their quick twins. `regimes` joins
one of them with a walk through states, whose sums are the lattice's.
"""
