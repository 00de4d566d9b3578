"""Stores for the installation: leases, identity, archives and checks."""
