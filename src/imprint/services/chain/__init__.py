"""Marketplace logs, read in block ranges and checked."""
