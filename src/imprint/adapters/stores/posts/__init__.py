"""Stores of the post index."""
