"""The manual: the interface as data, which machines read as OpenAPI and people as a page."""
