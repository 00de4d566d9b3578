"""Reads the marketplace contract and the chain's logs over JSON-RPC."""
