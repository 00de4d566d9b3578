"""Timestamps in feeds, pages, sitemaps, tables and login messages."""

from datetime import UTC, datetime


def format_instant(moment: datetime) -> str:
    """Format a time in UTC to the second, such as `2026-11-03T09:30:00Z` (RFC 3339)."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
