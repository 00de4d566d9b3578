"""The page at `/docs`, rendered from the OpenAPI description."""
