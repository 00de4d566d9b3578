"""Timestamps in feeds, pages, sitemaps, tables and login messages."""

from datetime import UTC, datetime


def format_instant(moment: datetime) -> str:
    """Format a time in UTC to the second, as in RFC 3339: `2026-11-03T09:30:00Z`."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
