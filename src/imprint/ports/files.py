"""Port for the records of files: single ones, and lists of them."""

from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import ListFilter
from imprint.domain.sessions import Session


class FileStore(Protocol):
    """The records of live files, as readers may see them.

    A damaged record raises `Damaged`. While the structure of the database is known to be damaged, a
    record that is not found may still exist: lists, and reads that find nothing, raise
    `Unavailable`.

    A method that is given a session refuses `session_ended`, whether or not it finds anything. Of
    the lists, only those of drafts take a session.
    """

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        """The live file with this cid."""

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        """The `onchain` file bound to this post id."""

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> list[File]:
        """Up to `limit` files with a position below `before`, in descending order of position."""

    async def public_size(self, cid: Cid) -> int | None:
        """The size in bytes of the thumbnail with this cid, if a live file has it: anybody may
        fetch it.

        One that a newer thumbnail replaced is there until its grace period ends. 0 if it was stored
        before sizes were.
        """
