"""Stores by subject, each with its transaction rules and their statements for both databases."""
