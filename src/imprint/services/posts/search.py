"""Search for posts that contain all words of a query, and search within a reader's library.

The newest matches that readers may see are found in windows. Each window is ordered and shown
in pages before the next one is found, so that every match is found and the work per request is
bounded. Posts are read slice by slice until a page is full. A window that takes too long to
find is cut short, and is shown from the newest to the oldest match.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Damaged, Refusal
from imprint.domain.posts.indexed_posts import (
    HeldPost,
    IndexedPost,
    PostFilter,
    PostOrder,
    PostPosition,
    PostScope,
)
from imprint.domain.posts.openings import TextFacts, text_facts
from imprint.domain.posts.post_text import readable_text
from imprint.domain.posts.search import (
    MAX_TEXT,
    NotAQuery,
    PostTexts,
    SearchQuery,
    matches,
    parse_query,
    snippet,
)
from imprint.domain.posts.text_work import TextWork
from imprint.domain.sessions import LiveSession
from imprint.ports import Clock
from imprint.ports.files import FileStore
from imprint.ports.installation import LeaseStore
from imprint.ports.post_index import Matches, PendingText, PostIndexReader, SearchIndex
from imprint.services.access.reads import Reads
from imprint.services.content.large_documents import FairQueue
from imprint.services.tasks.leases import LEASE_TIME, hold_lease, name_holder
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

TEXTS_LEASE = "search texts"
"""The lease of the process that indexes the texts."""

TEXTS_AT_ONCE = 100
"""Number of posts processed between two checks of the lease."""

TEXTS_PER_ROUND = 5_000
"""Maximum number of posts per round. The next round continues with the rest."""

UNHOSTED_TIME = timedelta(minutes=10)
"""How long after its block a post without a stored document stays pending.

If the document arrives later, the post becomes pending again.
"""


@dataclass(frozen=True, slots=True)
class SearchTexts:
    """Reads the texts of posts, and makes free texts and the openings of other posts searchable.

    The chain decides whether a post is free. The number of words of a text, and whether it has an
    opening, are also stored.
    """

    leases: LeaseStore
    words: SearchIndex
    reads: Reads
    clock: Clock
    holder: str = field(default_factory=partial(name_holder, "search texts"))

    async def run(self, interval: float) -> None:
        """Process pending posts until cancelled. Failures are retried in the next round."""
        await run_periodically("search texts", self.read_pending, interval)

    async def read_pending(self) -> int:
        """Process pending posts once, unless another process is doing so.

        Returns the number of settled posts. Raises `Unavailable`.
        """
        if not await self.words.pending_texts(0, 1):
            return 0
        settled = 0
        async with hold_lease(self.leases, TEXTS_LEASE, LEASE_TIME, self.holder) as lease:
            after = 0
            for _ in range(TEXTS_PER_ROUND // TEXTS_AT_ONCE):
                if lease is None or lease.lost:
                    break
                pending = await self.words.pending_texts(after, TEXTS_AT_ONCE)
                for each in pending:
                    settled += await self._settle(each)
                    after = each.place
                if len(pending) < TEXTS_AT_ONCE:
                    break
        return settled

    async def _settle(self, pending: PendingText) -> bool:
        """Store or skip a text. Returns False if the post remains pending."""
        post_id = pending.post_id
        if post_id is not None:
            if not pending.hosted and self.clock() - pending.created_at < UNHOSTED_TIME:
                return False
            shown = await self._shown(post_id, pending) if pending.hosted else None
            facts = None if shown is None else await self._facts(post_id, shown)
            if shown is not None and facts is not None:
                is_free = pending.free and await self._is_free(post_id)
                return await self.words.store_text(pending, shown.cid, facts, is_free=is_free)
        await self.words.skip_text(pending.place)
        return True

    async def _shown(self, post_id: int, pending: PendingText) -> File | None:
        """Return the newest text of a post, or None if the document belongs to another post."""
        file = await self.reads.bound_file(post_id, pending.author, pending.cid)
        return None if file is None else (await self.reads.newest(file)).text

    async def _facts(self, post_id: int, file: File) -> TextFacts | None:
        """Return a text's number of words, searchable text and opening, or None if it is
        damaged."""
        try:
            return await self.reads.converted(TEXTS_LEASE, file, "facts", text_facts, keep=False)
        except Damaged as damaged:
            log.warning(
                "the text of a post is not searchable",
                extra={"post_id": str(post_id), "code": damaged.code},
            )
            return None

    async def _is_free(self, post_id: int) -> bool:
        """Whether a post is free on the chain."""
        try:
            await self.reads.free_post(post_id)
        except Refusal:
            return False
        return True


async def read_words(reads: Reads, client: str, file: File) -> str:
    """Return the searchable words of a document, converted once for all searches."""
    words = partial(readable_text, longest=MAX_TEXT)
    return await reads.converted(client, file, "first words", words)


WINDOW = 100
"""Number of matches that are sorted together."""

MOST_WINDOWS = 4
"""Maximum number of windows that one request reads if its filter excludes most posts."""

MOST_DOCUMENTS = 50
"""Maximum number of a library's documents that one request reads."""

MOST_BYTES = 4 * 1024 * 1024
"""Number of bytes of a library's documents after which a request stops reading."""

SNIPPETS_AT_ONCE = 8 * 1024
"""Number of characters above which snippets are created in a thread."""

SNIPPET_STEPS = 256 * 1024
"""Maximum number of folded characters that one request scans for matches.

Beyond that, a snippet is the start of a text.
"""

SEARCHES = 2
"""Maximum number of concurrent searches over all posts. Clients take turns."""

LIBRARY_SEARCHES = 4
"""Maximum number of concurrent library searches. Readers take turns."""

OVERLOADED = "Too many searches are running."

_KEPT = 512
"""Number of result pages cached until the next commit."""

_KEY_BITS = 264
"""Number of bits of a position that hold the score, sales or price of the last post shown."""

_ANY_KEY = (1 << _KEY_BITS) - 1
_END = 2**63 - 1


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FoundPosts:
    """Posts with their snippets, and the start of the next page."""

    posts: tuple[IndexedPost, ...]
    snippets: Mapping[int, str]
    next: PostPosition | None


@dataclass(frozen=True, slots=True)
class FoundInLibrary:
    """A reader's posts with their snippets, and the library position where the next page starts."""

    held: tuple[HeldPost, ...]
    snippets: Mapping[int, str]
    before: int | None


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a page: the end of its window, and the sort key and position to start after."""

    window: int = _END
    key: int = _ANY_KEY
    place: int = _END
    by_score: bool = True

    @classmethod
    def of(cls, position: PostPosition) -> "_Start":
        window, key = position.value >> _KEY_BITS, position.value & _ANY_KEY
        return cls(window >> 1, key, position.place, bool(window & 1))

    @property
    def position(self) -> PostPosition:
        window = self.window << 1 | self.by_score
        return PostPosition(self.place, window << _KEY_BITS | self.key)


@lru_cache(maxsize=1024)
def parse_search(text: str) -> SearchQuery:
    """Parse the query of a request. Refuses a text that is too long."""
    try:
        return parse_query(text)
    except NotAQuery as error:
        raise Refusal(Code.INVALID_REQUEST, str(error)) from None


@dataclass(frozen=True, slots=True)
class Search:
    """Finds posts by their public texts. Available to everybody."""

    index: PostIndexReader
    words: SearchIndex
    _turns: FairQueue = field(default_factory=lambda: FairQueue(SEARCHES, detail=OVERLOADED))
    _kept: BoundedCache[tuple[object, ...], tuple[object, FoundPosts]] = field(
        default_factory=lambda: BoundedCache(_KEPT)
    )

    async def find(
        self,
        client: str,
        query: SearchQuery,
        which: PostFilter,
        after: PostPosition | None,
        limit: int,
        *,
        by_score: bool,
    ) -> FoundPosts:
        """Return a page of matches. Each window is sorted by relevance, or in the filter's order.

        Results are cached as long as the search index returns the same matches, which is
        until the next commit.
        """
        start = _Start(by_score=by_score) if after is None else _Start.of(after)
        hits = await self._hits(client, query, start.window, which.scope)
        key = (id(hits), which, start, limit)
        known = self._kept.get(key)
        if known is not None and known[0] is hits:
            return known[1]
        found = await self._find(client, query, which, start, hits, limit=limit)
        self._kept.put(key, (hits, found))
        return found

    async def _hits(
        self, client: str, query: SearchQuery, window: int, scope: PostScope
    ) -> Matches:
        async with self._turns.turn(client):
            return await self.words.find_posts(query, window, WINDOW, scope)

    async def _find(
        self,
        client: str,
        query: SearchQuery,
        which: PostFilter,
        start: _Start,
        hits: Matches,
        *,
        limit: int,
    ) -> FoundPosts:
        shown: list[IndexedPost] = []
        following: _Start | None = start
        for _ in range(MOST_WINDOWS):
            if start.window == _END and hits.found:
                # Fix the start of the window, so that posts published meanwhile do not shift later
                # pages.
                start = _Start(hits.found[0].place + 1, start.key, start.place, start.by_score)
            room = limit - len(shown)
            page, after = await self._page(which, start, hits, room)
            shown += page
            if after is not None:
                following = after
                break
            if hits.following is None:
                following = None
                break
            following = start = _Start(hits.following, by_score=start.by_score)
            if len(shown) == limit or hits.is_cut:
                break
            hits = await self._hits(client, query, start.window, which.scope)
        snippets = await self._snippets(query, shown)
        return FoundPosts(tuple(shown), snippets, None if following is None else following.position)

    async def _page(
        self, which: PostFilter, start: _Start, hits: Matches, room: int
    ) -> tuple[list[IndexedPost], _Start | None]:
        """Return as many posts of a window, from the start of a page on, as still fit on the page.

        Also returns the start of the next page in this window, or None if no more posts follow.
        """
        keys, posts = await self._keys(which, start, hits)
        order = sorted((key, place) for place, key in keys.items())[::-1]
        places = [each[1] for each in order if each < (start.key, start.place)]
        if hits.is_cut:
            # If this window is read again, it may be cut at another position. The next page
            # therefore begins a new window.
            places.sort(reverse=True)
        # One more post shows whether another page follows.
        found = await self._read(which, places, room + 1, posts)
        page, after = found[:room], None
        if len(found) > room:
            last = page[-1].place
            after = _Start(start.window, keys[last], last, start.by_score)
        if hits.is_cut:
            page.sort(key=lambda post: (keys[post.place], post.place), reverse=True)
            after = None if after is None else _Start(after.place, by_score=start.by_score)
        return page, after

    async def _keys(
        self, which: PostFilter, start: _Start, hits: Matches
    ) -> tuple[dict[int, int], dict[int, IndexedPost] | None]:
        """Return the sort keys of a window by position, and its posts if sorting needed them."""
        if start.by_score:
            return {match.place: match.score for match in hits.found}, None
        if which.order in (PostOrder.NEWEST, PostOrder.OLDEST):
            is_oldest = which.order is PostOrder.OLDEST
            places = (match.place for match in hits.found)
            return {place: _END - place if is_oldest else place for place in places}, None
        found = await self.index.posts_at([match.place for match in hits.found], which)
        is_sales = which.order is PostOrder.SALES
        keys = {post.place: post.sales.count if is_sales else post.price for post in found}
        return keys, {post.place: post for post in found}

    async def _read(
        self,
        which: PostFilter,
        places: Sequence[int],
        limit: int,
        posts: Mapping[int, IndexedPost] | None,
    ) -> list[IndexedPost]:
        """Return the first posts at these positions, in order, that the filter selects.

        The posts are read in growing slices, so that few unneeded posts are read.
        """
        if posts is not None:
            return [posts[place] for place in places[:limit]]
        shown: list[IndexedPost] = []
        begin, size = 0, limit
        while begin < len(places) and len(shown) < limit:
            part = places[begin : begin + size]
            found = {post.place: post for post in await self.index.posts_at(part, which)}
            shown += [found[place] for place in part if place in found]
            begin, size = begin + size, 2 * size
        return shown[:limit]

    async def _snippets(self, query: SearchQuery, posts: list[IndexedPost]) -> dict[int, str]:
        places = [post.place for post in posts if post.hosted and (post.free or post.has_opening)]
        texts = await self.words.public_texts(places) if places else {}
        shown = {
            post.place: (post.description, texts.get(post.place, ""), post.title) for post in posts
        }
        if sum(len(text) for each in shown.values() for text in each) <= SNIPPETS_AT_ONCE:
            return _make_snippets(query, shown)
        return await asyncio.to_thread(_make_snippets, query, shown)


def _make_snippets(query: SearchQuery, shown: Mapping[int, tuple[str, ...]]) -> dict[int, str]:
    work = TextWork(SNIPPET_STEPS)
    return {place: snippet(query, texts, work) for place, texts in shown.items()}


@dataclass(frozen=True, slots=True)
class LibrarySearch:
    """Finds words in the documents that a reader holds, without storing any of their text."""

    index: PostIndexReader
    files: FileStore
    reads: Reads
    _turns: FairQueue = field(
        default_factory=lambda: FairQueue(LIBRARY_SEARCHES, detail=OVERLOADED)
    )

    async def find(
        self, session: LiveSession, query: SearchQuery, before: int | None, limit: int
    ) -> FoundInLibrary:
        """Return matches among the posts that the session's address holds, last acquired first.

        A page may have fewer posts than requested, or none, even if more pages follow.
        """
        if not query.terms:
            return FoundInLibrary((), {}, None)
        async with self._turns.turn(session.address):
            return await self._find(session, query, before, limit)

    async def _find(
        self, session: LiveSession, query: SearchQuery, before: int | None, limit: int
    ) -> FoundInLibrary:
        found: list[HeldPost] = []
        snippets: dict[int, str] = {}
        size = 0
        held = await self.index.library(session.address, before, MOST_DOCUMENTS)
        hidden = await self.reads.measures.withheld([each.post for each in held])
        for each in held:
            if each.post.post_id in hidden:
                before = each.arrived
                continue
            shown, read = await self._match(session, query, each.post)
            size += read
            before = each.arrived
            if shown is not None:
                found.append(each)
                snippets[each.post.place] = shown
            if len(found) == limit or size >= MOST_BYTES:
                break
        is_last = len(held) < MOST_DOCUMENTS and (not held or before == held[-1].arrived)
        return FoundInLibrary(tuple(found), snippets, None if is_last else before)

    async def _match(
        self, session: LiveSession, query: SearchQuery, post: IndexedPost
    ) -> tuple[str | None, int]:
        """Return the snippet of a post, or None without a match, and the number of bytes read."""
        size = 0
        file = await self.files.file_by_post_id(post.post_id) if post.hosted else None
        if file is not None:
            size = file.size
            try:
                file = (await self.reads.newest(file)).text
                size = file.size
                body = await read_words(self.reads, session.address, file)
            except Damaged:
                body = ""
            shown = await asyncio.to_thread(_match_text, query, post, body)
            # The index may be behind the chain, so the chain has the last word.
            if shown is None or await self._may_read(session, post.post_id):
                return shown, size
        return _match_text(query, post, ""), size

    async def _may_read(self, session: LiveSession, post_id: int) -> bool:
        try:
            await self.reads.own_post(session, post_id)
        except Refusal as refusal:
            if refusal.code in (Code.NOT_ENTITLED, Code.NOT_FOUND):
                return False
            raise
        return True


def _match_text(query: SearchQuery, post: IndexedPost, body: str) -> str | None:
    """Return the snippet of a post with these words, or None if the post does not match."""
    texts = PostTexts(post.title, post.hashtags, post.description, body)
    if not matches(query, texts):
        return None
    return snippet(query, (post.description, body, post.title))
