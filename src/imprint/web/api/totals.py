"""The endpoints of totals, with the paths and shapes of an earlier service."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.formats.addresses import Address
from imprint.interface.codec import encode_json
from imprint.interface.posts import (
    CreatorMetrics,
    GlobalMetricsResponse,
    HeatMap,
    HeatMapResponse,
    HolderMetrics,
    MarketMetrics,
    UserMetrics,
    UserMetricsResponse,
)
from imprint.interface.values import Wei
from imprint.services.posts.totals import Totals
from imprint.web.http.requests import query_address
from imprint.web.http.responses import SHORT_LIVED
from imprint.web.http.validators import cached_response


@dataclass(frozen=True, slots=True)
class TotalsRoutes:
    """Each endpoint reads totals and writes them as the earlier service did."""

    totals: Totals

    async def global_metrics(self, request: Request) -> Response:
        found = await self.totals.market()
        worth, volume = Wei(found.worth), Wei(found.sales.volume)
        data = MarketMetrics(found.users, found.posts, worth, volume)
        return _response(request, GlobalMetricsResponse(200, data))

    async def user_metrics(self, request: Request) -> Response:
        found = await self.totals.account(_address(request))
        data = UserMetrics(
            CreatorMetrics(found.posts, Wei(found.sales.volume), found.readers, Wei(found.worth)),
            HolderMetrics(found.purchases.count, Wei(found.purchases.volume)),
        )
        return _response(request, UserMetricsResponse(200, data))

    async def heat_map(self, request: Request) -> Response:
        found = await self.totals.activity(_address(request))
        data = HeatMap(_days(found.published), _days(found.bought))
        return _response(request, HeatMapResponse(200, data))


def _address(request: Request) -> Address:
    """The parameter of an endpoint. Refuses `invalid_address`."""
    return query_address(request, "userAddress")


def _response(request: Request, value: msgspec.Struct) -> Response:
    return cached_response(request, encode_json(value), "application/json", SHORT_LIVED)


def _days(moments: Iterable[datetime]) -> tuple[str, ...]:
    """The days as `D/M/YYYY`, in UTC, without leading zeros."""
    return tuple(f"{moment.day}/{moment.month}/{moment.year}" for moment in moments)
