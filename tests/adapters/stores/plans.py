"""Plans of PostgreSQL: values for statements that are only explained, and the nodes of a plan."""

from collections.abc import Iterator
from typing import Any


class Everything(dict[str, Any]):
    """Values by any name: NULL, and for a limit the number of rows of a page."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __missing__(self, name: str) -> None:
        return None

    def get(self, name: str, default: Any = None) -> Any:
        return self.limit


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan and all plans inside it."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)
