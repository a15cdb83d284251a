"""Linear-Gaussian state-space models: Kalman filter and smoother, EM, and maximum likelihood.

`system` has the equations of the model and its matrices, `inference` the reference implementation
of filter and smoother; `compiled` gives the same by the Numba kernels in `kernels_*`, with an exact
diffuse initial state (Durbin and Koopman, 2012). `structure` has structural time series models and
their parameters, `em` the E-step and M-step, `fit` maximum likelihood by BFGS, and `simulate` the
online filter and simulated series.
"""
