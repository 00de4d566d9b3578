"""The marketplace's logs, read in ranges of blocks and checked."""
