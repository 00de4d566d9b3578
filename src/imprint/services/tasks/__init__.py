"""Background tasks, and the leases that decide which process runs them."""
