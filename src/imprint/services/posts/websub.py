"""WebSub: notifies a hub about feeds with new posts, from one process at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import quote

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.posts.feeds import ALL_POSTS, FEED_SIZE, author_path, tag_path
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter
from imprint.metrics import HUB_NOTICES
from imprint.ports import Clock, Monotonic, monotonic
from imprint.ports.installation import LeaseStore
from imprint.ports.post_index import Hub, PostIndexReader
from imprint.services.tasks.leases import LEASE_TIME, HeldLease, name_holder
from imprint.services.tasks.periodic_task import run_periodically

WEBSUB_LEASE = "websub"
"""The lease of the process that notifies the hub."""

INTERVAL = 5.0
"""Seconds between two checks of the newest posts."""

RECENT = timedelta(hours=1)
"""Maximum age of the posts that a process reports to the hub when it takes over."""

MAX_TOPICS = 64
"""Maximum number of feeds per notification."""

MAX_PENDING = 1_000
"""Maximum number of feeds waiting for the hub. Above this, the oldest are dropped.

Their subscribers are notified with the next post.
"""

LONGEST_PAUSE = 300.0
"""Maximum seconds between two attempts to reach a hub that does not respond."""


@dataclass(slots=True)
class HubNotices:
    """Checks the newest posts, and sends the URLs of feeds with new posts to the hub.

    Each process tracks only the posts that it has seen itself, so the hub may be notified twice
    when another process takes over, which does no harm.
    """

    leases: LeaseStore
    index: PostIndexReader
    hub: Hub
    service: str
    clock: Clock
    monotonic: Monotonic = monotonic
    _lease: HeldLease = field(init=False)
    _known: frozenset[int] | None = field(default=None, init=False)
    _pending: BoundedCache[str, None] = field(
        default_factory=lambda: BoundedCache(MAX_PENDING), init=False
    )
    _pause: float = field(default=0.0, init=False)
    _next_attempt: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        holder = name_holder("websub")
        self._lease = HeldLease(self.leases, WEBSUB_LEASE, LEASE_TIME, holder, self.monotonic)

    async def run(self, interval: float = INTERVAL) -> None:
        """Check for new posts until cancelled."""
        try:
            await run_periodically("websub", self.run_once, interval, optional=True)
        finally:
            await self._lease.release()

    async def run_once(self) -> None:
        """Check once, unless another process is doing so, and notify the hub of changes."""
        if not await self._lease.take():
            # The other process tracks new posts. A process that takes over checks the last hour.
            self._known = None
            self._pending.clear()
            return
        await self._look()
        await self._publish()

    async def _look(self) -> None:
        if not await self.index.is_complete():
            return
        posts = (await self.index.list_posts(PostFilter(), None, FEED_SIZE)).posts
        for topic in topics_of(self._new(posts), self.service):
            self._pending.put(topic, None)
        self._known = frozenset(post.place for post in posts)

    def _new(self, posts: Sequence[IndexedPost]) -> list[IndexedPost]:
        if self._known is None:
            since = self.clock() - RECENT
            return [post for post in posts if post.created_at >= since]
        return [post for post in posts if post.place not in self._known]

    async def _publish(self) -> None:
        now = self.monotonic()
        if not self._pending or now < self._next_attempt:
            return
        topics = list(self._pending)[-MAX_TOPICS:]
        if await self.hub.publish(topics):
            HUB_NOTICES.labels("accepted").inc()
            for topic in topics:
                self._pending.pop(topic)
            self._pause = 0.0
            return
        HUB_NOTICES.labels("failed").inc()
        self._pause = min(LONGEST_PAUSE, max(2 * self._pause, INTERVAL))
        self._next_attempt = now + self._pause


def topics_of(posts: Iterable[IndexedPost], service: str) -> list[str]:
    """Return the URLs of the feeds that contain these posts."""
    paths: dict[str, None] = {}
    for post in posts:
        for tag in post.hashtags:
            paths[tag_path(tag)] = None
        paths[author_path(post.author)] = None
    if paths:
        paths[ALL_POSTS] = None
    return [f"{service}{quote(path)}.{ending}" for path in paths for ending in ("atom", "json")]
