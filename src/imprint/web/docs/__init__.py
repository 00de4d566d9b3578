"""API documentation: operations as data, rendered as an OpenAPI document and an HTML page."""
