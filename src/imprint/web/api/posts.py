"""Endpoints of the index: posts, authors, libraries, sales and statistics."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.tags import MAX_TAGS
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import PostOrder, PostScope
from imprint.domain.sessions import LiveSession
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
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.services.posts.lists import Totals
from imprint.services.posts.posts import (
    MAX_PAGE_SIZE,
    MAX_TABLE_SIZE,
    PAGE_SIZE,
    Derived,
    ListRequest,
    Posts,
)
from imprint.web.api.post_records import (
    PostRecords,
    author_response,
    proof_response,
    revisions_response,
    sales_response,
    sales_table,
    stats_response,
)
from imprint.web.http.requests import (
    MAX_CACHED_QUERY,
    canonical_address,
    canonical_post_id,
    check_parameters,
    client_of,
    decimal_number,
    given_values,
    only_value,
    parse_tags,
    query_address,
    refuse_unknown,
)
from imprint.web.http.responses import (
    CSV_TYPE,
    HTML_TYPE,
    JSON_TYPE,
    OWN,
    SHORT_LIVED,
    cached_response,
    content_tag,
    is_current,
    prefers,
)

KEPT_BYTES = 16 * 1024 * 1024
"""Cache size for bodies in bytes, enough for about a thousand pages of 20 posts."""

_OVERHEAD = 1_024
"""Bytes counted for each cached body on top of its length, for its tag and source object."""

PAGE_PARAMETERS = frozenset({"limit", "next_page_token"})
LIBRARY_PARAMETERS = PAGE_PARAMETERS | {"q"}
POSTS_PARAMETERS = LIBRARY_PARAMETERS | {
    *("tag", "author", "free", "minPrice", "maxPrice", "sort", "hosted"),
}


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A body and its entity tag."""

    body: bytes
    tag: str

    @classmethod
    def of(cls, body: bytes) -> "_Encoded":
        return cls(body, content_tag(body))

    @property
    def weight(self) -> int:
        return _OVERHEAD + len(self.body)


def _kept_bodies() -> Derived[_Encoded]:
    return Derived(lambda encoded: encoded.weight, KEPT_BYTES)


@dataclass(frozen=True, slots=True)
class PostRoutes:
    """Each endpoint parses its parameters, calls one service, and encodes the result.

    A result that the catalog returned from its cache is not encoded again.
    """

    login: Login
    posts: Posts
    reads: Reads
    records: PostRecords
    coin: str
    """The symbol of the chain's coin."""
    has_pages: bool = False
    """Whether authors have HTML pages. If not, posts link to their Markdown."""
    _encoded: Derived[_Encoded] = field(default_factory=_kept_bodies)

    async def list_posts(self, request: Request) -> Response:
        listed = await self.posts.list(posts_request(request), client_of(request))
        return self._respond(request, listed, self.records.listed, SHORT_LIVED)

    async def post(self, request: Request) -> Response:
        post_id = canonical_post_id(request.path_params["id"])
        check_parameters(request)
        if prefers(request, HTML_TYPE):
            return _see_page(f"/p/{post_id}")
        found = await self.posts.post(post_id)
        return self._respond(request, found, self.records.priced, SHORT_LIVED, "Accept")

    async def revisions(self, request: Request) -> Response:
        """Return the revisions of a post, without their texts."""
        post_id = canonical_post_id(request.path_params["id"])
        check_parameters(request)
        found = await self.reads.revisions_of((await self.posts.post(post_id)).post)
        encoded = _Encoded.of(encode_json(revisions_response(found)))
        return _encoded_response(request, encoded, SHORT_LIVED, None)

    async def proof(self, request: Request) -> Response:
        """Return a file that proves where the chain records a post. Anybody can check it."""
        post_id = canonical_post_id(request.path_params["id"])
        check_parameters(request)
        found = await self.posts.proof(post_id)
        return self._respond(request, found, proof_response, SHORT_LIVED)

    async def author(self, request: Request) -> Response:
        check_parameters(request)
        address = canonical_address(request.path_params["address"])
        if self.has_pages and prefers(request, HTML_TYPE):
            return _see_page(f"/a/{address}")
        found = await self.posts.author(address)
        return self._respond(request, found, author_response, SHORT_LIVED, "Accept")

    async def library(self, request: Request) -> Response:
        session = await self._session(request)
        asked = own_request(request, MAX_PAGE_SIZE, LIBRARY_PARAMETERS)
        library = await self.posts.library(session, asked)
        if library.snippets is not None:
            # Snippets of paid posts are cached nowhere, not even in this process.
            encoded = _Encoded.of(encode_json(self.records.library(library)))
            return _encoded_response(request, encoded, OWN, "Authorization")
        return self._respond(request, library, self.records.library, OWN, "Authorization")

    async def own_posts(self, request: Request) -> Response:
        session = await self._session(request)
        page = await self.posts.own(session, own_request(request, MAX_PAGE_SIZE))
        return self._respond(request, page, self.records.own, OWN, "Authorization")

    async def sales(self, request: Request) -> Response:
        session = await self._session(request)
        if prefers(request, CSV_TYPE):
            return await self._sales_table(request, session)
        page = await self.posts.sales(session, own_request(request, MAX_PAGE_SIZE), PAGE_SIZE)
        return self._respond(request, page, sales_response, OWN, "Accept, Authorization")

    async def stats(self, request: Request) -> Response:
        check_parameters(request)
        return self._respond(request, await self.posts.stats(), stats_response, SHORT_LIVED)

    async def _sales_table(self, request: Request, session: LiveSession) -> Response:
        """Return a table of sales. The `Link` header has the URL of the next table."""
        asked = own_request(request, MAX_TABLE_SIZE)
        page = await self.posts.sales(session, asked, MAX_TABLE_SIZE)
        headers = {
            "Cache-Control": OWN,
            "Content-Disposition": 'attachment; filename="sales.csv"',
            "Vary": "Accept, Authorization",
        }
        if page.next_page_token is not None:
            headers["Link"] = f'</me/sales?next_page_token={page.next_page_token}>; rel="next"'
        table = _Encoded.of(sales_table(page.sales, self.coin))
        headers["ETag"] = table.tag
        if is_current(request, table.tag):
            return Response(status_code=304, headers=headers)
        media_type = f"{CSV_TYPE}; charset=utf-8; header=present"
        return Response(table.body, 200, headers, media_type)

    async def _session(self, request: Request) -> LiveSession:
        return await self.login.authenticate(request.headers.get("authorization"))

    def _respond(
        self,
        request: Request,
        value: Any,
        record: Callable[[Any], object],
        cache: str,
        vary: str | None = None,
    ) -> Response:
        """Return the JSON of a value, or 304 if the client already has it."""
        encoded = self._encoded.of(value, None, lambda: _Encoded.of(encode_json(record(value))))
        return _encoded_response(request, encoded, cache, vary)


def _encoded_response(
    request: Request, encoded: _Encoded, cache: str, vary: str | None
) -> Response:
    headers = {"ETag": encoded.tag, "Cache-Control": cache}
    if vary is not None:
        headers["Vary"] = vary
    if is_current(request, encoded.tag):
        return Response(status_code=304, headers=headers)
    return Response(encoded.body, 200, headers, JSON_TYPE)


def _see_page(path: str) -> Response:
    """Redirect a browser to the HTML page of this resource."""
    headers = {"Location": path, "Cache-Control": SHORT_LIVED, "Vary": "Accept"}
    return Response(status_code=303, headers=headers)


# Parameters


def posts_request(request: Request) -> ListRequest:
    """Parse the filter and order of a list of posts. Refuses malformed parameters."""
    query: bytes = request.scope["query_string"]
    if len(query) <= MAX_CACHED_QUERY:
        return _cached_posts_request(query)
    return _parse_posts_request(check_parameters(request, POSTS_PARAMETERS))


@lru_cache(maxsize=1024)
def _cached_posts_request(query: bytes) -> ListRequest:
    given = QueryParams(query)
    refuse_unknown(given, POSTS_PARAMETERS)
    return _parse_posts_request(given)


def _parse_posts_request(query: QueryParams) -> ListRequest:
    given: dict[str, Any] = {}
    if tags := given_values(query, "tag"):
        given["tags"] = _tags(tags)
    if (author := only_value(query, "author", Code.INVALID_ADDRESS)) is not None:
        given["author"] = canonical_address(author)
    if (free := only_value(query, "free")) is not None:
        if free not in ("true", "false"):
            raise Refusal(Code.INVALID_REQUEST, "The parameter 'free' must be 'true' or 'false'.")
        given["free"] = free == "true"
    for name, member in (("minPrice", "min_price"), ("maxPrice", "max_price")):
        if (price := only_value(query, name)) is not None:
            given[member] = decimal_number(
                price, Code.INVALID_REQUEST, f"'{name}' must be an amount in wei below 2^256."
            )
    if given.get("min_price", 0) > given.get("max_price", 2**256):
        raise Refusal(Code.INVALID_REQUEST, "'minPrice' must not be above 'maxPrice'.")
    if (order := only_value(query, "sort")) is not None:
        if order not in tuple(PostOrder):
            orders = ", ".join(PostOrder)
            raise Refusal(Code.INVALID_REQUEST, f"The parameter 'sort' must be one of {orders}.")
        given["order"] = PostOrder(order)
    if (hosted := only_value(query, "hosted")) is not None:
        if hosted != "any":
            raise Refusal(Code.INVALID_REQUEST, "The parameter 'hosted' is 'any'.")
        given["scope"] = PostScope.LISTED
    return ListRequest(given, *_page(query, MAX_PAGE_SIZE), _search(query))


def own_request(
    request: Request, largest: int, known: frozenset[str] = PAGE_PARAMETERS
) -> ListRequest:
    """Parse the parameters of a list of the session's own records. Refuses malformed ones."""
    query = check_parameters(request, known)
    return ListRequest({}, *_page(query, largest), _search(query))


def _search(query: QueryParams) -> str | None:
    """Return the search text of a request."""
    return only_value(query, "q")


def _page(query: QueryParams, largest: int) -> tuple[str | None, int | None]:
    token = only_value(query, "next_page_token", Code.INVALID_PAGE_TOKEN)
    given = only_value(query, "limit")
    if given is None:
        return token, None
    problem = f"The parameter 'limit' must be a number from 1 to {largest}."
    limit = decimal_number(given, Code.INVALID_REQUEST, problem)
    if not 1 <= limit <= largest:
        raise Refusal(Code.INVALID_REQUEST, problem)
    return token, limit


def _tags(given: list[str]) -> tuple[str, ...]:
    """Return the hashtags, one per parameter, in an order that does not depend on the request."""
    if len(given) > MAX_TAGS:
        raise Refusal(Code.INVALID_TAGS, f"At most {MAX_TAGS} hashtags are allowed.")
    tags: set[str] = set()
    for text in given:
        parsed = parse_tags(text)
        if len(parsed) != 1 or "," in text:
            raise Refusal(Code.INVALID_TAGS, "Each parameter 'tag' must be one hashtag.")
        tags.update(parsed)
    return tuple(sorted(tags))


@dataclass(frozen=True, slots=True)
class TotalsRoutes:
    """Each endpoint reads totals and returns them in the format of the earlier service."""

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
    """Return the address parameter of a request. Refuses with `invalid_address`."""
    return query_address(request, "userAddress")


def _response(request: Request, value: msgspec.Struct) -> Response:
    return cached_response(request, encode_json(value), "application/json", SHORT_LIVED)


def _days(moments: Iterable[datetime]) -> tuple[str, ...]:
    """Format the days as `D/M/YYYY`, in UTC, without leading zeros."""
    return tuple(f"{moment.day}/{moment.month}/{moment.year}" for moment in moments)
