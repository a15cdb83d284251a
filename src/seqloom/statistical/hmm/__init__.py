"""Hidden Markov models (HMMs) and linear chains: forward-backward, Viterbi, Baum-Welch, emissions.

`inference` is the reference implementation: forward-backward, Viterbi, k-best paths and sampling of
one sequence, with their equations; CRFs use it too, as their scores need not be probabilities.
`compiled` gives the same for many sequences, by the Numba kernels in `kernels_*`. `chain` holds the
scores of a linear chain. `emissions` and `gaussian` are the emission distributions of real numbers
and counts, `emissions_reference` their equations; `gaussian_hmm` joins them with a chain, and
`initialise` finds where EM starts.
"""
