"""Stores for the index of posts."""
