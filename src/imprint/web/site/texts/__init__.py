"""The texts of posts as HTML."""
