"""Authentication: the only place where an unverified claim becomes a proof."""
