"""The catalog: records of files, nonces and events, in SQLite or PostgreSQL."""
