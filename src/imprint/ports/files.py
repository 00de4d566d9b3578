"""Ports for file records: single files, lists, and revisions of posts."""

from typing import Protocol

from imprint.domain.drafts.files import File, Intent, Version
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import ListFilter
from imprint.domain.posts.revisions import Revision, SignedRevision
from imprint.domain.sessions import Session


class FileList(list[File]):
    """A list of files, to which caches can have weak references."""

    __slots__ = ("__weakref__",)


class FileStore(Protocol):
    """The records of live files, as visible to readers.

    A damaged record raises `Damaged`. While the database structure is known to be damaged, a record
    that is not found may still exist. Therefore, lists and reads that find nothing raise
    `Unavailable`.

    A method that is given an ended session refuses with `session_ended`, whether or not it finds
    anything. Among the lists, only lists of drafts take a session.
    """

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        """Return the live file with this CID."""

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        """Return the `onchain` file bound to this post ID."""

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> FileList:
        """Return up to `limit` files with positions below `before`, in descending order."""

    async def public_size(self, cid: Cid) -> int | None:
        """Return the size in bytes of the thumbnail with this CID, if a live file has it.

        Anybody may fetch the thumbnail of a live file. A replaced thumbnail is available until its
        grace period ends. Returns 0 for a thumbnail that was stored before sizes were recorded.
        """


class RevisionStore(Protocol):
    """The revisions of posts, keyed by the CID of the document on the chain.

    A damaged revision raises `Damaged`.
    """

    async def newest_revision(self, document: Cid) -> Revision | None:
        """Return the revision with the highest number."""

    async def find_revision(self, document: Cid, number: int) -> Revision | None:
        """Return the revision with this number."""

    async def revision_with_cid(self, cid: Cid) -> Revision | None:
        """Return the revision whose own document has this CID."""

    async def revisions_of(self, document: Cid) -> list[Revision]:
        """Return all revisions, newest first."""

    async def add_revision(
        self, signed: SignedRevision, intent: Intent, version: Version
    ) -> Revision | None:
        """Add a revision with the next number, spend its nonce and end its intent, atomically.

        Returns None if the post no longer has the document that was signed. Refuses
        with `too_many_revisions`, and refuses a spent nonce.
        """
