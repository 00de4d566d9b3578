"""Feeds: the newest posts for everybody, and for a reader those that they hold or wrote."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from secrets import token_urlsafe

from imprint.domain.addresses import Address
from imprint.domain.errors import Code, Damaged, Refusal, Unavailable
from imprint.domain.feeds import (
    ALL_POSTS,
    FEED_SIZE,
    MAX_ENTRY_BYTES,
    MAX_FEED_BYTES,
    PRIVATE_FEEDS,
    Feed,
    FeedEntry,
    author_path,
    tag_path,
)
from imprint.domain.files import File, new_id
from imprint.domain.indexed_posts import IndexedPost, PostFilter
from imprint.domain.post_text import readable_text
from imprint.ports import Clock
from imprint.ports.feed_index import FeedIndex
from imprint.ports.post_index import PostIndexReader
from imprint.ports.private_feeds import PrivateFeed, PrivateFeeds
from imprint.services.posts import expect_complete, find_author
from imprint.services.reads import Reads

MAX_PRIVATE_FEEDS = 10
"""Private feeds of one reader: one for each of their devices."""

TOKEN_BYTES = 32
"""Random bytes of the token in the addresses of a private feed."""

LONGEST_TOKEN = 64
"""Characters above which a text is no token, and not hashed."""

CONCURRENT = 8
"""Questions to the chain that one feed has running at once."""

FEED_SECONDS = 20.0
"""How long the chain and the content store may take for all texts of one feed."""

NOTED_EVERY = timedelta(minutes=1)
"""How often a fetch of the same feed is noted: readers poll, and each note is a commit."""

_Find = Callable[[IndexedPost], Awaitable[File]]


@dataclass(frozen=True, slots=True)
class FeedAccess:
    """A private feed and the token of its addresses, which is shown once."""

    id: str
    token: str


@dataclass(frozen=True, slots=True)
class Feeds:
    """The feeds. The index says which posts are in them, the chain whose texts may be read.

    If the chain cannot be asked about a text, the whole feed is `Unavailable`: programs keep the
    copy that they have, while a feed without the text would replace it. So it is while the index
    is being filled: its newest posts are old ones, which programs would show as new.
    """

    index: PostIndexReader
    dates: FeedIndex
    reads: Reads
    private_feeds: PrivateFeeds
    clock: Clock

    async def newest(self) -> Feed:
        """The newest posts of all authors."""
        return await self._public("posts", "Posts", ALL_POSTS, PostFilter())

    async def tagged(self, tag: str) -> Feed:
        """The newest posts with a hashtag; none if nobody has used it."""
        which = PostFilter(tags=(tag,))
        return await self._public(f"tag:{tag}", f"Posts with #{tag}", tag_path(tag), which)

    async def authored(self, author: Address) -> Feed:
        """The newest posts of an author. Refuses an address that has published nothing."""
        await expect_complete(self.index)
        await find_author(self.index, author)
        which, path = PostFilter(author=author), author_path(author)
        return await self._public(f"author:{author}", f"Posts of {author}", path, which)

    async def private(self, token: str) -> Feed:
        """The posts that the owner of a private feed holds or wrote. Refuses an unknown token."""
        feed = None
        if len(token) <= LONGEST_TOKEN:
            feed = await self.private_feeds.find_feed(_hash(token))
        if feed is None:
            raise Refusal(Code.NOT_FOUND, "There is no feed at this address.")
        await expect_complete(self.index)
        posts = await self._library(feed.owner)
        find = partial(_find_for, self.reads, feed.owner)
        texts = await self._texts([post for post, _ in posts if post.hosted], find)
        changes = await self.dates.price_changes([post.post_id for post, _ in posts])
        entries = tuple(
            FeedEntry(post, max(arrived, _updated(post, changes)), texts.get(post.post_id))
            for post, arrived in posts
        )
        await self._note_fetch(feed)
        path = f"{PRIVATE_FEEDS}{token}"
        return Feed(f"private:{feed.id}", "Your posts", path, entries, is_private=True)

    # The private feeds of a reader

    async def add(self, owner: Address) -> FeedAccess:
        """A new private feed. Refuses `too_many_feeds`."""
        access = FeedAccess(new_id(), token_urlsafe(TOKEN_BYTES))
        feed = PrivateFeed(access.id, owner, self.clock(), None)
        if not await self.private_feeds.add_feed(feed, _hash(access.token), MAX_PRIVATE_FEEDS):
            text = f"A reader has at most {MAX_PRIVATE_FEEDS} private feeds; remove one first."
            raise Refusal(Code.TOO_MANY_FEEDS, text)
        return access

    async def owned(self, owner: Address) -> list[PrivateFeed]:
        """The private feeds of a reader, the oldest first."""
        return await self.private_feeds.list_feeds(owner)

    async def rotate(self, owner: Address, feed_id: str) -> FeedAccess:
        """Give a feed another token; the old one ends. Refuses an unknown feed."""
        access = FeedAccess(feed_id, token_urlsafe(TOKEN_BYTES))
        if not await self.private_feeds.replace_token(owner, feed_id, _hash(access.token)):
            raise _no_feed()
        return access

    async def remove(self, owner: Address, feed_id: str) -> None:
        """Remove a feed. Refuses an unknown one."""
        if not await self.private_feeds.remove_feed(owner, feed_id):
            raise _no_feed()

    # Entries

    async def _public(self, name: str, title: str, path: str, which: PostFilter) -> Feed:
        await expect_complete(self.index)
        posts = (await self.index.list_posts(which, None, FEED_SIZE)).posts
        readable = [post for post in posts if post.free and post.hosted]
        texts = await self._texts(readable, partial(_find_free, self.reads))
        changes = await self.dates.price_changes([post.post_id for post in posts])
        entries = tuple(
            FeedEntry(post, _updated(post, changes), texts.get(post.post_id)) for post in posts
        )
        return Feed(name, title, path, entries)

    async def _library(self, owner: Address) -> list[tuple[IndexedPost, datetime]]:
        """The posts that an owner wrote or holds, with the moment since when; the newest first."""
        wrote = (await self.index.list_posts(PostFilter(author=owner), None, FEED_SIZE)).posts
        found = {post.post_id: (post.place, post, post.created_at) for post in wrote}
        for held in await self.index.library(owner, None, FEED_SIZE):
            arrival = (held.arrived, held.post, held.arrived_at)
            found.setdefault(held.post.post_id, arrival)
        ordered = sorted(found.values(), key=lambda each: each[0], reverse=True)
        return [(post, since) for _, post, since in ordered[:FEED_SIZE]]

    async def _texts(self, posts: Sequence[IndexedPost], find: _Find) -> dict[int, str]:
        """The texts of these posts that `find` does not refuse, the first ones if all are long."""
        try:
            async with asyncio.timeout(FEED_SECONDS):
                files = await _find_all(posts, find)
                return await self._read_all(files)
        except TimeoutError:
            raise Unavailable.chain() from None

    async def _read_all(self, files: Sequence[tuple[int, File]]) -> dict[int, str]:
        texts, left = {}, MAX_FEED_BYTES
        for post_id, file in files:
            if file.size > min(MAX_ENTRY_BYTES, left):
                continue
            left -= file.size
            # A damaged document must not take the feed from everybody.
            with suppress(Damaged):
                texts[post_id] = readable_text(await self.reads.content_of(file))
        return texts

    async def _note_fetch(self, feed: PrivateFeed) -> None:
        now = self.clock()
        if feed.fetched_at is None or now - feed.fetched_at >= NOTED_EVERY:
            # A database that takes no writes still serves reads.
            with suppress(Unavailable):
                await self.private_feeds.note_fetch(feed.id, now)


async def _find_all(posts: Sequence[IndexedPost], find: _Find) -> list[tuple[int, File]]:
    limit = asyncio.Semaphore(CONCURRENT)

    async def ask(post: IndexedPost) -> File | None:
        async with limit:
            try:
                return await find(post)
            except Refusal:
                return None

    tasks = [asyncio.ensure_future(ask(post)) for post in posts]
    try:
        files = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [
        (post.post_id, file) for post, file in zip(posts, files, strict=True) if file is not None
    ]


async def _find_free(reads: Reads, post: IndexedPost) -> File:
    return await reads.free_post(post.post_id)


async def _find_for(reads: Reads, reader: Address, post: IndexedPost) -> File:
    return await reads.post_for(reader, post.post_id)


def _updated(post: IndexedPost, changes: Mapping[int, datetime]) -> datetime:
    return max(post.created_at, changes.get(post.post_id, post.created_at))


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _no_feed() -> Refusal:
    return Refusal(Code.NOT_FOUND, "There is no private feed with this id.")
