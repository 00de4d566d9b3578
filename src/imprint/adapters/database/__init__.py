"""Database infrastructure: transactions, connections, schema, locks and checksums."""
