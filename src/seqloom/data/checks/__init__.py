"""Checks of data files: what is wrong with them, and what is odd."""
