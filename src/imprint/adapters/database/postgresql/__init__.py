"""`Database` on a PostgreSQL server."""
