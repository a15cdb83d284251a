"""Pydantic schemas of requests and responses."""
