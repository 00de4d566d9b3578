"""Webhook providers: verification of their signatures, and the logs in their deliveries."""
