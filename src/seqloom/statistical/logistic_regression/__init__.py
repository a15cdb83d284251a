"""L2-regularised logistic regression on sparse features: Newton's method, and its kernels."""
