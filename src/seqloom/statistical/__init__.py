"""Statistical sequence models without torch: n-grams, HMMs, Kalman filter, autoregression.

Exact algorithms: closed-form estimates, EM (Baum-Welch), maximum likelihood by BFGS, and exact
inference. The classes that train and predict with them are in `seqloom.models`.
"""
