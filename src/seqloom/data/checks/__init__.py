"""Data checks: findings about data files, which are problems, warnings or notes."""
