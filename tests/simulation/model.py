"""The expected state, computed from the chain and the writes accepted by the service."""

from dataclasses import dataclass, field
from datetime import datetime

from tests.simulation.market import Created, Market
from tests.simulation.universe import GRACE, Send
from tests.writing_sessions import WritingKey

from imprint.domain.formats.cids import document_cid

LIVE, GONE, DESTROYED = "live", "gone", "destroyed"
"""States of a version: current, replaced or deleted, or with its document destroyed."""


@dataclass
class Version:
    """One version of an author's work, as the author knows it."""

    cid: str
    owner: str
    content: str
    state: str = LIVE
    detached_at: datetime | None = None
    published: bool = False
    perhaps_destroyed: bool = False
    revisions: list[str] = field(default_factory=list)
    """The corrected texts of the post that this version became."""
    worn: set[tuple[str, ...]] = field(default_factory=lambda: {()})
    """All hashtags that the file has had, shared by its versions."""


@dataclass
class SavedProfile:
    """An author's profile, with the bytes of its picture."""

    name: str
    bio: str
    links: tuple[str, ...]
    picture: bytes | None
    at: datetime

    @property
    def avatar_cid(self) -> str | None:
        return None if self.picture is None else document_cid(self.picture)


@dataclass
class OpenedSession:
    """A writing session that was opened. `expires` is in seconds."""

    key: WritingKey
    actions: tuple[str, ...]
    expires: int
    revoked: bool = False


@dataclass
class Model:
    """All versions, and their state according to the chain."""

    market: Market
    versions: dict[str, Version] = field(default_factory=dict)
    spellings: dict[bytes, str] = field(default_factory=dict)
    sessions: list[OpenedSession] = field(default_factory=list)
    profiles: dict[str, SavedProfile] = field(default_factory=dict)
    """The current profiles, by address."""
    spent: list[Send] = field(default_factory=list)
    """Signed writes whose nonces are used."""
    admitted: set[tuple[str, str]] = field(default_factory=set)
    posts: dict[str, int] = field(default_factory=dict)
    post_blocks: dict[str, set[bytes]] = field(default_factory=dict)
    foreign: dict[bytes, str] = field(default_factory=dict)
    """CIDs that belong to no file in this service, by their spellings."""

    def add(self, cid: str, owner: str, content: str, replaced: Version | None = None) -> None:
        self.versions[cid] = Version(cid, owner, content)
        if replaced is not None:
            self.versions[cid].worn = replaced.worn
        self.spellings[cid.encode()] = cid

    def retire(self, cid: str, at: datetime) -> None:
        """Record an accepted update or delete: the version is inaccessible from now on."""
        version = self.versions[cid]
        version.state, version.detached_at = GONE, at

    def collect(self, now: datetime) -> None:
        """Record a garbage collection: documents that have long been inaccessible may have been
        destroyed."""
        for version in self.versions.values():
            if version.detached_at is not None and version.detached_at < now - GRACE:
                version.perhaps_destroyed = True

    def restore(self) -> None:
        """Record a restored backup, which lacks writing sessions and inaccessible documents."""
        for session in self.sessions:
            session.revoked = True
        for version in self.versions.values():
            version.perhaps_destroyed |= version.detached_at is not None

    def hear(self, cid: str) -> None:
        """Record a claim, true or false, that this version is published: it may become live
        again."""
        self.versions[cid].published = True

    def claims(self) -> dict[str, list[Created]]:
        """The events on the chain by which owners publish their versions, by cid."""
        found: dict[str, list[Created]] = {}
        for event in self.market.created():
            cid = self.spellings.get(event.spelled)
            if cid is not None and self.versions[cid].owner == event.author:
                found.setdefault(cid, []).append(event)
        return found

    def cid_of(self, spelled: bytes) -> str | None:
        """The CID that a text on the chain spells, or None."""
        return self.spellings.get(spelled) or self.foreign.get(spelled)

    def note_admission(self, reader: str, post_id: int) -> None:
        """Record that the chain has let this reader read this post."""
        for event in self.market.created():
            cid = self.spellings.get(event.spelled)
            if cid is not None and event.post_id == post_id:
                self.admitted.add((reader, cid))
