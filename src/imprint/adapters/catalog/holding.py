"""What changes hold, so that those of many processes do not meet half done.

Files, groups, names and nonces belong to an owner, and events to an author, who is the owner of the
files that they publish: whoever changes any of these holds the owner. A document can be let go of
and taken up by several owners, so whoever does that holds the document as well. All that a change
is known to touch is held at once, at its beginning; only then does it read.
"""

from collections.abc import Iterable

from imprint.adapters.catalog.steps import Hold
from imprint.domain.cids import Cid
from imprint.domain.files import File, Intent, Network, Write
from imprint.domain.posts import PostCreated

SWEEP = Hold(frozenset({"sweep"}))
"""Documents are condemned by one at a time, or a group could lose its last versions unseen."""


def hold_document(cid: Cid | str, network: Network | str) -> Hold:
    """Hold a document."""
    return Hold(frozenset({_document(cid, network)}))


def hold_owner(owner: str) -> Hold:
    """Hold all that belongs to an owner."""
    return Hold(frozenset({_owner(owner)}))


def hold_write(write: Write, intent: Intent | None, *drafts: Cid) -> Hold:
    """Hold what a signed write is about: its signer, the document it stores, those of drafts."""
    names = {_owner(write.signer), *(_document(cid, Network.PRIVATE) for cid in drafts)}
    if intent is not None:
        names.add(_document(intent.cid, intent.network))
    return Hold(frozenset(names))


def hold_events(events: Iterable[PostCreated]) -> Hold:
    """Hold what events may publish."""
    names = set()
    for event in events:
        names.add(_owner(event.author))
        if event.cid is not None:
            names.add(_document(event.cid, Network.PRIVATE))
    return Hold(frozenset(names))


def hold_file(file: File) -> Hold:
    """Hold a file, with its documents."""
    names = {_owner(file.owner), _document(file.cid, Network.PRIVATE)}
    if file.thumbnail_cid is not None:
        names.add(_document(file.thumbnail_cid, Network.PUBLIC))
    return Hold(frozenset(names))


def _owner(owner: str) -> str:
    return f"owner {owner}"


def _document(cid: str, network: str) -> str:
    return f"document {network} {cid}"
