"""Totals for the marketplace and for addresses, in the format of the earlier service."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, MovableClock, World, open_world, problem

from imprint.bootstrap.background import build_indexer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]

AUTHOR, BUYER, OTHER = 1, 2, 3
ZEROS = {
    "creator": {
        "totalAssets": 0,
        "totalEarnings": "0",
        "totalSubscribers": 0,
        "totalAssetWorth": "0",
    },
    "holder": {"totalPurchases": 0, "totalSpent": "0"},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def market(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A world with two posts by one author and three purchases, all indexed."""
    clock = MovableClock(datetime(2026, 2, 9, 23, 59, 0, tzinfo=UTC))
    async with open_world(tmp_path_factory.mktemp("market"), clock=clock) as world:
        author, buyer = world.wallet(AUTHOR), world.wallet(BUYER)
        first, _ = await world.post(author)
        clock.advance(120)
        second, _ = await world.post(author)
        world.set_price(author, second, 5)
        world.buy(buyer, first)
        world.buy(buyer, second, 5)
        world.buy(world.wallet(OTHER), first)
        await build_indexer(world.settings, world.adapters).index_once()
        yield world


async def test_global_metrics_returns_the_totals_of_the_marketplace(market: World) -> None:
    response = await market.client.get("/globalMetrics")
    assert response.json() == {
        "statusCode": 200,
        "data": {
            "totalUsers": 3,
            "totalAssets": 2,
            "totalAssetWorth": str(2 * DEFAULT_PRICE),
            "totalVolume": str(2 * DEFAULT_PRICE + 5),
        },
    }


async def test_user_metrics_returns_the_totals_of_an_author(market: World) -> None:
    address = market.wallet(AUTHOR).account.address
    response = await market.client.get("/userMetrics", params={"userAddress": address})
    assert response.json() == {
        "statusCode": 200,
        "data": {
            "creator": {
                "totalAssets": 2,
                "totalEarnings": str(2 * DEFAULT_PRICE + 5),
                "totalSubscribers": 2,
                "totalAssetWorth": str(2 * DEFAULT_PRICE),
            },
            "holder": {"totalPurchases": 0, "totalSpent": "0"},
        },
    }


async def test_user_metrics_returns_the_totals_of_a_reader(market: World) -> None:
    address = market.wallet(BUYER).address
    response = await market.client.get("/userMetrics", params={"userAddress": address})
    holder = {"totalPurchases": 2, "totalSpent": str(DEFAULT_PRICE + 5)}
    assert response.json()["data"] == {**ZEROS, "holder": holder}


async def test_the_dates_in_the_heatmap_have_no_leading_zeros(market: World) -> None:
    wanted = {"userAddress": market.wallet(AUTHOR).address}
    response = await market.client.get("/heatmap", params=wanted)
    days = {"creator": ["9/2/2026", "10/2/2026"], "holder": []}
    assert response.json() == {"statusCode": 200, "data": days}
    wanted = {"userAddress": market.wallet(BUYER).address}
    response = await market.client.get("/heatmap", params=wanted)
    assert response.json()["data"] == {"creator": [], "holder": ["10/2/2026"] * 2}


async def test_the_totals_of_an_unknown_address_are_zero(market: World) -> None:
    wanted = {"userAddress": market.stranger().address}
    totals = await market.client.get("/userMetrics", params=wanted)
    assert totals.json() == {"statusCode": 200, "data": ZEROS}
    days = await market.client.get("/heatmap", params=wanted)
    assert days.json()["data"] == {"creator": [], "holder": []}


@pytest.mark.parametrize("path", ["/userMetrics", "/heatmap"])
@pytest.mark.parametrize("query", ["", "userAddress=", "userAddress=0x12", "userAddress=0&x=1"])
async def test_a_valid_address_parameter_is_required(market: World, path: str, query: str) -> None:
    response = await market.client.get(f"{path}?{query}")
    assert problem(response) == (400, "invalid_address")


@pytest.mark.parametrize("path", ["/globalMetrics", "/userMetrics", "/heatmap"])
async def test_an_unknown_parameter_is_ignored(market: World, path: str) -> None:
    wanted = {} if path == "/globalMetrics" else {"userAddress": market.wallet(AUTHOR).address}
    response = await market.client.get(path, params=wanted | {"x": "1"})
    assert response.content == (await market.client.get(path, params=wanted)).content


@pytest.mark.parametrize("path", ["/globalMetrics", "/userMetrics", "/heatmap"])
async def test_totals_are_public_and_have_an_etag(market: World, path: str) -> None:
    wanted = {} if path == "/globalMetrics" else {"userAddress": market.wallet(AUTHOR).address}
    first = await market.client.get(path, params=wanted)
    assert first.headers["cache-control"] == "public, max-age=5"
    known = {"If-None-Match": first.headers["etag"]}
    again = await market.client.get(path, params=wanted, headers=known)
    assert (again.status_code, again.content) == (304, b"")


async def test_metrics_requests_get_503_while_the_index_is_incomplete(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        query = f"?userAddress={world.wallet(AUTHOR).address}"
        for path in (f"/userMetrics{query}", f"/heatmap{query}", "/globalMetrics"):
            response = await world.client.get(path)
            assert problem(response) == (503, "index_unavailable")
