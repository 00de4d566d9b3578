"""HTTP in, HTTP out: routing, middleware, requests, responses and problems. No rule lives here."""
