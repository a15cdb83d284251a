"""Files and numbers; no models."""
