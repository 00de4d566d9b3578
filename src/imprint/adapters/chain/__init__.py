"""The marketplace, read over JSON-RPC."""
