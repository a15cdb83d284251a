"""Vector autoregression (VAR): least squares, order selection, posterior, forecasts.

`least_squares` gathers lagged regressions and solves them, `exogenous` has the columns beside the
lags, `simulate` the process itself with its forecasts, and `posterior` samples of coefficients for
prediction intervals.
"""
