"""HTTP in, HTTP out: routes, bodies, problem answers, limits. No rule lives here."""
