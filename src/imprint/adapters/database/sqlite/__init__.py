"""`Database` in a SQLite file, with its log, its copies and its repair."""
