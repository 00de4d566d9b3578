"""An Ethereum chain inside the process, for development and tests, and its sender of deliveries."""
