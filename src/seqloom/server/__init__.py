"""The studio's HTTP server (FastAPI, uvicorn): a REST API over runs and models, and its pages."""
