"""Requests and responses, as every route uses them."""
