"""Signed writes of drafts, and the garbage that they leave."""
