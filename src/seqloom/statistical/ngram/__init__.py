"""N-gram language models: counting within a memory bound, smoothing, back-off models, ARPA files.

`counts` counts n-grams, `levels` sorts them by order, `smoothing` turns counts into probabilities,
and `backoff` is the model; `index` finds n-grams in it, and `arpa` reads and writes it. `suffixes`
is the suffix model that an HMM tagger uses for unknown words.
"""
