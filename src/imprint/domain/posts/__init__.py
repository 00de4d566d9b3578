"""Posts as the chain tells of them, and their texts."""
