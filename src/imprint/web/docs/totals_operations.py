"""The operations and schemas of totals, which an earlier service had with the same paths."""

from imprint.domain.errors import Code
from imprint.web.docs.examples import OWNER
from imprint.web.docs.operation import (
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    Operation,
    Parameter,
    Response,
    Topic,
)
from imprint.web.docs.schema import Schema, array, integer, ref, string, structure

_CODES = (Code.INDEX_UNAVAILABLE, Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)
_ADDRESS_CODES = (Code.INVALID_ADDRESS, *_CODES)
_ADDRESS = Parameter("userAddress", "Address", "An address; it needs no session.", OWNER)

GLOBAL_METRICS = Operation(
    "getGlobalMetrics",
    "get",
    "/globalMetrics",
    Topic.LISTS,
    "Get the totals of the marketplace",
    "Returns how many addresses published, bought or hold a post, how many posts there are, the "
    "sum of their first prices, and what was paid for all purchases. They come from the index of "
    "the chain; while it is being built they are not known.",
    Response("The totals.", "GlobalMetricsAnswer", tagged=True),
    _CODES,
    parameters=(IF_NONE_MATCH,),
)

USER_METRICS = Operation(
    "getUserMetrics",
    "get",
    "/userMetrics",
    Topic.LISTS,
    "Get the totals of an address",
    "Returns what an address published, earned, bought and spent. `totalSubscribers` are the "
    "addresses that hold one of its posts now. An address that did nothing has zeros.",
    Response("The totals.", "UserMetricsAnswer", tagged=True),
    _ADDRESS_CODES,
    parameters=(_ADDRESS, IF_NONE_MATCH),
)

HEAT_MAP = Operation(
    "getHeatMap",
    "get",
    "/heatmap",
    Topic.LISTS,
    "Get the days on which an address published and bought",
    "Returns the day of each post and of each purchase of the last 366 days, the oldest first, "
    "at most 10 000 of each kind, the newest. A day with several has several entries. An address "
    "that did nothing has none.",
    Response("The days.", "HeatMapAnswer", tagged=True),
    _ADDRESS_CODES,
    parameters=(_ADDRESS, IF_NONE_MATCH),
)


def describe_totals() -> dict[str, Schema]:
    """The components of these responses."""
    amount = string("An amount in wei, in decimal.", "^[0-9]+$")
    days = array(
        "Days as `D/M/YYYY`, in UTC, without leading zeros.",
        string("A day.", "^[1-9][0-9]?/[1-9][0-9]?/[0-9]{4}$"),
    )
    creator = {
        "totalAssets": integer("Posts."),
        "totalEarnings": amount,
        "totalSubscribers": integer("Addresses that hold one of the posts."),
        "totalAssetWorth": amount,
    }
    holder = {"totalPurchases": integer("Purchases."), "totalSpent": amount}
    user = {"creator": ref("CreatorMetrics"), "holder": ref("HolderMetrics")}
    market = {
        "totalUsers": integer("Addresses that published, bought or hold a post."),
        "totalAssets": integer("Posts."),
        "totalAssetWorth": amount,
        "totalVolume": amount,
    }
    return {
        "CreatorMetrics": structure("An address as an author.", creator),
        "HolderMetrics": structure("An address as a reader.", holder),
        "UserMetrics": structure("The totals of an address.", user),
        "MarketMetrics": structure("The totals of the marketplace.", market),
        "HeatMap": structure("Days of posts and purchases.", {"creator": days, "holder": days}),
        "GlobalMetricsAnswer": _answer("GET /globalMetrics", "MarketMetrics"),
        "UserMetricsAnswer": _answer("GET /userMetrics", "UserMetrics"),
        "HeatMapAnswer": _answer("GET /heatmap", "HeatMap"),
    }


def _answer(place: str, data: str) -> Schema:
    status = integer("The status of the response, 200.", 200)
    return structure(f"`{place}`", {"statusCode": status, "data": ref(data)})
