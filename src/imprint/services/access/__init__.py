"""Access control, which decides who may read a post."""
