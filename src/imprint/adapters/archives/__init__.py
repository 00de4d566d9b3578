"""Where exports and backups live: CAR files, folders, tar files."""
