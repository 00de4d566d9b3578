"""Port for the records of files: single ones, and lists of them."""

from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.lists import ListFilter
from imprint.domain.sessions import Session


class FileStore(Protocol):
    """The records of live files, as readers may see them.

    A record that is damaged raises `Damaged`. While the structure of the database is known to be
    damaged, what is not found may exist: lists, and reads that find nothing, raise `Unavailable`.

    With a session a method refuses `session_ended`, whether it finds anything or not. Of the lists,
    only those of drafts take one.
    """

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        """The live file with this cid."""

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        """The `onchain` file bound to this post id."""

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> list[File]:
        """Up to `limit` files with a position below `before`, by falling position."""

    async def public_size(self, cid: Cid) -> int | None:
        """The bytes of the thumbnail with this cid, if a live file has it: anybody may fetch it.

        One that a newer thumbnail replaced is there until its grace period ends. 0 if it was stored
        before sizes were.
        """
