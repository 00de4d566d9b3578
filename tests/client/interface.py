"""The operations that a client has, and their names in Python's spelling."""

import re

from imprint.web.docs.openapi import describe_interface


def snake_case(name: str) -> str:
    """`listPosts` as `list_posts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def described() -> set[str]:
    """The operations but those of providers, by their names in Python."""
    return {
        snake_case(operation["operationId"])
        for path in describe_interface("1")["paths"].values()
        for operation in path.values()
        if "Deliveries" not in operation["tags"]
    }
