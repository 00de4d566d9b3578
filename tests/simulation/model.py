"""The expected state, computed from the chain and the writes accepted by the service."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from tests.simulation.market import Created, Market
from tests.simulation.universe import GRACE, Send
from tests.writing_sessions import WritingKey

from imprint.domain.formats.cids import document_cid

LIVE, GONE, DESTROYED = "live", "gone", "destroyed"
"""States of a version: current, replaced or deleted, or with its document destroyed."""


@dataclass
class Dress:
    """The hashtags and the thumbnail that publish requests gave to a file."""

    hashtags: tuple[str, ...] = ()
    thumbnail: str | None = None
    overtaken: set[tuple[str, ...]] = field(default_factory=set)
    """Hashtags that the index may have read before they were replaced."""


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
    dress: Dress = field(default_factory=Dress)
    """The hashtags and the thumbnail of the file, shared by its versions."""


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
class OpenedFeed:
    """A private feed. `token` is its current token, and `former` are those replaced."""

    owner: str
    id: str
    token: str
    former: list[str] = field(default_factory=list)
    removed: bool = False


CANARY = re.compile(rb"canary[0-9a-f]+")
"""The unique word of a text."""

DRAFT = b'"status":"pending"'
"""What a response with the text of a draft contains."""

CACHE_SECONDS = 5.0
"""How long a process may rely on what the chain said."""


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
    admitted: dict[tuple[str | None, str], float] = field(default_factory=dict)
    """When the chain last let a reader read a version, in seconds. None stands for everybody."""
    texts: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """The owner and the version of every text, by the text's unique word."""
    measures: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """The operator's measures in force, by the kind and the name of their targets."""
    feeds: list[OpenedFeed] = field(default_factory=list)
    posts: dict[str, int] = field(default_factory=dict)
    post_blocks: dict[str, set[bytes]] = field(default_factory=dict)
    foreign: dict[bytes, str] = field(default_factory=dict)
    """CIDs that belong to no file in this service, by their spellings."""

    def add(self, cid: str, owner: str, content: str, replaced: Version | None = None) -> None:
        self.versions[cid] = Version(cid, owner, content)
        if replaced is not None:
            self.versions[cid].dress = replaced.dress
        self.spellings[cid.encode()] = cid
        self.note_text(content, owner, cid)

    def note_text(self, content: str, owner: str, cid: str | None) -> None:
        """Record whose text this is, and of which version."""
        (word,) = CANARY.findall(content.encode())
        self.texts[word.decode()] = owner, cid

    def dress(self, version: Version, hashtags: tuple[str, ...], thumbnail: str) -> None:
        """Record an acknowledged publish request."""
        dress, claims = version.dress, self.claims()
        files = (each for each in self.versions.values() if each.dress is dress)
        if any(each.published or each.cid in claims for each in files):
            dress.overtaken.add(dress.hashtags)
        dress.hashtags, dress.thumbnail = hashtags, thumbnail

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
        """The events on the chain by which owners publish their versions, keyed by cid."""
        found: dict[str, list[Created]] = {}
        for event in self.market.created():
            cid = self.spellings.get(event.spelled)
            if cid is not None and self.versions[cid].owner == event.author:
                found.setdefault(cid, []).append(event)
        return found

    def cid_of(self, spelled: bytes) -> str | None:
        """The CID that a text on the chain spells, or None."""
        return self.spellings.get(spelled) or self.foreign.get(spelled)

    def note_access(self, now: float) -> None:
        """Record who may read what at this moment, in seconds."""
        holdings = self.market.holdings
        for cid, events in self.claims().items():
            for event in events:
                if self.market.entry(event.post_id)[1] == 0:
                    self.admitted[None, cid] = now
        holding = [key for key, balance in holdings.balances.items() if balance]
        if holding:
            cids = {event.post_id: cid for cid, found in self.claims().items() for event in found}
            for holder, post_id in holding:
                if post_id in cids:
                    self.admitted[holder, cids[post_id]] = now

    def check_heard(self, reader: str | None, body: bytes, now: float) -> None:
        """Fail if a response contains a text that its reader may not read."""
        for word in CANARY.findall(body):
            owner, cid = self.texts[word.decode()]
            if cid is not None:
                held = "withheld" in self.measures_on(self.versions[cid])
                # Not even authors get their withheld posts, but they keep their drafts.
                is_draft = reader == owner and DRAFT in body
                assert not held or is_draft, f"{reader} got a text that is withheld"
            if reader == owner:
                continue
            assert cid is not None, f"{reader} got a text that was not saved"
            last = max(self.admitted.get((each, cid), -1.0) for each in (reader, None))
            assert last >= now - CACHE_SECONDS, f"{reader} got a text of {owner}"

    def take_measure(self, kind: str, name: str, measure: str) -> None:
        """Record a measure of the operator, or that all measures on a target are undone."""
        if measure == "undone":
            self.measures.pop((kind, name), None)
        else:
            self.measures.setdefault((kind, name), set()).add(measure)

    def refuses(self, author: str) -> bool:
        """Whether the operator refuses the writes of an author."""
        return "refused" in self.measures.get(("author", author), ())

    def measures_on(self, version: Version, post_ids: Iterable[int] = ()) -> set[str]:
        """The operator's measures on a version, its author and its posts."""
        ids = [event.post_id for event in self.claims().get(version.cid, [])]
        targets = [("author", version.owner), ("cid", version.cid)]
        targets += [("post", str(post_id)) for post_id in (*ids, *post_ids)]
        return {each for target in targets for each in self.measures.get(target, ())}
