"""What the service does: login, drafts, reading, listing, confirming, keeping."""
