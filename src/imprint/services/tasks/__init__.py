"""Background tasks, and which of several processes runs them."""
