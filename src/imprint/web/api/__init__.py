"""API routes for programs."""
