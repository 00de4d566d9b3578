"""Measurements of the service, each beside the floor it stands on."""
