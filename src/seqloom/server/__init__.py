"""The studio's server: files of runs, and loaded models, as pages and a web API."""
