"""The operations of a client, with their Python names."""

import re

from imprint.web.docs.openapi import describe_interface


def snake_case(name: str) -> str:
    """Convert a name like `listPosts` to `list_posts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def described() -> set[str]:
    """Return the Python names of all operations except the webhooks of providers."""
    return {
        snake_case(operation["operationId"])
        for path in describe_interface("1")["paths"].values()
        for operation in path.values()
        if "Deliveries" not in operation["tags"]
    }
