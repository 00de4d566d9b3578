"""Posts for pages: one with its text if that is free, and the newest of all.

Used by the HTML pages, and by the Markdown and lists for machines.
"""

from dataclasses import dataclass

from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter
from imprint.ports.post_index import PostIndexReader
from imprint.services.access.reads import Reads
from imprint.services.posts.posts import find_post

NEWEST = 20
"""Posts that the page about the service lists."""


@dataclass(frozen=True, slots=True)
class ShownPost:
    """A post, with the file of its text if that is free and stored here.

    `price` is None if the post is no longer free on the chain, and the index does not know its
    price yet.
    """

    post: IndexedPost
    file: File | None
    price: int | None


@dataclass(frozen=True, slots=True)
class Pages:
    """The posts of pages. The chain decides whether a text is shown."""

    index: PostIndexReader
    reads: Reads

    async def show(self, post_id: int) -> ShownPost:
        """A post, before its text is read. Refuses an unknown one."""
        post = await find_post(self.index, post_id)
        if not (post.free and post.hosted):
            return ShownPost(post, None, post.price)
        try:
            file = await self.reads.shown_post(post)
        except Refusal as refusal:
            is_paid = refusal.code is Code.NOT_FREE
            return ShownPost(post, None, None if is_paid else post.price)
        return ShownPost(post, file, post.price)

    async def newest(self) -> tuple[IndexedPost, ...]:
        """The newest posts of all authors."""
        return (await self.index.list_posts(PostFilter(), None, NEWEST)).posts
