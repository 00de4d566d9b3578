"""Requests and responses, shared by all routes."""
