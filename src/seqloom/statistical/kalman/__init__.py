"""Linear dynamical systems with Gaussian noise: the Kalman filter and all that follows from it.

`system` has the equations of the model, `readable` filter and smoother, one number at a time;
`quick` gives the same, compiled. `expected` has what expectation-maximisation and gradients need.
"""
