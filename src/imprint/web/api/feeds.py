"""Feed endpoints: public feeds, and the private feeds of a reader."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.feeds import MAX_FEED_BYTES, PRIVATE_FEEDS, Feed, FeedTexts
from imprint.domain.posts.market_events import parse_position
from imprint.domain.sessions import LiveSession
from imprint.interface import posts as records
from imprint.services.accounts.login import Login
from imprint.services.posts.feeds import FeedAccess, Feeds, ShowText
from imprint.web.api import atom, json_feed
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.large_responses import LargeResponse, Reservation, ResponseBudget
from imprint.web.http.requests import (
    SMALL_BODY,
    BodyReader,
    canonical_address,
    check_parameters,
    client_of,
    only_value,
    parse_json,
    parse_tags,
    query_params,
)
from imprint.web.http.responses import (
    OWN,
    SHARED,
    empty_response,
    own_response,
    reserved_response,
    validators,
)
from imprint.web.http.routing import Endpoint

FEED_MEMORY = 8 * MAX_FEED_BYTES
"""Memory in bytes for rendering a feed, including the escaped texts and the document."""

KEPT_BYTES = 8 * 1024 * 1024
"""Cache size for feeds in bytes. The least recently fetched are evicted."""

_OVERHEAD = 1_024
"""Bytes counted for each cached feed on top of the length of its document."""

_FEED_ID = re.compile(r"[A-Za-z0-9-]{1,64}\Z")

Ending = Literal["atom", "json"]

LoadFeed = Callable[[], Awaitable[Feed]]

WRITERS = {"atom": atom.write_atom, "json": json_feed.write_json_feed}

_MEDIA_TYPES = {"atom": atom.MEDIA_TYPE, "json": json_feed.MEDIA_TYPE}


@dataclass(frozen=True, slots=True)
class _Written:
    """A feed as a document, with its cache validators."""

    feed: Feed
    body: bytes
    validators: Mapping[str, str]

    @property
    def weight(self) -> int:
        """Approximate memory size in bytes."""
        return _OVERHEAD + len(self.body)


@dataclass(frozen=True, slots=True)
class FeedRoutes:
    """Each endpoint parses its path, calls one method of `Feeds`, and returns the result.

    A feed with the same posts and documents as before is neither read nor rendered again.
    """

    login: Login
    feeds: Feeds
    links: FeedLinks
    bodies: BodyReader
    budget: ResponseBudget
    show: ShowText
    _kept: BoundedCache[tuple[str, int | None, Ending], _Written] = field(
        default_factory=lambda: BoundedCache(KEPT_BYTES, lambda written: written.weight)
    )

    def newest(self, ending: Ending) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await self._public(request, ending, self.feeds.newest)

        return endpoint

    def tagged(self, ending: Ending) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            tag = _tag(request)
            load = partial(self.feeds.tagged, tag=tag)
            return await self._public(request, ending, load)

        return endpoint

    def authored(self, ending: Ending) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            author = canonical_address(request.path_params["address"])
            load = partial(self.feeds.authored, author=author)
            return await self._public(request, ending, load)

        return endpoint

    def private(self, ending: Ending) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            token, before = request.path_params["token"], _before(request)
            load = partial(self.feeds.private, token=token, before=before)
            reservation, _ = await self._open(request, ending, load)
            headers = {"Cache-Control": OWN, "X-Robots-Tag": "noindex"}
            return LargeResponse(reservation, reservation.body, 200, headers, _MEDIA_TYPES[ending])

        return endpoint

    async def all_of_reader(self, request: Request) -> Response:
        """`/me/feeds`: list the feeds of the session's reader, or create one."""
        check_parameters(request)
        session = await self._session(request)
        if request.method == "POST":
            await self._check_body(request)
            return self._access(await self.feeds.add(session), 201)
        feeds = tuple(
            records.PrivateFeed(each.id, each.created_at, each.fetched_at)
            for each in await self.feeds.owned(session)
        )
        return own_response(records.FeedsResponse(feeds))

    async def one_of_reader(self, request: Request) -> Response:
        """`/me/feeds/{id}`: give a feed a new token, or delete it."""
        check_parameters(request)
        session = await self._session(request)
        feed_id = _feed_id(request)
        if request.method == "POST":
            await self._check_body(request)
            return self._access(await self.feeds.rotate(session, feed_id), 200)
        await self.feeds.remove(session, feed_id)
        return empty_response()

    async def _session(self, request: Request) -> LiveSession:
        return await self.login.authenticate(request.headers.get("authorization"))

    async def _check_body(self, request: Request) -> None:
        """Refuse any body except an empty one or an empty object, because there are no options."""
        body = await self.bodies.open(request, SMALL_BODY).read()
        if body.strip() and parse_json(body) != {}:
            raise Refusal(Code.INVALID_REQUEST, "The body must be empty or an empty object.")

    def _access(self, access: FeedAccess, status: int) -> Response:
        path = f"{self.links.service}{PRIVATE_FEEDS}{access.token}"
        body = records.FeedAccess(access.id, f"{path}.atom", f"{path}.json")
        return own_response(body, status)

    async def _public(self, request: Request, ending: Ending, load: LoadFeed) -> Response:
        reservation, written = await self._open(request, ending, load)
        headers = {**written.validators, "Cache-Control": SHARED, "Cache-Tag": "posts"}
        if (link := self.links.header(written.feed, ending)) is not None:
            headers["Link"] = link
        return reserved_response(request, reservation, headers, _MEDIA_TYPES[ending])

    async def _open(
        self, request: Request, ending: Ending, load: LoadFeed
    ) -> tuple[Reservation, _Written]:
        client = client_of(request)
        feed = await load()
        key = feed.path, feed.before, ending
        written = self._kept.get(key)
        if written is None or not written.feed.has_entries_of(feed):
            is_complete = False

            async def write() -> bytes:
                nonlocal is_complete
                texts = await self.feeds.texts(client, feed, self.show)
                is_complete = texts.is_complete
                return await _write(self.links, feed, texts, ending)

            reservation = await self.budget.reserve(client, FEED_MEMORY, write)
            written = _Written(
                feed, reservation.body, validators(reservation.body, feed.updated_at)
            )
            if is_complete:
                self._kept.put(key, written)
            return reservation, written
        self._kept.touch(key)
        body = written.body

        async def send() -> bytes:
            return body

        return await self.budget.admit(client, send), written


async def _write(links: FeedLinks, feed: Feed, texts: FeedTexts, ending: Ending) -> bytes:
    if sum(map(len, texts.html.values())) > SMALL_DOCUMENT:
        return await asyncio.to_thread(WRITERS[ending], feed, texts.html, links)
    return WRITERS[ending](feed, texts.html, links)


def _before(request: Request) -> int | None:
    """Return the position before which a page of a private feed begins."""
    given = only_value(query_params(request), "before")
    if given is None:
        return None
    place = parse_position(given)
    if place is None:
        raise Refusal(Code.INVALID_REQUEST, "The parameter 'before' must be a number.")
    return place


def _feed_id(request: Request) -> str:
    """Return the ID of a private feed.

    Refuses any text that cannot be an ID, because the database might reject it.
    """
    text: str = request.path_params["id"]
    if not _FEED_ID.match(text):
        raise Refusal(Code.NOT_FOUND, "There is no private feed with this id.")
    return text


def _tag(request: Request) -> str:
    text: str = request.path_params["tag"]
    tags = parse_tags(text)
    if len(tags) != 1 or "," in text:
        raise Refusal(Code.INVALID_TAGS, "A feed must name exactly one hashtag.")
    return tags[0]
