"""Pages for people, rendered on the server."""
