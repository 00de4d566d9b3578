"""Posts as recorded on the chain: index, lists, totals, search and feeds."""
