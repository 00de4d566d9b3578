"""Documents and the stores that keep them."""
