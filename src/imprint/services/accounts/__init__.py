"""Logins, writing sessions and contract wallets."""
