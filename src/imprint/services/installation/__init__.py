"""Backups, migrations, checks and readiness of an installation."""
