"""The indexer makes the index agree with the chain, whatever nodes show and processes do."""
