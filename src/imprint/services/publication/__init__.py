"""Publication: how a draft becomes a post."""
