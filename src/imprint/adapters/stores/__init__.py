"""Stores by subject, each with its rules and their statements for both databases."""
