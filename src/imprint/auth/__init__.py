"""Identity: here, and only here, an unverified claim becomes a proof."""
