"""Feeds: public feeds of the newest posts, and private feeds of a reader's own posts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from secrets import token_urlsafe

from imprint.domain.drafts.files import File, new_id
from imprint.domain.errors import Code, Damaged, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.feeds import (
    ALL_POSTS,
    FEED_SIZE,
    MAX_ENTRY_BYTES,
    MAX_FEED_BYTES,
    MAX_PAGE_BYTES,
    PRIVATE_FEEDS,
    Feed,
    FeedEntry,
    FeedTexts,
    author_path,
    tag_path,
)
from imprint.domain.posts.indexed_posts import (
    IndexedPost,
    PostFilter,
    PostPosition,
    PostScope,
)
from imprint.domain.sessions import LiveSession
from imprint.ports import Clock
from imprint.ports.accounts import PrivateFeed, PrivateFeeds
from imprint.ports.post_index import PostIndexReader
from imprint.services.access.reads import Reads
from imprint.services.posts.posts import expect_complete, find_author

MAX_PRIVATE_FEEDS = 10
"""Maximum number of private feeds per reader, enough for one per device."""

TOKEN_BYTES = 32
"""Number of random bytes in the token of a private feed's URLs."""

LONGEST_TOKEN = 64
"""Maximum number of characters in a token. Longer texts are not hashed."""

CONCURRENT = 8
"""Maximum number of concurrent chain queries for one feed."""

FEED_SECONDS = 20.0
"""Seconds allowed for querying the chain about a feed's posts, and for reading their texts."""

CONVERTING = "The texts of this feed are still being converted."

NOTED_EVERY = timedelta(minutes=1)
"""Minimum time between recorded fetches of a feed. Feed readers poll often, and every recorded
fetch takes a commit."""

_Find = Callable[[IndexedPost], Awaitable[File]]

ShowText = Callable[[str, FeedEntry], Awaitable[str | None]]
"""Converts the shown part of a post into HTML for a client, or returns None to show no text."""


@dataclass(frozen=True, slots=True)
class FeedAccess:
    """A private feed and the token in its URLs, which is shown only once."""

    id: str
    token: str


@dataclass(frozen=True, slots=True)
class Feeds:
    """Builds feeds. The index determines their posts, and the chain determines who may read them.

    If the chain cannot be queried about a text and has not responded for an hour, the whole feed is
    `Unavailable`. Feed readers then keep their copy, whereas a feed without the text would replace
    it. Feeds are also `Unavailable` while the index is being filled, because feed readers would
    show its old posts as new.
    """

    index: PostIndexReader
    reads: Reads
    private_feeds: PrivateFeeds
    clock: Clock

    async def newest(self) -> Feed:
        """Return the newest posts of all authors."""
        return await self._public(Feed("posts", "newest posts", ALL_POSTS, "/"), PostFilter())

    async def tagged(self, tag: str) -> Feed:
        """Return the newest posts with a hashtag, or an empty feed if nobody has used it."""
        feed = Feed(f"tag:{tag}", f"#{tag}", tag_path(tag), f"/t/{tag}")
        return await self._public(feed, PostFilter(tags=(tag,)))

    async def authored(self, author: Address) -> Feed:
        """Return the newest posts of an author.

        Refuses an address with neither a post nor a profile, and a withheld author.
        """
        await expect_complete(self.index)
        await self.reads.measures.check_author(author)
        await find_author(self.index, author)
        title, path, page = f"posts of {author}", author_path(author), f"/a/{author}"
        feed = Feed(f"author:{author}", title, path, page)
        return await self._public(feed, PostFilter(author=author))

    async def private(self, token: str, before: int | None = None) -> Feed:
        """Return a page of a private feed, which has the posts that its owner holds or wrote.

        The page contains posts before a position, and ends where its texts would become too long.
        Refuses an unknown token.
        """
        feed = None
        if len(token) <= LONGEST_TOKEN:
            feed = await self.private_feeds.find_feed(_hash(token))
        if feed is None:
            raise Refusal(Code.NOT_FOUND, "There is no feed at this address.")
        await expect_complete(self.index)
        page = await self._library(feed.owner, before)
        find = partial(_find_for, self.reads, feed.owner)
        async with _bounded_time(Unavailable.chain()):
            hosted = [owned.post for owned in page.posts if owned.post.hosted]
            files = await self._find_all(hosted, feed.owner, find)
        page = page.cut_to_fit(files)
        changes = await self.index.price_changes([owned.post.post_id for owned in page.posts])
        entries = tuple(
            FeedEntry(
                owned.post,
                max(owned.since, _updated(owned.post, changes)),
                files.get(owned.post.post_id),
            )
            for owned in page.posts
        )
        await self._note_fetch(feed)
        return Feed(
            f"private:{feed.id}",
            "your posts",
            f"{PRIVATE_FEEDS}{token}",
            "/library",
            entries,
            is_private=True,
            before=before,
            next_before=page.next_before,
        )

    async def texts(self, client: str, feed: Feed, show: ShowText) -> FeedTexts:
        """Return the texts of a feed's entries, or only the first texts if the total is too long.

        Raises `Unavailable` if they are not converted in time. Texts converted by then are cached.
        """
        html: dict[int, str] = {}
        left, is_complete = MAX_FEED_BYTES, True
        async with _bounded_time(Unavailable(Code.OVERLOADED, CONVERTING)):
            for entry in feed.entries:
                # A text that cannot fit is not converted.
                if entry.file is not None and min(entry.file.size, MAX_ENTRY_BYTES) > left:
                    continue
                try:
                    text = await show(client, entry)
                except Damaged:
                    # One text must not break the feed for everybody.
                    is_complete = False
                    continue
                size = 0 if text is None else len(text.encode())
                if text is not None and size <= left:
                    html[entry.post.post_id] = text
                    left -= size
        return FeedTexts(html, is_complete)

    # The private feeds of a reader

    async def add(self, session: LiveSession) -> FeedAccess:
        """Create a private feed. Refuses with `too_many_feeds`."""
        access = FeedAccess(new_id(), token_urlsafe(TOKEN_BYTES))
        feed = PrivateFeed(access.id, session.address, self.clock(), None)
        if not await self.private_feeds.add_feed(feed, _hash(access.token), MAX_PRIVATE_FEEDS):
            text = f"A reader may have at most {MAX_PRIVATE_FEEDS} private feeds. Remove one first."
            raise Refusal(Code.TOO_MANY_FEEDS, text)
        return access

    async def owned(self, session: LiveSession) -> list[PrivateFeed]:
        """Return the private feeds of a reader, oldest first."""
        return await self.private_feeds.list_feeds(session.address)

    async def rotate(self, session: LiveSession, feed_id: str) -> FeedAccess:
        """Give a feed a new token. The old one stops working. Refuses an unknown feed."""
        access, owner = FeedAccess(feed_id, token_urlsafe(TOKEN_BYTES)), session.address
        if not await self.private_feeds.replace_token(owner, feed_id, _hash(access.token)):
            raise _no_feed()
        return access

    async def remove(self, session: LiveSession, feed_id: str) -> None:
        """Remove a feed. Refuses an unknown feed."""
        if not await self.private_feeds.remove_feed(session.address, feed_id):
            raise _no_feed()

    # Entries

    async def _public(self, feed: Feed, which: PostFilter) -> Feed:
        """Return the feed with the newest of these posts, and the files of the free posts."""
        await expect_complete(self.index)
        posts = (await self.index.list_posts(which, None, FEED_SIZE)).posts
        readable = [post for post in posts if post.free and post.hosted]
        async with _bounded_time(Unavailable.chain()):
            files = await self._find_all(readable, None, partial(_find_free, self.reads))
            others = [post for post in posts if post.post_id not in files]
            openings = await self._find_openings(others)
        changes = await self.index.price_changes([post.post_id for post in posts])
        entries = tuple(
            FeedEntry(
                post,
                _updated(post, changes),
                files.get(post.post_id) or openings.get(post.post_id),
                is_opening=post.post_id in openings,
            )
            for post in posts
        )
        return replace(feed, entries=entries)

    async def _library(self, owner: Address, before: int | None) -> "_OwnedPage":
        """Return the posts that an owner wrote or obtained before a position, newest first."""
        after = None if before is None else PostPosition(before)
        own = PostFilter(author=owner, scope=PostScope.CHAIN)
        wrote = (await self.index.list_posts(own, after, FEED_SIZE)).posts
        held = await self.index.library(owner, before, FEED_SIZE)
        found = [_Owned(post.place, post, post.created_at) for post in wrote]
        found += [
            _Owned(each.arrived, each.post, each.arrived_at)
            for each in held
            # Posts that the owner wrote are in the other list.
            if each.post.author != owner
        ]
        # A full list may continue below its last post, so the page must not reach further back.
        ends = [wrote[-1].place] if len(wrote) == FEED_SIZE else []
        ends += [held[-1].arrived] if len(held) == FEED_SIZE else []
        end = max(ends, default=None)
        hidden = await self.reads.measures.withheld([owned.post for owned in found])
        found = [
            owned
            for owned in found
            if (end is None or owned.place >= end) and owned.post.post_id not in hidden
        ]
        found.sort(key=lambda owned: owned.place, reverse=True)
        return _OwnedPage(tuple(found), end).cut(FEED_SIZE)

    async def _find_all(
        self, posts: Sequence[IndexedPost], reader: Address | None, find: _Find
    ) -> dict[int, File]:
        """Return the newest texts of these posts by ID, in order. Skips posts that `find` refuses.

        The chain is queried about several posts at once, but not about posts whose access is
        cached.
        """
        has_grant, limit = self.reads.entitlement.has_grant, asyncio.Semaphore(CONCURRENT)

        async def ask(post: IndexedPost) -> File | None:
            try:
                return (await self.reads.newest(await find(post))).text
            except Refusal:
                return None

        async def ask_chain(post: IndexedPost) -> File | None:
            async with limit:
                return await ask(post)

        tasks = {
            post.post_id: asyncio.ensure_future(ask_chain(post))
            for post in posts
            if not has_grant(post.post_id, reader)
        }
        files = {}
        try:
            for post in posts:
                task = tasks.get(post.post_id)
                file = await (ask(post) if task is None else task)
                if file is not None:
                    files[post.post_id] = file
        finally:
            for task in tasks.values():
                task.cancel()
        return files

    async def _find_openings(self, posts: Sequence[IndexedPost]) -> dict[int, File]:
        """Return the texts, by ID, of the posts in this list whose opening everybody may read."""
        files = {}
        for post in posts:
            with suppress(Refusal):
                files[post.post_id] = await self.reads.opened_post(post)
        return files

    async def _note_fetch(self, feed: PrivateFeed) -> None:
        now = self.clock()
        if feed.fetched_at is None or now - feed.fetched_at >= NOTED_EVERY:
            # A database that accepts no writes still serves reads.
            with suppress(Unavailable):
                await self.private_feeds.note_fetch(feed.id, now)


@dataclass(frozen=True, slots=True)
class _Owned:
    """A post that an owner wrote or acquired, with the position and time of that event."""

    place: int
    post: IndexedPost
    since: datetime


@dataclass(frozen=True, slots=True)
class _OwnedPage:
    """Posts of an owner, newest first. Posts before `next_before` are on the next page."""

    posts: tuple[_Owned, ...]
    next_before: int | None

    def cut(self, count: int) -> "_OwnedPage":
        """Return the page with only its first posts. The others move to the next page."""
        if len(self.posts) <= count:
            return self
        return _OwnedPage(self.posts[:count], self.posts[count - 1].place)

    def cut_to_fit(self, files: Mapping[int, File]) -> "_OwnedPage":
        """Return the page with only the first posts whose documents fit into `MAX_PAGE_BYTES`."""
        left = MAX_PAGE_BYTES
        for number, owned in enumerate(self.posts):
            file = files.get(owned.post.post_id)
            left -= 0 if file is None else min(file.size, MAX_ENTRY_BYTES)
            if left < 0:
                return self.cut(number)
        return self


@asynccontextmanager
async def _bounded_time(problem: Unavailable) -> AsyncIterator[None]:
    """Limit the time for one part of a feed. Raises `problem` on a timeout."""
    try:
        async with asyncio.timeout(FEED_SECONDS):
            yield
    except TimeoutError:
        raise problem from None


async def _find_free(reads: Reads, post: IndexedPost) -> File:
    return await reads.shown_post(post)


async def _find_for(reads: Reads, reader: Address, post: IndexedPost) -> File:
    return await reads.post_for(reader, post.post_id)


def _updated(post: IndexedPost, changes: Mapping[int, datetime]) -> datetime:
    revised_at = post.created_at if post.revision is None else post.revision.created_at
    return max(post.created_at, revised_at, changes.get(post.post_id, post.created_at))


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _no_feed() -> Refusal:
    return Refusal(Code.NOT_FOUND, "There is no private feed with this id.")
