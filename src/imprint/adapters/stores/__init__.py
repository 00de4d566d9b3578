"""The stores by subject: each has its rules, and their statements for both databases."""
