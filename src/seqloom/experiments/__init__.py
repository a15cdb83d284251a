"""Many runs: compare, ladder, cross-validation, queue, ensemble."""
