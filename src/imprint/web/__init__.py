"""The HTTP API: routing, middleware, requests, responses and problems, without domain rules."""
