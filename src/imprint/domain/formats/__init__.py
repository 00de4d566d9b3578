"""Encodings and identifiers."""
