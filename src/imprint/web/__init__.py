"""The HTTP API: routing, middleware, requests, responses and problems, but no domain rules."""
