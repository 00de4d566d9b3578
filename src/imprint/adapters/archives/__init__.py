"""Files outside the catalog and content store: exports, backups, keys, migration progress."""
