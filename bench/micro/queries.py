"""Compare cached query parameters with Starlette's per-request parsing.

python -m bench.micro.queries
"""

import uvloop
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.types import Scope

from bench.micro.timing import time_calls
from imprint.web.http.requests import query_params

QUERIES = {
    "no query": b"",
    "a tag": b"tags=essay",
    "a cid": b"cid=bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e",
}


async def _measure() -> None:
    for name, query in QUERIES.items():
        scope: Scope = {"type": "http", "query_string": query, "headers": []}

        async def parse(scope: Scope = scope) -> QueryParams:
            return Request(scope).query_params

        async def look_up(scope: Scope = scope) -> QueryParams:
            return query_params(Request(scope))

        times = await time_calls({"parsed": parse, "cached": look_up})
        print(
            f"{name:<10}",
            *(f"{way} {microseconds:.1f} µs  " for way, microseconds in times.items()),
        )


if __name__ == "__main__":
    uvloop.run(_measure())
