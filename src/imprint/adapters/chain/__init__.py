"""The marketplace contract and the chain's logs, read over JSON-RPC."""
