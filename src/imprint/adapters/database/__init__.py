"""The database of the records: transactions, connections, schema, locks and checksums."""
