"""Methods for posts, authors, the library, sales, statistics and feeds."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from imprint.client.connection import Connection, Listing, Page, page_of
from imprint.interface.drafts import PostContent
from imprint.interface.posts import (
    Author,
    FeedAccess,
    FeedsResponse,
    GlobalMetricsResponse,
    HeatMap,
    HeatMapResponse,
    HeldPost,
    JsonFeed,
    LibraryResponse,
    ListedRevision,
    MarketMetrics,
    MeasureRecord,
    MeasuresResponse,
    Opening,
    OwnPost,
    OwnPostsResponse,
    Post,
    PostProof,
    PostsResponse,
    PrivateFeed,
    ReportBody,
    ReportResponse,
    RevisionsResponse,
    Sale,
    SalesResponse,
    Stats,
    UserMetrics,
    UserMetricsResponse,
)

ATOM = "application/atom+xml"

MOST_SALES = 1000
"""Maximum number of sales per page."""

_NEXT = re.compile(r'<([^>]+)>;\s*rel="?next')
"""Matches the next-page link in a `Link` header."""


class PostMethods(Connection):
    """Posts, authors, readers and sales from the index, and feeds of posts as Atom or JSON."""

    def list_indexed_posts(
        self,
        *,
        tag: Sequence[str] = (),
        author: str | None = None,
        free: bool | None = None,
        min_price: int | None = None,
        max_price: int | None = None,
        q: str | None = None,
        sort: Literal["newest", "oldest", "sales", "price"] | None = None,
        hosted: Literal["any"] | None = None,
        limit: int | None = None,
    ) -> Listing[Post]:
        """List posts with all of these hashtags and words. `limit` is the size of a page.

        `hosted="any"` includes posts that the service does not show.
        """
        query = {
            "tag": [tag] if isinstance(tag, str) else tag,
            "author": author,
            "free": free,
            "minPrice": min_price,
            "maxPrice": max_price,
            "q": q,
            "sort": sort,
            "hosted": hosted,
            "limit": limit,
        }

        async def load(token: str | None) -> Page[Post]:
            page = await self._read("/posts", PostsResponse, {**query, "next_page_token": token})
            return page_of(page.posts, page.next_page_token)

        return Listing(load)

    async def show_post(self, id: str | int) -> Post:  # noqa: A002 - as in the path
        """Return a post from the index."""
        return await self._read(f"/posts/{quote(str(id), safe='')}", Post)

    async def read_post_content(
        self,
        id: str | int,  # noqa: A002 - as in the path
        *,
        revision: int | None = None,
    ) -> PostContent:
        """Return a post's text. Without a session, only free posts can be read.

        Returns the newest version, or the version with this number. Version 0 is the document on
        the chain.
        """
        path = f"/posts/{quote(str(id), safe='')}/content"
        return await self._read(path, PostContent, {"revision": revision}, signed_in=True)

    async def list_revisions(
        self,
        id: str | int,  # noqa: A002 - as in the path
    ) -> list[ListedRevision]:
        """Return the corrected versions of a post without their texts, newest first."""
        path = f"/posts/{quote(str(id), safe='')}/revisions"
        return list((await self._read(path, RevisionsResponse)).revisions)

    async def read_opening(self, id: str | int) -> Opening:  # noqa: A002 - as in the path
        """Return the part of a post that everybody may read, whatever the post costs."""
        return await self._read(f"/posts/{quote(str(id), safe='')}/opening", Opening)

    async def get_post_proof(self, id: str | int) -> PostProof:  # noqa: A002 - as in the path
        """Return the proof that a final block of the chain records a post."""
        return await self._read(f"/posts/{quote(str(id), safe='')}/proof.json", PostProof)

    async def get_post_markdown(self, id: str | int) -> str:  # noqa: A002 - as in the path
        """Return a post as Markdown.

        If the session may not read the post, the result has its opening and says how to buy it.
        """
        path, accept = f"/posts/{quote(str(id), safe='')}.md", "text/markdown"
        response = await self._request("GET", path, accept=accept, signed_in=True, expected=(402,))
        return response.text

    async def list_measures(self) -> list[MeasureRecord]:
        """Return the operator's measures on the logged-in author and their posts."""
        found = await self._read("/me/measures", MeasuresResponse, signed_in=True)
        return list(found.measures)

    async def report_post(
        self, post_id: str | int, reason: str, text: str, *, contact: str = ""
    ) -> str:
        """Report a post to the operator and return the id of the report."""
        body = ReportBody(str(post_id), reason, text, contact)
        response = await self._request("POST", "/reports", json=msgspec.to_builtins(body))
        return response.decode(ReportResponse).report.id

    async def show_author(self, address: str) -> Author:
        """Return an author's publication and sales totals."""
        return await self._read(f"/authors/{quote(address, safe='')}", Author)

    def list_library(self, *, q: str | None = None, limit: int | None = None) -> Listing[HeldPost]:
        """List the posts that the logged-in reader holds, newest purchase first."""

        async def load(token: str | None) -> Page[HeldPost]:
            query = {"q": q, "limit": limit, "next_page_token": token}
            page = await self._read("/me/library", LibraryResponse, query, signed_in=True)
            return page_of(page.posts, page.next_page_token)

        return Listing(load)

    def list_own_posts(self, *, limit: int | None = None) -> Listing[OwnPost]:
        """List all posts of the logged-in author, newest first, and the measures that hide them."""

        async def load(token: str | None) -> Page[OwnPost]:
            query = {"limit": limit, "next_page_token": token}
            page = await self._read("/me/posts", OwnPostsResponse, query, signed_in=True)
            return page_of(page.posts, page.next_page_token)

        return Listing(load)

    def list_sales(self, *, limit: int | None = None) -> Listing[Sale]:
        """List the logged-in author's sales, newest first."""

        async def load(token: str | None) -> Page[Sale]:
            query = {"limit": limit, "next_page_token": token}
            page = await self._read("/me/sales", SalesResponse, query, signed_in=True)
            return page_of(page.sales, page.next_page_token)

        return Listing(load)

    async def sales_csv(self, *, limit: int = MOST_SALES) -> str:
        """Return all of the logged-in author's sales as one table (CSV, RFC 4180).

        `limit` is the page size, and all pages are fetched.
        """
        table, token = "", None
        while True:
            query = {"limit": limit, "next_page_token": token}
            response = await self._request(
                "GET", "/me/sales", query=query, accept="text/csv", signed_in=True
            )
            # Every page repeats the header line.
            table += response.text.partition("\r\n")[2] if table else response.text
            token = _find_next(response.headers.get("Link", ""))
            if token is None:
                return table

    async def show_stats(self) -> Stats:
        """Return the marketplace's totals, and its figures for each of the last 90 days."""
        return await self._read("/stats", Stats)

    async def get_global_metrics(self) -> MarketMetrics:
        """Return totals in the earlier service's format."""
        return (await self._read("/globalMetrics", GlobalMetricsResponse)).data

    async def get_user_metrics(self, user_address: str) -> UserMetrics:
        """Return one address's totals in the earlier service's format."""
        query = {"userAddress": user_address}
        return (await self._read("/userMetrics", UserMetricsResponse, query)).data

    async def get_heat_map(self, user_address: str) -> HeatMap:
        """Return the days on which an address published and bought."""
        query = {"userAddress": user_address}
        return (await self._read("/heatmap", HeatMapResponse, query)).data

    async def get_feed_atom(self) -> str:
        """Return the feed of all posts as Atom."""
        return await self._read_text("/feeds/posts.atom", ATOM)

    async def get_feed_json(self) -> JsonFeed:
        """Return the feed of all posts."""
        return await self._read("/feeds/posts.json", JsonFeed)

    async def get_tag_feed_atom(self, tag: str) -> str:
        """Return a hashtag's feed as Atom."""
        return await self._read_text(f"/feeds/tags/{quote(tag, safe='')}.atom", ATOM)

    async def get_tag_feed_json(self, tag: str) -> JsonFeed:
        """Return a hashtag's feed."""
        return await self._read(f"/feeds/tags/{quote(tag, safe='')}.json", JsonFeed)

    async def get_author_feed_atom(self, address: str) -> str:
        """Return an author's feed as Atom."""
        return await self._read_text(f"/feeds/authors/{quote(address, safe='')}.atom", ATOM)

    async def get_author_feed_json(self, address: str) -> JsonFeed:
        """Return an author's feed."""
        return await self._read(f"/feeds/authors/{quote(address, safe='')}.json", JsonFeed)

    async def add_private_feed(self) -> FeedAccess:
        """Create a feed of the logged-in reader's posts. Its URLs are shown only once."""
        response = await self._request("POST", "/me/feeds", json={}, signed_in=True)
        return response.decode(FeedAccess)

    async def list_private_feeds(self) -> list[PrivateFeed]:
        """Return the logged-in reader's private feeds, oldest first."""
        return list((await self._read("/me/feeds", FeedsResponse, signed_in=True)).feeds)

    async def rotate_private_feed(self, id: str) -> FeedAccess:  # noqa: A002 - as in the path
        """Give a private feed new URLs. The old URLs stop working."""
        path = f"/me/feeds/{quote(id, safe='')}"
        response = await self._request("POST", path, json={}, signed_in=True)
        return response.decode(FeedAccess)

    async def remove_private_feed(self, id: str) -> None:  # noqa: A002 - as in the path
        """Delete a private feed."""
        await self._request("DELETE", f"/me/feeds/{quote(id, safe='')}", signed_in=True)

    async def get_private_feed_atom(self, token: str, *, before: str | None = None) -> str:
        """Return a private feed as Atom. `token` is the secret in its URL."""
        path = f"/feeds/private/{quote(token, safe='')}.atom"
        response = await self._request("GET", path, query={"before": before}, accept=ATOM)
        return response.text

    async def get_private_feed_json(self, token: str, *, before: str | None = None) -> JsonFeed:
        """Return a private feed. `token` is the secret in its URL."""
        path = f"/feeds/private/{quote(token, safe='')}.json"
        return await self._read(path, JsonFeed, {"before": before})


def _find_next(links: str) -> str | None:
    """Return the token of the next page in a `Link` header, if there is one."""
    found = _NEXT.search(links)
    tokens = parse_qs(urlsplit(found[1]).query).get("next_page_token", []) if found else []
    return tokens[0] if tokens else None
