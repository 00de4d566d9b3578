"""Stores for sessions and private feeds."""
