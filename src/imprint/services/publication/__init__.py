"""How a draft becomes a post."""
