"""The endpoints, grouped by caller."""
