"""Files outside the service: exports, backups, keys, and the progress of a migration."""
