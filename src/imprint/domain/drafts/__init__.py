"""Files, their documents and their tags."""
