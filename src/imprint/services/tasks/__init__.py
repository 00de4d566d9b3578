"""Tasks in the background, and who of several processes runs them."""
