"""The process around the application: HTTP limits, graceful stops, workers."""
