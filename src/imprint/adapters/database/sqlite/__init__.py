"""`Database` in a SQLite file, with its log, backups and repair."""
