"""Authentication: the only layer in which an unverified claim becomes a proof."""
