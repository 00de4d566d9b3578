"""Post texts as HTML."""
