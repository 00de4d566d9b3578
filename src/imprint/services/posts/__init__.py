"""What the chain says of posts: index, lists, totals, search and feeds."""
