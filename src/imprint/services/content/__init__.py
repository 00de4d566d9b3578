"""Documents and the stores that hold them."""
