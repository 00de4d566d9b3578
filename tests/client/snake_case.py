"""Names of the interface in Python's spelling."""

import re


def snake_case(name: str) -> str:
    """`listPosts` as `list_posts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
