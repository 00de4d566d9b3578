"""Readers of the marketplace contract and of the chain's logs, over JSON-RPC."""
