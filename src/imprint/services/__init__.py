"""Services: what Imprint does, one object per group of actions."""
