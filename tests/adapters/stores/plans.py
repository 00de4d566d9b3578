"""PostgreSQL query plans: explaining statements without running them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import asyncpg

from imprint.adapters.database.postgresql.pool import SESSION
from imprint.adapters.database.postgresql.transaction import translate


class Everything(dict[str, Any]):
    """Parameter values of a statement: the page size for its limit, and NULL for the rest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __missing__(self, name: str) -> None:
        return None

    def get(self, name: str, default: Any = None) -> Any:
        return self.limit


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a plan node and all its descendants."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


async def explain_all(
    url: str, statements: Mapping[str, str], limit: int
) -> dict[str, list[dict[str, Any]]]:
    """Return the plan nodes of each statement, for pages of `limit` rows."""
    connection = await asyncpg.connect(url, server_settings=SESSION)
    plans = {}
    for name, text in statements.items():
        numbered, values = translate(text, Everything(limit))
        await connection.execute(f"PREPARE one AS {numbered}")
        nothing = f"({', '.join(['NULL'] * len(values))})" if values else ""
        plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE one{nothing}")
        await connection.execute("DEALLOCATE one")
        plans[name] = list(nodes(json.loads(plan)[0]["Plan"]))
    await connection.close()
    return plans
