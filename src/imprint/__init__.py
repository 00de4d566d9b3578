"""Imprint: a publishing service for work that readers own."""

__version__ = "1.0.0"
