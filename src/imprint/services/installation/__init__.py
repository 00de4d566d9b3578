"""Backup, moves, checks and readiness of an installation."""
