"""Signed writes of drafts, and garbage collection."""
