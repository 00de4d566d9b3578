"""Posts as recorded on the chain, and their text."""
