"""Methods for feeds: of all posts, of a hashtag, of an author, and private ones of a reader."""

from urllib.parse import quote

from imprint.client.connection import Connection
from imprint.interface.feeds import FeedAccess, FeedsResponse, JsonFeed, PrivateFeed

ATOM = "application/atom+xml"


class FeedMethods(Connection):
    """Feeds as Atom, which are texts, and as JSON Feed."""

    async def get_feed_atom(self) -> str:
        """Return the feed of all posts as Atom."""
        return await self._read_text("/feeds/posts.atom", ATOM)

    async def get_feed_json(self) -> JsonFeed:
        """Return the feed of all posts."""
        return await self._read("/feeds/posts.json", JsonFeed)

    async def get_tag_feed_atom(self, tag: str) -> str:
        """Return the feed of a hashtag as Atom."""
        return await self._read_text(f"/feeds/tags/{quote(tag, safe='')}.atom", ATOM)

    async def get_tag_feed_json(self, tag: str) -> JsonFeed:
        """Return the feed of a hashtag."""
        return await self._read(f"/feeds/tags/{quote(tag, safe='')}.json", JsonFeed)

    async def get_author_feed_atom(self, address: str) -> str:
        """Return the feed of an author as Atom."""
        return await self._read_text(f"/feeds/authors/{quote(address, safe='')}.atom", ATOM)

    async def get_author_feed_json(self, address: str) -> JsonFeed:
        """Return the feed of an author."""
        return await self._read(f"/feeds/authors/{quote(address, safe='')}.json", JsonFeed)

    async def add_private_feed(self) -> FeedAccess:
        """Make a feed of what the reader holds who is logged in; its addresses are shown once."""
        response = await self._request("POST", "/me/feeds", json={}, signed_in=True)
        return response.decode(FeedAccess)

    async def list_private_feeds(self) -> list[PrivateFeed]:
        """Return the private feeds of the reader who is logged in, the oldest first."""
        return list((await self._read("/me/feeds", FeedsResponse, signed_in=True)).feeds)

    async def rotate_private_feed(self, id: str) -> FeedAccess:  # noqa: A002 - as in the path
        """Give a private feed other addresses; the earlier ones end."""
        path = f"/me/feeds/{quote(id, safe='')}"
        response = await self._request("POST", path, json={}, signed_in=True)
        return response.decode(FeedAccess)

    async def remove_private_feed(self, id: str) -> None:  # noqa: A002 - as in the path
        """End a private feed."""
        await self._request("DELETE", f"/me/feeds/{quote(id, safe='')}", signed_in=True)

    async def get_private_feed_atom(self, token: str, *, before: str | None = None) -> str:
        """Return a private feed as Atom; `token` is the secret in its address."""
        path = f"/feeds/private/{quote(token, safe='')}.atom"
        response = await self._request("GET", path, query={"before": before}, accept=ATOM)
        return response.text

    async def get_private_feed_json(self, token: str, *, before: str | None = None) -> JsonFeed:
        """Return a private feed; `token` is the secret in its address."""
        path = f"/feeds/private/{quote(token, safe='')}.json"
        return await self._read(path, JsonFeed, {"before": before})
