"""The addresses of the web API and the pages, one noun a file."""
