"""FastAPI routers of the REST API and of the pages, one file per resource."""
