"""The endpoints of totals, with the paths and shapes of an earlier service."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.formats.addresses import Address
from imprint.services.posts.totals import Totals
from imprint.web.http.requests import check_parameters, query_address
from imprint.web.http.responses import (
    SHORT_LIVED,
    CreatorMetrics,
    GlobalMetricsResponse,
    HeatMap,
    HeatMapResponse,
    HolderMetrics,
    MarketMetrics,
    UserMetrics,
    UserMetricsResponse,
    encode_json,
)
from imprint.web.http.validators import cached_response

_ADDRESS = "userAddress"


@dataclass(frozen=True, slots=True)
class TotalsRoutes:
    """Each endpoint asks for totals and writes them as the earlier service did."""

    totals: Totals

    async def global_metrics(self, request: Request) -> Response:
        check_parameters(request)
        found = await self.totals.market()
        worth, volume = str(found.worth), str(found.sales.volume)
        data = MarketMetrics(found.users, found.posts, worth, volume)
        return _response(request, GlobalMetricsResponse(200, data))

    async def user_metrics(self, request: Request) -> Response:
        found = await self.totals.account(_address(request))
        data = UserMetrics(
            CreatorMetrics(found.posts, str(found.sales.volume), found.readers, str(found.worth)),
            HolderMetrics(found.purchases.count, str(found.purchases.volume)),
        )
        return _response(request, UserMetricsResponse(200, data))

    async def heat_map(self, request: Request) -> Response:
        found = await self.totals.activity(_address(request))
        data = HeatMap(_days(found.published), _days(found.bought))
        return _response(request, HeatMapResponse(200, data))


def _address(request: Request) -> Address:
    """The only parameter of an endpoint. Refuses `invalid_address`, and any other parameter."""
    address = query_address(request, _ADDRESS)
    check_parameters(request, frozenset({_ADDRESS}))
    return address


def _response(request: Request, value: msgspec.Struct) -> Response:
    return cached_response(request, encode_json(value), "application/json", SHORT_LIVED)


def _days(moments: Iterable[datetime]) -> list[str]:
    """The days as `D/M/YYYY`, in UTC, without leading zeros."""
    return [f"{moment.day}/{moment.month}/{moment.year}" for moment in moments]
