"""Where file records live: SQLite."""
