"""The process around the application: HTTP limits, graceful shutdown and workers."""
