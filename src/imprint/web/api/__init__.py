"""The routes for programs."""
