"""The operations that a client has, and their names in Python's spelling."""

import re

from imprint.web.docs.openapi import describe_interface

NOT_FOR_CLIENTS = {"Deliveries", "Pages"}
"""Those of providers, and those of browsers."""


def snake_case(name: str) -> str:
    """`listPosts` as `list_posts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def described() -> set[str]:
    """The operations for programs, by their names in Python."""
    return {
        snake_case(operation["operationId"])
        for path in describe_interface("1")["paths"].values()
        for operation in path.values()
        if not NOT_FOR_CLIENTS & set(operation["tags"])
    }
