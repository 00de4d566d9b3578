"""Where documents live: the embedded store."""
